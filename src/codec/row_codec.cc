// SPDX-License-Identifier: GPL-2.0-only
// Rows. See docs/formats/row.md for the bytes.
#include "codec/row_codec.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "codec/earlier_versions.h"
#include "codec/evidence.h"
#include "codec/number_form.h"
#include "codec/record_access.h"

namespace cairn::codec {
namespace {

bool HasBit(const uint8_t* bitmap, uint32_t bit) { return (bitmap[bit / 8] >> (bit % 8) & 1) != 0; }

constexpr char kCutShortInBitmap[] = "the row is cut short in its bitmap";
constexpr char kCutShortInFixed[] = "the row is cut short in its fixed columns";
constexpr char kCutShortInVariable[] = "the row is cut short in its variable columns";
constexpr char kMalformedLength[] = "a length is malformed";
constexpr char kTooLongValue[] = "a value is longer than its column";
constexpr char kTooLongRow[] = "the row is too long";

// Whether two bitmaps have a bit in common. Mostly they are a byte or two.
[[gnu::always_inline]] inline bool HaveCommonBit(const uint8_t* one, const uint8_t* other, uint32_t bytes) {
  for (; bytes >= 8; one += 8, other += 8, bytes -= 8) {
    if ((LoadLe64(one) & LoadLe64(other)) != 0) return true;
  }
  uint32_t common = 0;
  if ((bytes & 4) != 0) {
    common |= LoadLe32(one) & LoadLe32(other);
    one += 4, other += 4;
  }
  if ((bytes & 2) != 0) {
    common |= LoadLe16(one) & LoadLe16(other);
    one += 2, other += 2;
  }
  if ((bytes & 1) != 0) common |= *one & *other;
  return common != 0;
}

// memcpy of a size not known at compile time, mostly a few bytes: two overlapping moves.
[[gnu::always_inline]] inline void CopyRun(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  if (bytes > 32) {
    std::memcpy(to, from, bytes);
  } else if (bytes > 16) {
    uint8_t head[16], tail[16];
    std::memcpy(head, from, sizeof head);
    std::memcpy(tail, from + bytes - sizeof tail, sizeof tail);
    std::memcpy(to, head, sizeof head);
    std::memcpy(to + bytes - sizeof tail, tail, sizeof tail);
  } else if (bytes >= 8) {
    const uint64_t head = LoadLe64(from), tail = LoadLe64(from + bytes - 8);
    StoreLe64(to, head);
    StoreLe64(to + bytes - 8, tail);
  } else if (bytes >= 4) {
    const uint32_t head = LoadLe32(from), tail = LoadLe32(from + bytes - 4);
    StoreLe32(to, head);
    StoreLe32(to + bytes - 4, tail);
  } else {
    for (uint32_t byte = 0; byte < bytes; ++byte) to[byte] = from[byte];
  }
}

// Reads a length, which is a varint of at most 32 bits. Null when malformed or cut short.
inline const uint8_t* ReadLength(const uint8_t* at, const uint8_t* end, uint32_t* length) {
  if (at != end && *at < 0x80) {
    *length = *at;
    return at + 1;
  }
  ByteReader reader(AsBytes(at, static_cast<size_t>(end - at)));
  return reader.ReadVarint32(length) ? reader.position() : nullptr;
}

// As rows begin.
std::string VersionBytes(uint32_t schema_version) {
  ByteBuffer bytes;
  bytes.AppendVarint(schema_version);
  return bytes.ToString();
}

}  // namespace

RowCodec::RowCodec(const RecordLayout& layout, const IndexCodec& primary, uint32_t schema_version,
                   std::shared_ptr<const RowHistory> history)
    : schema_version_(schema_version),
      version_bytes_(VersionBytes(schema_version)),
      primary_id_(primary.id_),
      default_record_(layout.default_record),
      key_parts_(primary.parts_) {
  assert(primary.is_primary_);
  for (const KeyPart& part : primary.declared_) key_columns_.push_back(part.column);
  AddSlots(SlotsOf(layout));
  PlaceSlots();
  if (history == nullptr || history->versions.empty()) return;
  assert(IsSound(*history, layout) && history->versions.size() < schema_version);
  earlier_ = std::make_shared<EarlierVersions>(std::move(history));
}

RowCodec::RowCodec(const RowCodec& present, const std::vector<Slot>& columns, uint32_t schema_version)
    : schema_version_(schema_version),
      version_bytes_(VersionBytes(schema_version)),
      primary_id_(present.primary_id_),
      default_record_(present.default_record_),
      key_parts_(present.key_parts_),
      key_columns_(present.key_columns_) {
  AddSlots(columns);
  PlaceSlots();
}

std::vector<RowCodec::Slot> RowCodec::SlotsOf(const RecordLayout& layout) {
  std::vector<Slot> slots;
  slots.reserve(layout.columns.size());
  for (size_t position = 0; position < layout.columns.size(); ++position) {
    Slot slot;
    slot.column = layout.columns[position];
    slot.position = static_cast<uint16_t>(position);
    if (slot.column.stored) slots.push_back(slot);
  }
  return slots;
}

void RowCodec::AddSlots(const std::vector<Slot>& columns) {
  for (Slot slot : columns) {
    if (slot.position != kNoPosition) CheckLayout(slot.column);
    bool in_key = false;
    for (unsigned part = 0; part < key_parts_.size(); ++part) {
      if (slot.position == kNoPosition || key_columns_[part] != slot.position) continue;
      in_key |= key_parts_[part].give_back() == GiveBack::kAlways;
      if (key_parts_[part].give_back() == GiveBack::kMostly) slot.key_part = part;
    }
    if (!in_key) (IsVariable(slot.column.type) ? variable_ : fixed_).push_back(slot);
  }
  // Columns that are always there come first, so that their places depend on nothing.
  std::stable_partition(fixed_.begin(), fixed_.end(),
                        [](const Slot& slot) { return !slot.column.nullable && slot.key_part == kNoPart; });
  fixed_.shrink_to_fit();
  variable_.shrink_to_fit();
}

void RowCodec::PlaceSlots() {
  uint32_t bit_count = 0;
  const auto place_bit = [&](Slot& slot) {
    if (slot.column.nullable || slot.key_part != kNoPart) slot.absence_bit = bit_count++;
  };
  for (Slot& slot : fixed_) {
    place_bit(slot);
    slot.dense_offset = fixed_bytes_;
    fixed_bytes_ += slot.column.pack_length;
  }
  fixed_absence_bits_ = bit_count;
  for (Slot& slot : variable_) place_bit(slot);
  absence_bits_ = bit_count;
  bitmap_bytes_ = (bit_count + 7) / 8;
  DecodePlan all;
  all.wants_slot_.assign(fixed_.size(), 1);
  PlanFixed(&all);
  runs_ = std::move(all.runs_);
}

bool RowCodec::IsAbsent(const Slot& slot, const uint8_t* record) const {
  if (slot.key_part != kNoPart) return !key_parts_[slot.key_part].NeedsOriginal(record);
  return IsNullIn(slot.column, record);
}

void RowCodec::Encode(const uint8_t* record, ByteBuffer* value) const {
  value->Append(version_bytes_);
  const size_t bitmap_at = value->size();
  value->Reserve(bitmap_bytes_ + fixed_bytes_);
  uint8_t* bitmap = value->Extend(bitmap_bytes_);
  std::memset(bitmap, 0, bitmap_bytes_);
  const auto mark = [&](const Slot& slot) {
    if (slot.absence_bit == kNoBit || !IsAbsent(slot, record)) return;
    bitmap[slot.absence_bit / 8] |= static_cast<uint8_t>(1 << (slot.absence_bit % 8));
  };
  for (const Slot& slot : fixed_) mark(slot);
  for (const Slot& slot : variable_) mark(slot);
  EncodeFixed(record, bitmap, value);
  EncodeVariable(record, bitmap_at, value);
}

// Room for all fixed slots is reserved, so `bitmap` stays valid.
void RowCodec::EncodeFixed(const uint8_t* record, const uint8_t* bitmap, ByteBuffer* value) const {
  if (AbsentFixedBytes(bitmap) == 0) {
    uint8_t* to = value->Extend(fixed_bytes_);
    for (const DecodePlan::Run& run : runs_) CopyRun(to + run.row_offset, record + run.record_offset, run.bytes);
    return;
  }
  for (const Slot& slot : fixed_) {
    if (slot.absence_bit != kNoBit && HasBit(bitmap, slot.absence_bit)) continue;
    value->Append(record + slot.column.offset, slot.column.pack_length);
  }
}

void RowCodec::EncodeVariable(const uint8_t* record, size_t bitmap_at, ByteBuffer* value) const {
  const auto is_absent = [&](const Slot& slot) {
    return slot.absence_bit != kNoBit && HasBit(value->data() + bitmap_at, slot.absence_bit);
  };
  size_t length_at = value->size();
  for (const Slot& slot : variable_) {
    if (!is_absent(slot)) value->AppendVarint(StoredValueIn(slot.column, record).size());
  }
  for (const Slot& slot : variable_) {
    if (is_absent(slot)) continue;
    // The length was just written; to trim CHAR(n) again would cost more.
    uint32_t length = 0;
    const uint8_t* at = value->data() + length_at;
    length_at += static_cast<size_t>(ReadLength(at, value->data() + value->size(), &length) - at);
    value->Append(ValueIn(slot.column, record).data(), length);
  }
}

uint32_t RowCodec::AbsentFixedBytes(const uint8_t* bitmap) const {
  bool any = false;
  const uint32_t whole_bytes = fixed_absence_bits_ / 8;
  for (uint32_t byte = 0; byte < whole_bytes; ++byte) any |= bitmap[byte] != 0;
  const uint32_t rest_bits = fixed_absence_bits_ % 8;
  if (rest_bits != 0) any |= (bitmap[whole_bytes] & ((1 << rest_bits) - 1)) != 0;
  if (!any) return 0;
  uint32_t bytes = 0;
  for (const Slot& slot : fixed_) {
    if (slot.absence_bit != kNoBit && HasBit(bitmap, slot.absence_bit)) bytes += slot.column.pack_length;
  }
  return bytes;
}

uint32_t RowCodec::PresentVariableCount(const uint8_t* bitmap) const {
  auto count = static_cast<uint32_t>(variable_.size());
  for (uint32_t bit = fixed_absence_bits_; bit < absence_bits_; ++bit) count -= HasBit(bitmap, bit);
  return count;
}

// A column the key gives back mostly is written here, and again when the row is decoded that holds the original.
const char* RowCodec::DecodeKeyParts(const DecodePlan& plan, ByteView key, uint8_t* record) const {
  if (key.size() < 4 || LoadBe32(key.data()) != primary_id_.value) return "the key is not of this index";
  key.remove_prefix(4);
  for (unsigned part = 0; part < plan.visited_key_parts_; ++part) {
    const KeyPartCodec& part_codec = key_parts_[part];
    const size_t size = part_codec.EncodedBytes(key);
    if (size == 0) return "a key part is malformed or cut short";
    if ((plan.wanted_key_parts_ >> part & 1) != 0 && !part_codec.Decode(key.substr(0, size), record)) {
      return "a key part holds no value of its column";
    }
    key.remove_prefix(size);
  }
  return nullptr;
}

const char* RowCodec::DecodeKey(const DecodePlan& plan, ByteView key, uint8_t* record) const {
  if (plan.integer_key_bytes_ == 0 || key.size() < plan.integer_key_bytes_ || LoadBe32(key.data()) != primary_id_.value) {
    return DecodeKeyParts(plan, key, record);
  }
  const auto* const bytes = reinterpret_cast<const uint8_t*>(key.data());
  for (const DecodePlan::KeyInteger& integer : plan.key_integers_) {
    IntegerFromKey(bytes + integer.key_offset, integer.bytes, integer.is_signed, record + integer.record_offset);
  }
  return nullptr;
}

// Written out, because the prefix is a byte or two and this is done for each row read.
static inline bool StartsWith(ByteView bytes, const std::string& prefix) {
  if (bytes.size() < prefix.size()) return false;
  size_t at = 0;
  while (at < prefix.size() && bytes[at] == prefix[at]) ++at;
  return at == prefix.size();
}

// False: no value of the column is that long.
bool RowCodec::StoreVariable(const DecodePlan::Variable& variable, const uint8_t* value, uint32_t bytes, uint8_t* record) const {
  using Form = DecodePlan::Variable::Form;
  if (variable.form == Form::kUnwanted) return true;
  if (bytes > variable.bytes_max) return false;
  uint8_t* const to = record + variable.record_offset;
  switch (variable.form) {
    case Form::kVarchar1:
      *to = static_cast<uint8_t>(bytes);
      CopyRun(to + 1, value, bytes);
      return true;
    case Form::kVarchar2:
      StoreLe16(to, static_cast<uint16_t>(bytes));
      CopyRun(to + 2, value, bytes);
      return true;
    case Form::kSpacedChar:
      CopyRun(to, value, bytes);
      std::memset(to + bytes, ' ', variable.bytes_max - bytes);
      return true;
    default:
      return StoreValue(variable_[variable.slot].column, AsBytes(value, bytes), record);
  }
}

// Of a row in which nothing is absent, and whose lengths can all be kept: they are read without looking for what is absent.
const char* RowCodec::DecodeDense(const DecodePlan& plan, const uint8_t* fixed, const uint8_t* end, uint8_t* record) const {
  if (static_cast<size_t>(end - fixed) < fixed_bytes_) return kCutShortInFixed;
  for (const DecodePlan::Run& run : plan.runs_) CopyRun(record + run.record_offset, fixed + run.row_offset, run.bytes);
  if (plan.variables_.empty()) return nullptr;
  uint32_t lengths[kKeptLengths];
  const uint8_t* data = fixed + fixed_bytes_;
  const size_t count = variable_.size();
  for (size_t index = 0; index < count; ++index) {
    data = ReadLength(data, end, &lengths[index]);
    if (data == nullptr) return kMalformedLength;
  }
  const uint32_t* length = lengths;
  for (const DecodePlan::Variable& variable : plan.variables_) {
    const uint32_t bytes = *length++;
    const uint8_t* const value = data;
    if (static_cast<size_t>(end - data) < bytes) return kCutShortInVariable;
    data += bytes;
    if (!StoreVariable(variable, value, bytes, record)) return kTooLongValue;
  }
  return plan.variables_.size() == count && data != end ? kTooLongRow : nullptr;
}

const char* RowCodec::DecodeRow(const DecodePlan& plan, ByteView value, uint8_t* record) const {
  if (!StartsWith(value, version_bytes_)) [[unlikely]] return DecodeEarlierRow(plan, value, record);
  const uint8_t* bitmap = reinterpret_cast<const uint8_t*>(value.data()) + version_bytes_.size();
  const uint8_t* const end = reinterpret_cast<const uint8_t*>(value.data()) + value.size();
  if (static_cast<size_t>(end - bitmap) < bitmap_bytes_) return kCutShortInBitmap;
  const uint8_t* const fixed = bitmap + bitmap_bytes_;
  for (const DecodePlan::NullByte& byte : plan.null_bytes_) {
    record[byte.record_offset] &= static_cast<uint8_t>(~byte.mask);
  }
  if (!HaveCommonBit(bitmap, bitmap, bitmap_bytes_) && variable_.size() <= kKeptLengths) [[likely]] {
    return DecodeDense(plan, fixed, end, record);
  }
  if (HaveCommonBit(bitmap, plan.slow_mask_.data(), bitmap_bytes_)) {
    if (const char* wrong = DecodeFixedSparsely(plan, bitmap, fixed, end, record)) return wrong;
  } else {
    if (static_cast<size_t>(end - fixed) < plan.dense_bytes_) return kCutShortInFixed;
    for (const DecodePlan::Run& run : plan.runs_) CopyRun(record + run.record_offset, fixed + run.row_offset, run.bytes);
  }
  if (plan.variables_.empty()) return nullptr;
  const uint32_t fixed_bytes = fixed_bytes_ - AbsentFixedBytes(bitmap);
  if (static_cast<size_t>(end - fixed) < fixed_bytes) return kCutShortInFixed;
  return DecodeVariable(plan, bitmap, fixed + fixed_bytes, end, record);
}

const char* RowCodec::DecodeOwnRow(const DecodePlan& plan, ByteView value, uint8_t* record) const {
  return DecodeRow(plan, value, record);
}

Status RowCodec::Decode(const DecodePlan& plan, ByteView key, ByteView value, uint8_t* record) const {
  const char* wrong = nullptr;
  if (plan.visited_key_parts_ != 0) wrong = DecodeKey(plan, key, record);
  if (wrong == nullptr) wrong = DecodeRow(plan, value, record);
  if (wrong == nullptr) [[likely]] return Status::Ok();
  return Damaged(wrong, key, value);
}

Status RowCodec::Damaged(const char* wrong, ByteView key, ByteView value) const {
  return Status::Corruption("row of index " + std::to_string(primary_id_.value) + " (schema version " +
                            std::to_string(schema_version_) + "): " + wrong + "; key " + HexEvidence(key) +
                            ", value " + HexEvidence(value));
}

const char* RowCodec::DecodeFixedSparsely(const DecodePlan& plan, const uint8_t* bitmap, const uint8_t* at,
                                          const uint8_t* end, uint8_t* record) const {
  for (unsigned index = 0; index < plan.visited_fixed_; ++index) {
    const Slot& slot = fixed_[index];
    const bool wanted = plan.wants_slot_[index] != 0;
    if (slot.absence_bit != kNoBit && HasBit(bitmap, slot.absence_bit)) {
      if (wanted && slot.key_part == kNoPart) StoreNull(slot.column, default_record_.view(), record);
      continue;
    }
    const uint32_t bytes = slot.column.pack_length;
    if (static_cast<size_t>(end - at) < bytes) return kCutShortInFixed;
    if (wanted) CopyRun(record + slot.column.offset, at, bytes);
    at += bytes;
  }
  return nullptr;
}

const char* RowCodec::DecodeVariable(const DecodePlan& plan, const uint8_t* bitmap, const uint8_t* at,
                                     const uint8_t* end, uint8_t* record) const {
  // The bytes begin behind the last length.
  uint32_t lengths[kKeptLengths];
  const size_t count = PresentVariableCount(bitmap);
  const size_t kept_count = std::min(count, kKeptLengths);
  const uint8_t* data = at;
  for (size_t index = 0; index < kept_count; ++index) {
    data = ReadLength(data, end, &lengths[index]);
    if (data == nullptr) return kMalformedLength;
  }
  const uint8_t* further = data;  // the lengths that are not kept, which are read again
  for (size_t index = kept_count; index < count; ++index) {
    uint32_t unused;
    data = ReadLength(data, end, &unused);
    if (data == nullptr) return kMalformedLength;
  }
  const uint32_t* length = lengths;
  for (const DecodePlan::Variable& variable : plan.variables_) {
    if (variable.absence_bit != kNoBit && HasBit(bitmap, variable.absence_bit)) {
      const Slot& slot = variable_[variable.slot];
      const bool is_wanted = variable.form != DecodePlan::Variable::Form::kUnwanted;
      if (is_wanted && slot.key_part == kNoPart) StoreNull(slot.column, default_record_.view(), record);
      continue;
    }
    uint32_t bytes = 0;
    if (length != lengths + kept_count) {
      bytes = *length++;
    } else {
      further = ReadLength(further, end, &bytes);
    }
    const uint8_t* const value = data;
    if (static_cast<size_t>(end - data) < bytes) return kCutShortInVariable;
    data += bytes;
    if (!StoreVariable(variable, value, bytes, record)) return kTooLongValue;
  }
  return plan.variables_.size() == variable_.size() && data != end ? kTooLongRow : nullptr;
}

}  // namespace cairn::codec

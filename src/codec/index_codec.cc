// SPDX-License-Identifier: GPL-2.0-only
// Index entries. See docs/formats/key.md for the bytes.
#include "codec/index_codec.h"

#include <cassert>

#include "codec/entry_form.h"
#include "codec/evidence.h"
#include "codec/record_access.h"

namespace cairn::codec {
namespace {

// The position of the hidden row id, which is no column.
constexpr uint16_t kNoColumn = 0xffff;

}  // namespace

// Where the entry's parts begin and end. Parts are visited in order by Next().
struct IndexCodec::Walk {
  const IndexCodec& codec;
  ByteView key_rest;
  ByteView value_rest;
  unsigned part = 0;
  uint64_t null_parts = 0;
  ByteView current;

  Walk(const IndexCodec& c, ByteView key, ByteView value) : codec(c), key_rest(key), value_rest(value) {}

  // Checks the index id and the value's format. Null when right, otherwise what is wrong.
  const char* Begin() {
    if (key_rest.size() < kIndexIdBytes) return "the key is cut short";
    if (LoadBe32(key_rest.data()) != codec.id_.value) return "the key is of another index";
    key_rest.remove_prefix(kIndexIdBytes);
    if (value_rest.empty()) return nullptr;
    if (static_cast<uint8_t>(value_rest[0]) != static_cast<uint8_t>(ValueFormat::kPlain)) {
      return "the value has an unknown format";
    }
    value_rest.remove_prefix(1);
    return nullptr;
  }

  // Takes the next part into `current`; false when it is malformed or cut short.
  bool Next() {
    const bool in_value = part >= codec.own_part_count_ && codec.unique_ && null_parts == 0;
    ByteView& source = in_value ? value_rest : key_rest;
    const KeyPartCodec& part_codec = codec.parts_[part];
    const size_t size = part_codec.EncodedBytes(source);
    if (size == 0) return false;
    current = source.substr(0, size);
    source.remove_prefix(size);
    if (part_codec.EncodedIsNull(current)) null_parts |= uint64_t{1} << part;
    ++part;
    return true;
  }
};

IndexCodec IndexCodec::Primary(const RecordLayout& layout, IndexId id, const std::vector<KeyPart>& parts) {
  IndexCodec codec;
  codec.id_ = id;
  codec.is_primary_ = true;
  codec.unique_ = true;
  codec.hidden_row_id_ = parts.empty();
  codec.ends_with_row_id_ = codec.hidden_row_id_;
  codec.own_part_count_ = static_cast<unsigned>(parts.size());
  codec.column_count_ = layout.columns.size();
  codec.default_record_ = layout.default_record;
  for (const KeyPart& part : parts) codec.AddPart(layout, part);
  if (parts.empty()) {
    codec.parts_.push_back(KeyPartCodec::HiddenRowId());
    codec.declared_.push_back({.column = kNoColumn});
  }
  return codec;
}

IndexCodec IndexCodec::Secondary(const RecordLayout& layout, IndexId id, const std::vector<KeyPart>& parts,
                                 bool unique, const IndexCodec& primary) {
  assert(primary.is_primary_);
  IndexCodec codec;
  codec.id_ = id;
  codec.unique_ = unique;
  codec.own_part_count_ = static_cast<unsigned>(parts.size());
  codec.column_count_ = layout.columns.size();
  codec.default_record_ = layout.default_record;
  for (const KeyPart& part : parts) codec.AddPart(layout, part);
  codec.AddPrimaryRest(primary);
  assert(codec.parts_.size() <= kEntryPartsMax);
  for (const KeyPartCodec& part : codec.parts_) {
    codec.keeps_originals_ |= part.give_back() == GiveBack::kNever || part.give_back() == GiveBack::kMostly;
  }
  return codec;
}

void IndexCodec::AddPart(const RecordLayout& layout, const KeyPart& part) {
  assert(part.column < layout.columns.size());
  parts_.emplace_back(layout.columns[part.column], part.prefix_bytes, part.descending);
  declared_.push_back(part);
}

void IndexCodec::AddPrimaryRest(const IndexCodec& primary) {
  primary_id_ = primary.id_;
  primary_parts_ = primary.parts_;
  ends_with_row_id_ = primary.hidden_row_id_;
  for (size_t primary_part = 0; primary_part < primary.parts_.size(); ++primary_part) {
    const KeyPart& wanted = primary.declared_[primary_part];
    // Equal truncation makes equal bytes, but for the direction.
    unsigned source = 0;
    while (source < own_part_count_ && (declared_[source].column != wanted.column ||
                                        declared_[source].prefix_bytes != wanted.prefix_bytes)) {
      ++source;
    }
    if (source < own_part_count_) {
      primary_sources_.push_back(
          {static_cast<uint8_t>(source), declared_[source].descending != wanted.descending});
      continue;
    }
    primary_sources_.push_back({static_cast<uint8_t>(parts_.size()), false});
    parts_.push_back(primary.parts_[primary_part]);
    declared_.push_back(wanted);
  }
  rest_is_whole_ = parts_.size() == own_part_count_ + primary.parts_.size();
}

void IndexCodec::EncodePrimaryKey(const uint8_t* record, uint64_t hidden_row_id, ByteBuffer* key) const {
  assert(is_primary_);
  key->AppendBe32(id_.value);
  if (hidden_row_id_) {
    key->AppendBe64(hidden_row_id);
    return;
  }
  for (const KeyPartCodec& part : parts_) part.EncodeRecord(record, key);
}

void IndexCodec::AppendPrimaryRest(ByteView primary_key, ByteBuffer* out) const {
  ByteView rest = primary_key.substr(kIndexIdBytes);
  if (rest_is_whole_) {
    out->Append(rest);
    return;
  }
  for (size_t part = 0; part < primary_parts_.size(); ++part) {
    const size_t size = primary_parts_[part].EncodedBytes(rest);
    assert(size != 0);
    if (primary_sources_[part].entry_part >= own_part_count_) out->Append(rest.substr(0, size));
    rest.remove_prefix(size);
  }
}

void IndexCodec::EncodeEntry(const uint8_t* record, ByteView primary_key, ByteBuffer* key, ByteBuffer* value) const {
  assert(!is_primary_);
  assert(primary_key.size() > kIndexIdBytes && LoadBe32(primary_key.data()) == primary_id_.value);
  EncodeTupleFromRecord(record, own_part_count_, key);
  const size_t value_start = value->size();
  if (parts_.size() > own_part_count_) {
    if (unique_ && !HasNullPart(record)) {
      value->AppendU8(static_cast<uint8_t>(ValueFormat::kPlain));
      AppendPrimaryRest(primary_key, value);
    } else {
      AppendPrimaryRest(primary_key, key);
    }
  }
  if (keeps_originals_) AppendOriginals(record, value_start, value);
}

void IndexCodec::AppendOriginals(const uint8_t* record, size_t value_start, ByteBuffer* value) const {
  const auto begin = [&] {
    if (value->size() == value_start) value->AppendU8(static_cast<uint8_t>(ValueFormat::kPlain));
  };
  for (const KeyPartCodec& part : parts_) {
    if (part.give_back() != GiveBack::kNever || IsNullIn(part.column(), record)) continue;
    begin();
    value->AppendLengthPrefixed(StoredValueIn(part.column(), record));
  }
  for (size_t part = 0; part < parts_.size(); ++part) {
    const ColumnLayout& column = parts_[part].column();
    if (parts_[part].give_back() != GiveBack::kMostly || IsNullIn(column, record)) continue;
    if (!parts_[part].NeedsOriginal(record)) continue;
    begin();
    value->AppendVarint(part);
    value->AppendLengthPrefixed(StoredValueIn(column, record));
  }
}

void IndexCodec::EncodeSearchKey(const uint8_t* tuple, unsigned part_count, ByteBuffer* key) const {
  assert(part_count <= parts_.size());
  key->AppendBe32(id_.value);
  for (unsigned part = 0; part < part_count; ++part) {
    assert(declared_[part].column != kNoColumn);
    tuple += parts_[part].EncodeTuple(tuple, key);
  }
}

void IndexCodec::EncodeTupleFromRecord(const uint8_t* record, unsigned part_count, ByteBuffer* key) const {
  assert(part_count <= parts_.size());
  key->AppendBe32(id_.value);
  for (unsigned part = 0; part < part_count; ++part) {
    assert(declared_[part].column != kNoColumn);
    parts_[part].EncodeRecord(record, key);
  }
}

void IndexCodec::EncodeTupleFromOther(const RecordLayout& other, const std::vector<uint16_t>& columns,
                                      const uint8_t* record, ByteBuffer* key) const {
  assert(columns.size() <= parts_.size());
  key->AppendBe32(id_.value);
  for (size_t part = 0; part < columns.size(); ++part) parts_[part].EncodeOther(other.columns[columns[part]], record, key);
}

bool IndexCodec::HasNullPart(const uint8_t* record) const {
  for (unsigned part = 0; part < own_part_count_; ++part) {
    if (IsNullIn(parts_[part].column(), record)) return true;
  }
  return false;
}

size_t IndexCodec::PrefixBytes(ByteView key, unsigned part_count) const {
  assert(part_count <= parts_.size());
  if (key.size() < kIndexIdBytes || LoadBe32(key.data()) != id_.value) return 0;
  size_t size = kIndexIdBytes;
  for (unsigned part = 0; part < part_count; ++part) {
    const size_t part_bytes = parts_[part].EncodedBytes(key.substr(size));
    if (part_bytes == 0) return 0;
    size += part_bytes;
  }
  return size;
}

Status IndexCodec::PrimaryKeyOf(ByteView key, ByteView value, ByteBuffer* primary_key) const {
  // The value of a primary entry is a row, which has another form.
  Walk walk(*this, key, is_primary_ ? ByteView() : value);
  if (const char* wrong = walk.Begin()) return Corrupt(wrong, key, value);
  if (is_primary_) {
    primary_key->Append(key);
    return Status::Ok();
  }
  struct Span {
    const char* begin;
    size_t size;
  } parts[kEntryPartsMax];
  for (unsigned part = 0; part < parts_.size(); ++part) {
    if (!walk.Next()) return Corrupt("a part is malformed or cut short", key, value);
    parts[part] = {walk.current.data(), walk.current.size()};
  }
  if (!walk.key_rest.empty()) return Corrupt("the key is too long", key, value);
  primary_key->AppendBe32(primary_id_.value);
  for (const PrimarySource& source : primary_sources_) {
    const size_t start = primary_key->size();
    primary_key->Append(parts[source.entry_part].begin, parts[source.entry_part].size);
    if (!source.inverted) continue;
    for (size_t byte = start; byte < primary_key->size(); ++byte) primary_key->data()[byte] ^= 0xff;
  }
  return Status::Ok();
}

Status IndexCodec::HiddenRowIdOf(ByteView key, uint64_t* row_id) const {
  assert(hidden_row_id_);
  Walk walk(*this, key, ByteView());
  if (const char* wrong = walk.Begin()) return Corrupt(wrong, key, ByteView());
  if (walk.key_rest.size() != sizeof *row_id) return Corrupt("the row id has a wrong length", key, ByteView());
  *row_id = LoadBe64(walk.key_rest.data());
  return Status::Ok();
}

bool IndexCodec::Covers(size_t column) const {
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (declared_[part].column != column) continue;
    const GiveBack give_back = parts_[part].give_back();
    if (give_back == GiveBack::kAlways || (!is_primary_ && give_back != GiveBack::kPrefix)) return true;
  }
  return false;
}

Status IndexCodec::DecodeByParts(const EntryPlan& plan, ByteView key, ByteView value, uint8_t* record) const {
  Walk walk(*this, key, value);
  if (const char* wrong = walk.Begin()) return Corrupt(wrong, key, value);
  const bool reads_originals = plan.reads_originals_ && !value.empty();
  const unsigned visited = reads_originals ? entry_part_count() : plan.visited_part_count_;
  for (unsigned part = 0; part < visited; ++part) {
    if (!walk.Next()) return Corrupt("a part is malformed or cut short", key, value);
    if (!plan.Wants(part)) continue;
    const KeyPartCodec& part_codec = parts_[part];
    if (part_codec.EncodedIsNull(walk.current)) {
      StoreNull(part_codec.column(), default_record_.view(), record);
      continue;
    }
    SetNullBit(part_codec.column(), false, record);
    if (part_codec.give_back() == GiveBack::kNever) {
      if (!reads_originals) return Corrupt("an original is missing", key, value);
    } else if (!part_codec.Decode(walk.current, record)) {
      return Corrupt("a part holds no value of its column", key, value);
    }
  }
  if (!reads_originals) return Status::Ok();
  if (!walk.key_rest.empty()) return Corrupt("the key is too long", key, value);
  if (!ReadOriginals(plan, walk, record)) return Corrupt("the originals are malformed", key, value);
  return Status::Ok();
}

bool IndexCodec::ReadOriginals(const EntryPlan& plan, const Walk& walk, uint8_t* record) const {
  ByteReader reader(walk.value_rest);
  ByteView original;
  for (unsigned part = 0; part < parts_.size(); ++part) {
    if (parts_[part].give_back() != GiveBack::kNever || (walk.null_parts >> part & 1) != 0) continue;
    if (!reader.ReadLengthPrefixed(&original)) return false;
    if (plan.Wants(part) && !StoreValue(parts_[part].column(), original, record)) return false;
  }
  while (!reader.empty()) {
    uint64_t part;
    if (!reader.ReadVarint(&part) || part >= parts_.size()) return false;
    if (parts_[part].give_back() != GiveBack::kMostly || (walk.null_parts >> part & 1) != 0) return false;
    if (!reader.ReadLengthPrefixed(&original)) return false;
    if (plan.Wants(static_cast<unsigned>(part)) && !StoreValue(parts_[part].column(), original, record)) return false;
  }
  return true;
}

Status IndexCodec::Corrupt(const char* what, ByteView key, ByteView value) const {
  return Status::Corruption("entry of index " + std::to_string(id_.value) + ": " + what + "; key " +
                            HexEvidence(key) + ", value " + HexEvidence(value));
}

bool AdvancePastPrefix(ByteBuffer* key) {
  while (!key->empty()) {
    uint8_t& last = key->data()[key->size() - 1];
    if (last != 0xff) {
      ++last;
      return true;
    }
    key->Truncate(key->size() - 1);
  }
  return false;
}

}  // namespace cairn::codec

// SPDX-License-Identifier: GPL-2.0-only
// Rows of earlier schema versions: each version is a codec of its own, whose columns lie where the present record
// has them.
#include <memory>
#include <unordered_map>
#include <utility>

#include "codec/earlier_versions.h"
#include "codec/record_access.h"
#include "codec/row_codec.h"

namespace cairn::codec {

std::unordered_map<uint32_t, RowCodec::Slot> RowCodec::SlotsOfAllVersions() const {
  std::unordered_map<uint32_t, Slot> slots;
  const auto add = [&slots](const ColumnLayout& column, uint16_t position) {
    slots.try_emplace(column.column_id, Slot{.column = column, .position = position});
  };
  for (const Slot& slot : fixed_) add(slot.column, slot.position);
  for (const Slot& slot : variable_) add(slot.column, slot.position);
  // Columns that the key always gives back have no slots here.
  for (size_t part = 0; part < key_parts_.size(); ++part) {
    if (key_columns_[part] != kNoPosition) add(key_parts_[part].column(), key_columns_[part]);
  }
  for (const DroppedColumn& dropped : earlier_->history->dropped) {
    ColumnLayout column;
    column.column_id = dropped.column_id;
    column.type = dropped.type;
    column.nullable = dropped.nullable;
    column.pack_length = dropped.pack_length;
    add(column, kNoPosition);
  }
  return slots;
}

// The history is sound: it has each column of a version once, and all of them are known.
std::unique_ptr<const EarlierVersion> RowCodec::MakeEarlierVersion(size_t index) const {
  const RowHistory& history = *earlier_->history;
  std::unordered_map<uint32_t, Slot> others = SlotsOfAllVersions();
  std::vector<Slot> slots;
  slots.reserve(history.versions[index].size());
  for (const uint32_t id : history.versions[index]) slots.push_back(others.extract(id).mapped());
  const auto versions_behind = static_cast<uint32_t>(history.versions.size() - index);
  std::unique_ptr<EarlierVersion> made(
      new EarlierVersion{.rows = RowCodec(*this, slots, schema_version_ - versions_behind), .added = {}});
  for (const InitialValue& initial : history.initial_values) {
    const auto found = others.find(initial.column_id);
    if (found == others.end()) continue;
    made->added.push_back({.column = found->second.column, .position = found->second.position, .initial = &initial});
  }
  return made;
}

std::unique_ptr<const EarlierPlan> RowCodec::PlanEarlierVersion(const ColumnSet& wanted, size_t index) const {
  const EarlierVersion& version = earlier_->made.Of(index, [&] { return MakeEarlierVersion(index); });
  std::unique_ptr<EarlierPlan> made(new EarlierPlan{.version = version, .rows = version.rows.Plan(wanted), .added = {}});
  for (const EarlierVersion::AddedColumn& added : version.added) {
    if (wanted.Has(added.position)) made->added.push_back(&added);
  }
  return made;
}

const char* RowCodec::DecodeEarlierRow(const DecodePlan& plan, ByteView value, uint8_t* record) const {
  ByteReader reader(value);
  uint32_t version;
  if (!reader.ReadVarint32(&version)) return "the schema version is malformed";
  const size_t count = earlier_ == nullptr ? 0 : earlier_->made.count();
  const size_t behind = size_t{schema_version_} - version;
  if (version >= schema_version_ || behind > count) return "the row is of another schema version";
  const size_t index = count - behind;
  const EarlierPlan& earlier =
      plan.earlier_->made.Of(index, [&] { return PlanEarlierVersion(plan.earlier_->wanted, index); });
  if (const char* wrong = earlier.version.rows.DecodeOwnRow(earlier.rows, value, record)) return wrong;
  for (const EarlierVersion::AddedColumn* added : earlier.added) FillInitial(added->column, *added->initial, record);
  return nullptr;
}

// The history is sound, so the value fits.
void RowCodec::FillInitial(const ColumnLayout& column, const InitialValue& initial, uint8_t* record) const {
  if (initial.is_null) {
    StoreNull(column, default_record_.view(), record);
    return;
  }
  SetNullBit(column, false, record);
  [[maybe_unused]] const bool fits = StoreValue(column, initial.value, record);
}

}  // namespace cairn::codec

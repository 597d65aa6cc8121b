// SPDX-License-Identifier: GPL-2.0-only
// Rows of earlier schema versions: each version is a codec of its own, whose columns lie where the present record
// has them.
#include <algorithm>
#include <memory>

#include "codec/earlier_plans.h"
#include "codec/record_access.h"
#include "codec/row_codec.h"

namespace cairn::codec {

EarlierPlans::~EarlierPlans() {
  for (const std::atomic<const Plan*>& plan : plans_) delete plan.load(std::memory_order_relaxed);
}

const EarlierPlans::Plan& EarlierPlans::Make(const RowCodec::EarlierVersion& version, size_t index) {
  std::unique_ptr<Plan> made(new Plan{.rows = version.rows->Plan(wanted_), .added = {}});
  for (const RowCodec::AddedColumn& added : version.added) {
    if (wanted_.Has(added.position)) made->added.push_back(&added);
  }
  const Plan* kept = nullptr;
  if (plans_[index].compare_exchange_strong(kept, made.get(), std::memory_order_acq_rel)) kept = made.release();
  return *kept;
}

std::vector<RowCodec::Slot> RowCodec::EarlierSlotsOf(const std::vector<Slot>& present, const RowHistory& history,
                                                     size_t version) {
  std::vector<Slot> slots;
  for (const uint32_t id : history.versions[version]) {
    for (const Slot& slot : present) {
      if (slot.column.column_id == id) slots.push_back(slot);
    }
    for (const DroppedColumn& dropped : history.dropped) {
      if (dropped.column_id != id) continue;
      Slot slot;
      slot.position = kDropped;
      slot.column.column_id = id;
      slot.column.type = dropped.type;
      slot.column.nullable = dropped.nullable;
      slot.column.pack_length = dropped.pack_length;
      slots.push_back(slot);
    }
  }
  return slots;
}

void RowCodec::AddEarlierVersions(const RecordLayout& layout, const IndexCodec& primary, const RowHistory& history) {
  const std::vector<Slot> present = SlotsOf(layout);
  const auto first_version = static_cast<uint32_t>(schema_version_ - history.versions.size());
  for (size_t version = 0; version < history.versions.size(); ++version) {
    const std::vector<uint32_t>& ids = history.versions[version];
    EarlierVersion earlier;
    earlier.rows.reset(new RowCodec(EarlierSlotsOf(present, history, version), layout.default_record, primary,
                                    static_cast<uint32_t>(first_version + version)));
    for (const InitialValue& initial : history.initial_values) {
      if (std::find(ids.begin(), ids.end(), initial.column_id) != ids.end()) continue;
      for (const Slot& slot : present) {
        if (slot.column.column_id == initial.column_id) {
          earlier.added.push_back({.column = slot.column, .position = slot.position, .initial = initial});
        }
      }
    }
    earlier_.push_back(std::move(earlier));
  }
}

const char* RowCodec::DecodeEarlierRow(const DecodePlan& plan, ByteView value, uint8_t* record) const {
  ByteReader reader(value);
  uint32_t version;
  if (!reader.ReadVarint32(&version)) return "the schema version is malformed";
  const size_t behind = size_t{schema_version_} - version;
  if (version >= schema_version_ || behind > earlier_.size()) return "the row is of another schema version";
  const size_t index = earlier_.size() - behind;
  const EarlierVersion& earlier = earlier_[index];
  const EarlierPlans::Plan& earlier_plan = plan.earlier_->Of(earlier, index);
  if (const char* wrong = earlier.rows->DecodeOwnRow(earlier_plan.rows, value, record)) return wrong;
  for (const AddedColumn* added : earlier_plan.added) FillAdded(*added, record);
  return nullptr;
}

// The history is sound, so the value fits.
void RowCodec::FillAdded(const AddedColumn& added, uint8_t* record) const {
  if (added.initial.is_null) {
    StoreNull(added.column, default_record_, record);
    return;
  }
  SetNullBit(added.column, false, record);
  [[maybe_unused]] const bool fits = StoreValue(added.column, added.initial.value, record);
}

}  // namespace cairn::codec

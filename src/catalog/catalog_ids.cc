// SPDX-License-Identifier: GPL-2.0-only
// Which ids tables, indexes and rows without a primary key get.
#include <algorithm>
#include <string>

#include "base/index_bounds.h"
#include "catalog/catalog.h"
#include "catalog/catalog_batch.h"
#include "catalog/dictionary_keys.h"

namespace cairn::catalog {

using store::Batch;
using store::Family;
using store::PinnedValue;

namespace {

// Half of them. What is left lasts as long as what is gone has, if all goes on as before.
constexpr uint32_t kWarnedNumber = kIndexNumbersEnd / 2;

Status NoneLeft(const char* of) {
  return Status::InvalidArgument("the store has given out all numbers that there are for " + std::string(of) +
                                 ", those of dropped ones included. To go on, dump all tables and load them into a new store");
}

// Whether the data family has anything of indexes of this number and greater ones, of those with the bit or of those without it.
Status HasFrom(const store::Store& store, uint32_t number, uint32_t bit, bool* has) {
  const IndexBounds from(IndexId(number | bit));
  const IndexBounds only_walked{IndexId(kOnlyWalkedBit)};
  const std::string end_of_all(5, '\xff');
  return store.HasVersions(from.lower(), bit == 0 ? only_walked.lower() : ByteView(end_of_all), has);
}

// *next, which has some: after the greatest number. By halving what is in question, so that what was removed need not be walked over.
Status PassNumbers(const store::Store& store, uint32_t bit, uint32_t* next) {
  uint32_t end = kOnlyWalkedBit;
  while (end - *next > 1) {
    const uint32_t middle = *next + (end - *next) / 2;
    bool has = false;
    CAIRN_RETURN_IF_ERROR(HasFrom(store, middle, bit, &has));
    (has ? *next : end) = middle;
  }
  *next = end;
  return Status::Ok();
}

}  // namespace

Status Catalog::LoadNextIds() {
  PinnedValue value;
  Status status = store_->Get(Family::kDictionary, KindKey(RecordKind::kNextIds), nullptr, &value);
  if (status.Is(Status::Code::kNotFound)) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(std::move(status));
  ByteReader reader(value.view());
  if (!reader.ReadVarint(&next_table_id_) || !reader.ReadVarint32(&next_index_id_)) {
    return Status::Corruption("the dictionary's next ids are malformed");
  }
  return Status::Ok();
}

// The dictionary may be older than the rows: where somebody has emptied logs by hand, of which rows were in files already and definitions were
// not. An index that got the number of a lost one would have its rows. The next numbers are written with the next table, as ever.
Status Catalog::PassUnknownIndexes() {
  const auto warn = [this](const std::string& line) {
    if (log_ != nullptr) log_->Log(LogLevel::kWarning, line);
  };
  const uint32_t known = next_index_id_;
  if (known >= kOnlyWalkedBit) return Status::Ok();
  for (const uint32_t bit : {uint32_t{0}, kOnlyWalkedBit}) {
    bool has = false;
    // A damaged block, which may be any index's, keeps nobody from starting.
    const Status looked = HasFrom(*store_, known, bit, &has);
    if (!looked.ok()) warn("cannot look for rows of indexes that the dictionary does not know: " + looked.ToString());
    if (!has) continue;
    uint32_t next = known;
    CAIRN_RETURN_IF_ERROR(PassNumbers(*store_, bit, &next));
    next_index_id_ = std::max(next_index_id_, next);
  }
  if (next_index_id_ != known) {
    warn("the dictionary is older than the rows: there are entries of indexes it does not know, numbers " + std::to_string(known) +
         " to " + std::to_string(next_index_id_ - 1) +
         ". They are left, and new indexes get greater numbers. Row counts and AUTO_INCREMENT of other tables may be too low");
  }
  return Status::Ok();
}

void Catalog::WarnOfIndexNumbers() const {
  if (log_ == nullptr || next_index_id_ < kWarnedNumber) return;
  log_->Log(LogLevel::kWarning, "of the store's numbers for indexes, which each CREATE and TRUNCATE of a table, temporary or not, and each "
                                "new index takes for good, " + std::to_string(kIndexNumbersEnd - std::min(next_index_id_, kIndexNumbersEnd)) +
                                " are left. To have all of them again, dump all tables and load them into a new store");
}

Status Catalog::TakeIndexNumbers(size_t count, uint32_t* first) {
  const uint32_t before = next_index_id_;
  if (!TakeNumbers(static_cast<uint32_t>(count), kIndexNumbersEnd, &next_index_id_, first)) return NoneLeft("indexes");
  if (before < kWarnedNumber) WarnOfIndexNumbers();
  return Status::Ok();
}

IndexId Catalog::IndexIdOf(uint32_t number, IndexKind kind) {
  return IndexId(kind == IndexKind::kSecondary ? number | kOnlyWalkedBit : number);
}

Status Catalog::AssignTableId(TableDef* def) {
  return TakeNumbers(uint64_t{1}, UINT64_MAX, &next_table_id_, &def->id.value) ? Status::Ok() : NoneLeft("tables");
}

Status Catalog::AssignIndexIds(TableDef* def) {
  uint32_t number;
  CAIRN_RETURN_IF_ERROR(TakeIndexNumbers(def->indexes.size(), &number));
  for (IndexDef& index : def->indexes) index.id = IndexIdOf(number++, index.kind);
  return Status::Ok();
}

void Catalog::PutNextIds(Batch* batch) {
  ByteBuffer bytes;
  bytes.AppendVarint(next_table_id_);
  bytes.AppendVarint(next_index_id_);
  batch->Put(Family::kDictionary, KindKey(RecordKind::kNextIds), bytes.view());
}

// After all that ever had one, as far as anything is left of them: whoever looked for the last row that is still there would walk over all
// that were removed behind it, while everybody waits for the dictionary.
Status Catalog::FindNextRowId(const TableDef& def, uint64_t* next) const {
  *next = 1;
  if (!def.HasHiddenPrimaryKey()) return Status::Ok();
  const IndexId index = def.indexes.front().id;
  const IndexBounds bounds(index);
  std::string last;
  CAIRN_RETURN_IF_ERROR(store_->FindLastVersion(bounds.lower(), bounds.upper(), &last));
  if (!last.empty()) {
    if (last.size() != 12) return Status::Corruption("the hidden primary key of " + def.name + " is malformed");
    *next = LoadBe64(last.data() + 4) + 1;
  }
  const auto taken = taken_row_ids_.find(index);
  if (taken != taken_row_ids_.end()) *next = std::max(*next, taken->second + 1);
  return Status::Ok();
}

}  // namespace cairn::catalog

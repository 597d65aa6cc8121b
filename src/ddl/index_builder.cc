// SPDX-License-Identifier: GPL-2.0-only
// The phases of a build, and filling the indexes from a snapshot.
#include "ddl/index_builder.h"

#include <span>

#include "base/index_bounds.h"
#include "bulk/external_sorter.h"
#include "ddl/delta_applier.h"
#include "store/sorted_load.h"

namespace cairn::ddl {

using catalog::IndexBuild;
using catalog::IndexKind;
using store::Family;

namespace {

constexpr uint64_t kRowsBetweenPolls = 256;
constexpr uint64_t kReadaheadBytes = uint64_t{2} << 20;
// So few changes are applied under the exclusive lock.
constexpr uint64_t kChangesLeftMax = 500;
// Writers that are faster than the builder must not keep it from ending.
constexpr int kPassesMax = 20;

constexpr size_t kIdBytes = 4;

}  // namespace

// What an index is filled through.
struct IndexBuilder::Sorting {
  Sorting(store::Store& store, bulk::SorterOptions options)
      : sorter(std::make_unique<bulk::ExternalSorter>(store, std::move(options))) {}
  std::unique_ptr<bulk::ExternalSorter> sorter;
};

IndexBuilder::IndexBuilder(store::Store& store, catalog::Catalog& catalog, txn::TransactionManager& transactions,
                           std::shared_ptr<const catalog::TableAccess> table, std::vector<catalog::IndexDef> indexes,
                           std::function<bool()> interrupted, const std::atomic<bool>* interrupt_flag)
    : store_(store),
      catalog_(catalog),
      transactions_(transactions),
      table_(std::move(table)),
      indexes_(std::move(indexes)),
      interrupted_(std::move(interrupted)),
      interrupt_flag_(interrupt_flag) {}

IndexBuilder::~IndexBuilder() { Leave(); }

// Statements that are under way may still note changes, so the ids stay ours until these have ended.
void IndexBuilder::Leave() {
  snapshot_.Release();
  if (ids_.empty()) return;
  table_->table().SetBuild(nullptr);
  const auto ids = std::span<const IndexId>(ids_);
  catalog_.EndBuild(ids.first(indexes_.size()), ids.subspan(indexes_.size()), transactions_.next_transaction_id());
  ids_.clear();
}

void IndexBuilder::Complete() { Leave(); }

Status IndexBuilder::CheckInterrupted() const {
  return interrupted_ && interrupted_() ? Status::Of(Status::Code::kInterrupted) : Status::Ok();
}

Status IndexBuilder::Begin() {
  if (transactions_.PreparedHaveWritten(table_->primary().id())) {
    return Status(Status::Code::kLockTimeout, "a prepared transaction has changed " + table_->def().name);
  }
  CAIRN_RETURN_IF_ERROR(catalog_.TakeIdsForBuild(indexes_, &ids_));
  auto build = std::make_shared<catalog::TableBuild>();
  for (size_t i = 0; i < indexes_.size(); ++i) {
    indexes_[i].id = ids_[i];
    codec::ColumnSet columns(table_->layout().columns.size());
    for (const catalog::KeyPartDef& part : indexes_[i].parts) columns.Add(part.column);
    build->indexes.push_back({.def = indexes_[i],
                              .delta = ids_[indexes_.size() + i],
                              .columns = std::move(columns),
                              .removes_singly = table_->WouldRemoveSingly(indexes_[i])});
    codecs_.push_back(table_->CodecOf(indexes_[i]));
  }
  build_ = std::move(build);
  snapshot_ = store_.TakeSnapshot();
  table_->table().SetBuild(build_);
  return Status::Ok();
}

Status IndexBuilder::ScanRows(std::vector<Sorting>* sortings) {
  codec::ColumnSet wanted = table_->columns_of(0);
  for (const IndexBuild& build : build_->indexes) {
    for (size_t column = 0; column < wanted.column_count(); ++column) {
      if (build.columns.Has(column)) wanted.Add(column);
    }
  }
  const codec::DecodePlan plan = table_->rows().Plan(wanted);
  std::string record(table_->layout().default_record.view());
  record.resize(table_->layout().record_bytes);
  auto* const bytes = reinterpret_cast<uint8_t*>(record.data());
  const IndexBounds bounds(table_->primary().id());
  store::Cursor cursor;
  CAIRN_RETURN_IF_ERROR(store_.OpenCursor(Family::kData,
                                          {.snapshot = &snapshot_,
                                           .lower_bound = bounds.lower(),
                                           .upper_bound = bounds.upper(),
                                           .readahead_bytes = kReadaheadBytes,
                                           .fill_cache = false,
                                           .interrupted = interrupt_flag_},
                                          &cursor));
  ByteBuffer key, value;
  uint64_t rows = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    if (++rows % kRowsBetweenPolls == 0) CAIRN_RETURN_IF_ERROR(CheckInterrupted());
    CAIRN_RETURN_IF_ERROR(table_->rows().Decode(plan, cursor.key(), cursor.value(), bytes));
    for (size_t i = 0; i < sortings->size(); ++i) {
      key.Clear();
      value.Clear();
      codecs_[i].EncodeEntry(bytes, cursor.key(), &key, &value);
      CAIRN_RETURN_IF_ERROR((*sortings)[i].sorter->Add(key.view().substr(kIdBytes), value.view()));
    }
  }
  return cursor.status();
}

Status IndexBuilder::NoteDuplicate(size_t index, ByteView primary_key, const store::Snapshot* snapshot) {
  duplicate_ = {.index = index, .primary_key = std::string(primary_key), .value = {}};
  store::PinnedValue value;
  CAIRN_RETURN_IF_ERROR(store_.Get(Family::kData, primary_key, snapshot, &value));
  duplicate_.value = value.view();
  return Status::DuplicateKey();
}

Status IndexBuilder::Load(size_t index, Sorting* sorting, const std::function<void()>& sorted) {
  const codec::IndexCodec& codec = codecs_[index];
  // A plain index has the greatest id of all, so that nothing in the last level is in the way of its files.
  const bool few_files = indexes_[index].kind != IndexKind::kSecondary;
  store::SortedLoad load(store_, Family::kData, {.few_files = few_files});
  ByteBuffer key;
  codec.EncodeIndexPrefix(&key);
  Status status = sorting->sorter->Finish([&](ByteView rest, ByteView value) {
    key.Truncate(kIdBytes);
    key.Append(rest);
    return load.Add(key.view(), value);
  });
  if (status.Is(Status::Code::kDuplicateKey)) {
    const bulk::ExternalSorter::Duplicate& found = sorting->sorter->duplicate();
    key.Truncate(kIdBytes);
    key.Append(found.key);
    ByteBuffer primary_key;
    CAIRN_RETURN_IF_ERROR(codec.PrimaryKeyOf(key.view(), found.second_value, &primary_key));
    return NoteDuplicate(index, primary_key.view(), &snapshot_);
  }
  CAIRN_RETURN_IF_ERROR(std::move(status));
  sorting->sorter.reset();
  if (sorted) sorted();
  return load.Ingest(interrupted_);
}

Status IndexBuilder::Fill(uint64_t sort_memory_bytes, const std::function<void()>& sorted) {
  // Here, and not in Begin(), nobody is kept away by it, and all partitions have begun.
  CAIRN_RETURN_IF_ERROR(catalog_.SyncIdsForBuild());
  std::vector<Sorting> sortings;
  for (size_t i = 0; i < indexes_.size(); ++i) {
    sortings.emplace_back(store_, bulk::SorterOptions{.memory_bytes = sort_memory_bytes / indexes_.size(), .interrupted = interrupted_});
  }
  CAIRN_RETURN_IF_ERROR(ScanRows(&sortings));
  for (size_t i = 0; i < sortings.size(); ++i) {
    const bool is_last = i + 1 == sortings.size();
    CAIRN_RETURN_IF_ERROR(Load(i, &sortings[i], is_last ? sorted : nullptr));
  }
  snapshot_.Release();
  return Status::Ok();
}

Status IndexBuilder::ApplyDeltas(bool last, uint64_t* applied) {
  *applied = 0;
  for (size_t i = 0; i < build_->indexes.size(); ++i) {
    DeltaApplier applier(store_, transactions_, build_->indexes[i], codecs_[i], last, interrupted_, interrupt_flag_);
    Status status = applier.Run(table_->primary().id());
    *applied += applier.applied_count();
    applied_delta_count_ += applier.applied_count();
    if (status.Is(Status::Code::kDuplicateKey)) return NoteDuplicate(i, applier.duplicate_primary_key(), nullptr);
    CAIRN_RETURN_IF_ERROR(std::move(status));
  }
  return Status::Ok();
}

Status IndexBuilder::CatchUp() {
  for (int pass = 0; pass < kPassesMax; ++pass) {
    uint64_t applied;
    CAIRN_RETURN_IF_ERROR(ApplyDeltas(false, &applied));
    if (applied <= kChangesLeftMax) break;
  }
  return Status::Ok();
}

Status IndexBuilder::Finish() {
  // What it noted is not there to be seen yet.
  for (const IndexBuild& build : build_->indexes) {
    if (transactions_.PreparedHaveWritten(build.delta)) {
      return Status(Status::Code::kLockTimeout, "a prepared transaction has changed " + table_->def().name);
    }
  }
  uint64_t applied;
  return ApplyDeltas(true, &applied);
}

}  // namespace cairn::ddl

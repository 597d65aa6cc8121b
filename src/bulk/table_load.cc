// SPDX-License-Identifier: GPL-2.0-only
// Rows in, sorted files of all indexes out.
#include "bulk/table_load.h"

namespace cairn::bulk {

using store::Family;
using store::LoadReader;
using store::SortedLoad;

namespace {

constexpr size_t kIdBytes = 4;

}  // namespace

TableLoad::TableLoad(store::Store& store, std::shared_ptr<const catalog::TableAccess> table, LoadOptions options)
    : store_(store), table_(std::move(table)), options_(std::move(options)), gathered_(NewSorter()) {
  for (size_t index = 0; index < table_->secondary_count(); ++index) sorters_.push_back(NewSorter());
}

std::unique_ptr<ExternalSorter> TableLoad::NewSorter() const {
  return std::make_unique<ExternalSorter>(
      store_, SorterOptions{.memory_bytes = options_.memory_bytes / table_->indexes().size(),
                            .interrupted = options_.interrupted});
}

std::unique_ptr<SortedLoad> TableLoad::NewFiles() const {
  // What large files keep in memory would be there once for each table.
  const bool few_files = options_.tables_at_once == 1;
  return std::make_unique<SortedLoad>(store_, Family::kData,
                                      store::SortedLoadOptions{.few_files = few_files,
                                                               .all_at_once = options_.by_files,
                                                               .loads_at_once = options_.tables_at_once});
}

Status TableLoad::Add(const dml::RowRef& row) {
  primary_key_.Clear();
  row_value_.Clear();
  table_->primary().EncodePrimaryKey(row.record, row.hidden_row_id, &primary_key_);
  table_->rows().Encode(row.record, &row_value_);
  CAIRN_RETURN_IF_ERROR(row_poll_.Count(primary_key_.size() + row_value_.size()));
  CAIRN_RETURN_IF_ERROR(AddPrimary(primary_key_.view(), row_value_.view()));
  for (size_t index = 1; index < table_->indexes().size(); ++index) {
    key_.Clear();
    value_.Clear();
    table_->indexes()[index].EncodeEntry(row.record, primary_key_.view(), &key_, &value_);
    CAIRN_RETURN_IF_ERROR(AddSecondary(index, key_.view(), value_.view()));
  }
  return !by_files() && bytes_ > kSmallBytes ? SwitchToFiles() : Status::Ok();
}

Status TableLoad::AddEntry(size_t index, ByteView key, ByteView value) {
  return index == 0 ? AddPrimary(key, value) : AddSecondary(index, key, value);
}

Status TableLoad::AddSecondary(size_t index, ByteView key, ByteView value) {
  bytes_ += key.size() + value.size();
  return sorters_[index - 1]->Add(key.substr(kIdBytes), value);
}

Status TableLoad::AddPrimary(ByteView key, ByteView value) {
  ++row_count_;
  bytes_ += key.size() + value.size();
  if (!by_files() && options_.by_files) CAIRN_RETURN_IF_ERROR(SwitchToFiles());
  if (!by_files()) return gathered_->Add(key, value);
  const int order = key.compare(last_key_.view());
  if (order > 0) {
    last_key_.Assign(key);
    return load_->Add(key, value);
  }
  if (order == 0) {
    duplicate_ = LoadDuplicate();
    return Status::DuplicateKey();
  }
  if (late_ == nullptr) late_ = NewSorter();
  return late_->Add(key, value);
}

Status TableLoad::SortRows(ExternalSorter* sorter, const ExternalSorter::Visit& visit) {
  Status status = sorter->Finish(visit);
  if (status.Is(Status::Code::kDuplicateKey) && !sorter->duplicate().key.empty()) {
    const ExternalSorter::Duplicate& found = sorter->duplicate();
    duplicate_ = {.index = 0, .key = {}, .value = {}, .primary_key = found.key, .row_value = found.second_value};
  }
  return status;
}

Status TableLoad::SwitchToFiles() {
  load_ = NewFiles();
  CAIRN_RETURN_IF_ERROR(SortRows(gathered_.get(), [this](ByteView key, ByteView value) {
    last_key_.Assign(key);
    return load_->Add(key, value);
  }));
  gathered_.reset();
  return Status::Ok();
}

// Writes the rows anew, with the late ones where they belong.
Status TableLoad::MergeLate() {
  if (late_ == nullptr) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(load_->Finish());
  std::unique_ptr<SortedLoad> merged = NewFiles();
  LoadReader early(*load_);
  CAIRN_RETURN_IF_ERROR(early.SeekToFirst());
  InterruptPoll poll(options_.interrupted);
  const auto move_early = [&] {
    CAIRN_RETURN_IF_ERROR(poll.Count(early.key().size() + early.value().size()));
    CAIRN_RETURN_IF_ERROR(merged->Add(early.key(), early.value()));
    return early.Next();
  };
  CAIRN_RETURN_IF_ERROR(SortRows(late_.get(), [&](ByteView key, ByteView value) {
    while (early.Valid() && early.key() < key) CAIRN_RETURN_IF_ERROR(move_early());
    if (early.Valid() && early.key() == key) {
      duplicate_ = {.index = 0, .key = {}, .value = {}, .primary_key = std::string(key), .row_value = std::string(value)};
      return Status::DuplicateKey();
    }
    return merged->Add(key, value);
  }));
  while (early.Valid()) CAIRN_RETURN_IF_ERROR(move_early());
  late_.reset();
  load_ = std::move(merged);
  return load_->CutFile();
}

// Visits the entries of a secondary index in order.
Status TableLoad::SortIndex(size_t index, const ExternalSorter::Visit& visit,
                            const std::function<Status(ByteView key, std::string* value)>& get_row) {
  const codec::IndexCodec& codec = table_->indexes()[index];
  ExternalSorter& sorter = *sorters_[index - 1];
  key_.Clear();
  codec.EncodeIndexPrefix(&key_);
  Status status = sorter.Finish([&](ByteView rest, ByteView value) {
    key_.Truncate(kIdBytes);
    key_.Append(rest);
    return visit(key_.view(), value);
  });
  if (status.Is(Status::Code::kDuplicateKey)) {
    const ExternalSorter::Duplicate& found = sorter.duplicate();
    key_.Truncate(kIdBytes);
    key_.Append(found.key);
    primary_key_.Clear();
    CAIRN_RETURN_IF_ERROR(codec.PrimaryKeyOf(key_.view(), found.second_value, &primary_key_));
    duplicate_ = {.index = index,
                  .key = key_.ToString(),
                  .value = found.second_value,
                  .primary_key = primary_key_.ToString(),
                  .row_value = {}};
    CAIRN_RETURN_IF_ERROR(get_row(duplicate_.primary_key, &duplicate_.row_value));
  }
  sorters_[index - 1].reset();
  return status;
}

Status TableLoad::PutAll(const LoadTarget& target) {
  CAIRN_RETURN_IF_ERROR(SortRows(gathered_.get(), target.put));
  for (size_t index = 1; index < table_->indexes().size(); ++index) {
    CAIRN_RETURN_IF_ERROR(SortIndex(index, target.put, target.get));
  }
  return Status::Ok();
}

Status TableLoad::FinishFiles() {
  CAIRN_RETURN_IF_ERROR(load_->CutFile());
  CAIRN_RETURN_IF_ERROR(MergeLate());
  LoadReader rows(*load_);
  for (size_t index = 1; index < table_->indexes().size(); ++index) {
    CAIRN_RETURN_IF_ERROR(SortIndex(
        index, [this](ByteView key, ByteView value) { return load_->Add(key, value); },
        [&](ByteView key, std::string* value) {
          CAIRN_RETURN_IF_ERROR(load_->Finish());
          return rows.Get(key, value);
        }));
    CAIRN_RETURN_IF_ERROR(load_->CutFile());
  }
  if (options_.sorted) options_.sorted();
  return load_->Finish();
}

Status TableLoad::Finish(const LoadTarget& target) {
  if (!by_files()) return PutAll(target);
  CAIRN_RETURN_IF_ERROR(FinishFiles());
  // Files come into the store without the log, and the dictionary leaves there what it has of a temporary table: if power took that, and the ids
  // with it, nobody would know whose entries the files have, and they would stay.
  if (table_->def().temporary) CAIRN_RETURN_IF_ERROR(store_.SyncWal());
  return load_->Ingest(options_.interrupted);
}

}  // namespace cairn::bulk

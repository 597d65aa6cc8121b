// SPDX-License-Identifier: GPL-2.0-only
// Files that wait for their transaction, and how they become a part of the store.
#include "store/pending_load.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <rocksdb/env.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include "base/index_bounds.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

constexpr char kSuffix[] = ".sst";

std::string FolderOf(const Store& store) { return store.directory() + "/loads"; }

std::string PathOf(const Store& store, uint64_t number, uint64_t file) {
  return FolderOf(store) + "/" + std::to_string(number) + "-" + std::to_string(file) + kSuffix;
}

// False: no file of a load is named so.
bool NumberOf(const std::string& name, uint64_t* number) {
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), *number);
  return error == std::errc() && end != name.data() + name.size() && *end == '-';
}

// Gathers the records of loads in a batch.
class RecordVisitor final : public rocks::WriteBatch::Handler {
 public:
  explicit RecordVisitor(std::vector<LoadRecord>* records) : records_(records) {}

  const Status& malformed() const { return malformed_; }

  rocks::Status PutCF(uint32_t family, const rocks::Slice& key, const rocks::Slice& value) override {
    if (family != static_cast<uint32_t>(Family::kDictionary) || !IsLoadRecordKey(ToView(key))) return rocks::Status::OK();
    if (Status status = DecodeLoadRecord(ToView(key), ToView(value), &records_->emplace_back()); !status.ok()) {
      malformed_ = std::move(status);
    }
    return rocks::Status::OK();
  }
  rocks::Status DeleteCF(uint32_t, const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status SingleDeleteCF(uint32_t, const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status MergeCF(uint32_t, const rocks::Slice&, const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status MarkBeginPrepare(bool) override { return rocks::Status::OK(); }
  rocks::Status MarkEndPrepare(const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status MarkNoop(bool) override { return rocks::Status::OK(); }
  rocks::Status MarkCommit(const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status MarkRollback(const rocks::Slice&) override { return rocks::Status::OK(); }

 private:
  std::vector<LoadRecord>* const records_;
  Status malformed_;
};

// The records of committed loads.
Status ReadRecords(rocks::DB* db, rocks::ColumnFamilyHandle* dictionary, std::vector<LoadRecord>* records) {
  const std::string first(1, kLoadRecordKind);
  const std::unique_ptr<rocks::Iterator> at(db->NewIterator(rocks::ReadOptions(), dictionary));
  for (at->Seek(first); at->Valid() && IsLoadRecordKey(ToView(at->key())); at->Next()) {
    CAIRN_RETURN_IF_ERROR(DecodeLoadRecord(ToView(at->key()), ToView(at->value()), &records->emplace_back()));
  }
  return FromRocks(at->status());
}

}  // namespace

Status ReadLoadRecords(const rocks::WriteBatch& batch, std::vector<LoadRecord>* records) {
  RecordVisitor visitor(records);
  CAIRN_RETURN_IF_ERROR(FromRocks(batch.Iterate(&visitor)));
  return Status(visitor.malformed().code(), std::string(visitor.malformed().message()));
}

PendingLoad::PendingLoad(Store& store, LoadRecord record) : store_(store), record_(std::move(record)) {}

PendingLoad::~PendingLoad() {
  staged_.reset();
  if (keeps_) return;
  rocks::Env* const env = store_.impl_->root->GetEnv();
  for (const std::string& path : Paths()) env->DeleteFile(path).PermitUncheckedError();
}

std::vector<std::string> PendingLoad::Paths() const {
  std::vector<std::string> paths;
  for (uint64_t file = 0; file < record_.file_count; ++file) paths.push_back(PathOf(store_, record_.number, file));
  return paths;
}

Status PendingLoad::Make(Store& store, SortedLoad* load, std::span<const IndexId> indexes,
                         std::unique_ptr<PendingLoad>* made) {
  CAIRN_RETURN_IF_ERROR(load->CutFile());
  LoadRecord record;
  {
    LoadReader reader(*load);
    CAIRN_RETURN_IF_ERROR(reader.SeekToFirst());
    if (!reader.Valid()) return Status::InvalidArgument("a load without entries");
    record.first_key = reader.key();
  }
  record.number = store.impl_->next_load_number.fetch_add(1, std::memory_order_relaxed);
  record.file_count = 0;
  record.indexes.assign(indexes.begin(), indexes.end());
  rocks::Env* const env = store.impl_->root->GetEnv();
  CAIRN_RETURN_IF_ERROR(FromRocks(env->CreateDirIfMissing(FolderOf(store))));
  auto pending = std::make_unique<PendingLoad>(store, std::move(record));
  // A file that could not be moved stays the other's, who deletes it.
  while (!load->paths_.empty()) {
    const std::string path = PathOf(store, pending->record_.number, pending->record_.file_count);
    CAIRN_RETURN_IF_ERROR(FromRocks(env->RenameFile(load->paths_.front(), path)));
    load->paths_.erase(load->paths_.begin());
    ++pending->record_.file_count;
  }
  // The files were synced when they were ended; these are their names, and that of the folder.
  for (const std::string& folder : {FolderOf(store), store.directory()}) {
    std::unique_ptr<rocks::Directory> directory;
    CAIRN_RETURN_IF_ERROR(FromRocks(env->NewDirectory(folder, &directory)));
    CAIRN_RETURN_IF_ERROR(FromRocks(directory->Fsync()));
  }
  *made = std::move(pending);
  return Status::Ok();
}

// What was removed from the indexes of late: RocksDB would flush it while it stops all who write.
Status PendingLoad::FlushOverlapping() {
  for (const IndexId index : record_.indexes) {
    const IndexBounds bounds(index);
    const KeyRange range{bounds.lower(), bounds.upper()};
    RangeEstimate estimate;
    CAIRN_RETURN_IF_ERROR(store_.EstimateRanges(Family::kData, {&range, 1}, {&estimate, 1}));
    if (estimate.memory_entries == 0) continue;
    rocks::FlushOptions flush;
    flush.allow_write_stall = true;
    return FromRocks(store_.impl_->root->Flush(flush, store_.Handle(Family::kData)));
  }
  return Status::Ok();
}

Status PendingLoad::Stage() {
  if (staged_ != nullptr) return Status::Ok();
  PrepareThread();
  rocks::Env* const env = store_.impl_->root->GetEnv();
  const std::vector<std::string> paths = Paths();
  for (const std::string& path : paths) {
    const rocks::Status found = env->FileExists(path);
    if (found.IsNotFound()) return Status::Corruption("the file " + path + " is missing, which has rows of a transaction");
    CAIRN_RETURN_IF_ERROR(FromRocks(found));
  }
  CAIRN_RETURN_IF_ERROR(FlushOverlapping());
  rocks::IngestExternalFileOptions options;
  options.move_files = true;
  options.failed_move_fall_back_to_copy = true;
  return FromRocks(store_.impl_->root->PrepareFileIngestion(store_.Handle(Family::kData), paths, options, &staged_));
}

Status PendingLoad::HandOver() {
  CAIRN_RETURN_IF_ERROR(Stage());
  rocks::DB* const db = store_.impl_->root;
  // With a view about, RocksDB gives the entries a sequence number, so that also those who take a view while the files
  // are being taken over go on seeing what they saw at first.
  const WriteGateKeeper::TakingOver taking_over(*store_.impl_->gate);
  const rocks::Snapshot* const view = db->GetSnapshot();
  const rocks::Status status = db->CommitFileIngestionHandle(std::move(staged_));
  db->ReleaseSnapshot(view);
  staged_.reset();
  CAIRN_RETURN_IF_ERROR(FromRocks(status));
  store_.impl_->load_count.fetch_add(1, std::memory_order_relaxed);
  // Before anybody may change the entries: with the record their being there must mean that they came.
  return FromRocks(db->Delete(store_.impl_->MakeWriteOptions(Durability::kOs), store_.Handle(Family::kDictionary),
                              LoadRecordKey(record_.number)));
}

Status PendingLoad::FinishLoads(Store& store) {
  Store::Impl& impl = *store.impl_;
  std::vector<LoadRecord> committed, prepared;
  CAIRN_RETURN_IF_ERROR(ReadRecords(impl.root, store.Handle(Family::kDictionary), &committed));
  std::vector<rocks::Transaction*> transactions;
  impl.db->GetAllPreparedTransactions(&transactions);
  for (rocks::Transaction* transaction : transactions) {
    CAIRN_RETURN_IF_ERROR(ReadLoadRecords(*transaction->GetWriteBatch()->GetWriteBatch(), &prepared));
  }
  uint64_t greatest_number = 0;
  std::set<uint64_t> kept;
  for (const LoadRecord& record : prepared) {
    kept.insert(record.number);
    greatest_number = std::max(greatest_number, record.number);
  }
  for (const LoadRecord& record : committed) {
    greatest_number = std::max(greatest_number, record.number);
    PendingLoad load(store, record);
    load.Keep();
    PinnedValue value;
    Status there = store.Get(Family::kData, record.first_key, nullptr, &value);
    if (there.ok()) {
      CAIRN_RETURN_IF_ERROR(FromRocks(impl.root->Delete(impl.MakeWriteOptions(Durability::kOs),
                                                        store.Handle(Family::kDictionary), LoadRecordKey(record.number))));
    } else if (there.Is(Status::Code::kNotFound)) {
      CAIRN_RETURN_IF_ERROR(load.HandOver());
    } else {
      return there;
    }
    load.keeps_ = false;
  }
  rocks::Env* const env = impl.root->GetEnv();
  std::vector<std::string> names;
  const rocks::Status listed = env->GetChildren(FolderOf(store), &names);
  if (!listed.ok() && !listed.IsNotFound() && !listed.IsPathNotFound()) return FromRocks(listed);
  for (const std::string& name : names) {
    uint64_t number;
    if (!NumberOf(name, &number)) continue;
    greatest_number = std::max(greatest_number, number);
    if (!kept.contains(number)) env->DeleteFile(FolderOf(store) + "/" + name).PermitUncheckedError();
  }
  impl.next_load_number.store(greatest_number + 1, std::memory_order_relaxed);
  return Status::Ok();
}

}  // namespace cairn::store

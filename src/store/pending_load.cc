// SPDX-License-Identifier: GPL-2.0-only
// Files that wait for their transaction, and how they become a part of the store.
#include "store/pending_load.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include "base/index_bounds.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

constexpr char kSuffix[] = ".sst";
// For an entry in the manifest, which may begin a new one, and two in the log.
constexpr uint64_t kHandOverBytes = uint64_t{1} << 20;

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

// Synced: recovery that passes over damage in the log (docs/errors.md) must not find a record of files that are long gone. Before anybody may
// change the entries: with the record their being there must mean that they came. It also gives a new sequence number, so that
// nobody keeps a cursor that was opened when the files were counted but not there yet.
Status RemoveRecord(const rocks::WriteOptions& write, rocks::DB* db, rocks::ColumnFamilyHandle* dictionary, uint64_t number) {
  return FromRocks(db->Delete(write, dictionary, LoadRecordKey(number)));
}

}  // namespace

Status ReadLoadRecords(const rocks::WriteBatch& batch, std::vector<LoadRecord>* records) {
  RecordVisitor visitor(records);
  CAIRN_RETURN_IF_ERROR(FromRocks(batch.Iterate(&visitor)));
  return Status(visitor.malformed().code(), std::string(visitor.malformed().message()));
}

PendingLoad::PendingLoad(Store& store, LoadRecord record)
    : store_(store), record_(std::move(record)), reserved_places_(record_.file_count) {
  store_.impl_->reserved_level0_places.fetch_add(reserved_places_);
}

PendingLoad::~PendingLoad() {
  staged_.reset();
  store_.impl_->reserved_level0_places.fetch_sub(reserved_places_);
  if (keeps_) return;
  rocks::Env* const env = store_.impl_->root->GetEnv();
  for (const std::string& path : Paths()) env->DeleteFile(path).PermitUncheckedError();
}

std::vector<std::string> PendingLoad::Paths() const {
  std::vector<std::string> paths;
  for (uint64_t file = 0; file < record_.file_count; ++file) paths.push_back(PathOf(store_, record_.number, file));
  return paths;
}

bool PendingLoad::HasPlaces() const {
  return store_.impl_->reserved_level0_places.load() <= store_.FreeLevel0Places();
}

Status PendingLoad::Make(Store& store, SortedLoad* load, std::span<const IndexId> indexes,
                         std::unique_ptr<PendingLoad>* made) {
  made->reset();
  CAIRN_RETURN_IF_ERROR(load->Finish());
  if (store.write_gate() != WriteGate::kOpen) CAIRN_RETURN_IF_ERROR(store.WriteGateStatus());
  LoadRecord record;
  {
    LoadReader reader(*load);
    CAIRN_RETURN_IF_ERROR(reader.SeekToFirst());
    if (!reader.Valid()) return Status::InvalidArgument("a load without entries");
    record.first_key = reader.key();
  }
  const IndexBounds rows(indexes.front());
  for (const auto& [first, last] : load->ends_) {
    if (first >= rows.upper()) break;
    if (last >= rows.upper()) return Status::InvalidArgument("a load's file has rows and other entries");
    record.last_row_key = last;
  }
  record.number = store.impl_->next_load_number.fetch_add(1, std::memory_order_relaxed);
  record.file_count = load->paths_.size();
  record.indexes.assign(indexes.begin(), indexes.end());
  auto pending = std::make_unique<PendingLoad>(store, std::move(record));
  pending->Keep();
  if (!pending->HasPlaces()) return Status::Ok();
  Status status = pending->MoveHere(load);
  if (status.ok()) status = pending->Stage();
  if (!status.ok()) {
    LogSink* const log = store.impl_->log;
    if (log != nullptr) log->Log(LogLevel::kWarning, "rows are inserted one by one instead of as files: " + status.ToString());
    return Status::Ok();
  }
  load->paths_.clear();
  load->ends_.clear();
  pending->keeps_ = false;
  *made = std::move(pending);
  return Status::Ok();
}

// The files stay the other's, under their new names, until all is done.
Status PendingLoad::MoveHere(SortedLoad* load) {
  rocks::Env* const env = store_.impl_->root->GetEnv();
  CAIRN_RETURN_IF_ERROR(FromRocks(env->CreateDirIfMissing(FolderOf(store_))));
  const std::vector<std::string> paths = Paths();
  for (size_t file = 0; file < paths.size(); ++file) {
    CAIRN_RETURN_IF_ERROR(FromRocks(env->RenameFile(load->paths_[file], paths[file])));
    load->paths_[file] = paths[file];
  }
  // The files were synced when they were ended; these are their names, and that of the folder.
  for (const std::string& folder : {FolderOf(store_), store_.directory()}) {
    std::unique_ptr<rocks::Directory> directory;
    CAIRN_RETURN_IF_ERROR(FromRocks(env->NewDirectory(folder, &directory)));
    CAIRN_RETURN_IF_ERROR(FromRocks(directory->Fsync()));
  }
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
  Status status = StageFiles();
  if (status.ok()) return status;
  return Status(status.code(), "files of rows of a transaction, " + PathOf(store_, record_.number, 0) + " and " +
                                   std::to_string(record_.file_count - 1) + " more: " + std::string(status.message()));
}

Status PendingLoad::StageFiles() {
  rocks::Env* const env = store_.impl_->root->GetEnv();
  const std::vector<std::string> paths = Paths();
  for (const std::string& path : paths) {
    const rocks::Status found = env->FileExists(path);
    if (found.IsNotFound()) return Status::Corruption(path + " is missing");
    CAIRN_RETURN_IF_ERROR(FromRocks(found));
  }
  CAIRN_RETURN_IF_ERROR(FlushOverlapping());
  CAIRN_RETURN_IF_ERROR(store_.LimitOpenFiles(paths.size()));
  rocks::IngestExternalFileOptions options;
  options.move_files = true;
  options.failed_move_fall_back_to_copy = true;
  return FromRocks(store_.impl_->root->PrepareFileIngestion(store_.Handle(Family::kData), paths, options, &staged_));
}

Status PendingLoad::HandOver() {
  CAIRN_RETURN_IF_ERROR(Stage());
  rocks::DB* const db = store_.impl_->root;
  // Level 0 may be full, of these very files, and what empties it may have no room on the disk. It holds up nobody while RocksDB
  // starts no compaction.
  std::optional<CompactionHold::Commit> unstalled;
  if (store_.FreeLevel0Places() < record_.file_count) unstalled.emplace(*store_.impl_->compaction_hold);
  const uint64_t sequence_before = db->GetLatestSequenceNumber();
  {
    // With a view about, RocksDB gives the entries a sequence number, so that also those who take a view while the files
    // are being taken over go on seeing what they saw at first.
    const WriteGateKeeper::TakingOver taking_over(*store_.impl_->gate);
    const rocks::Snapshot* const view = db->GetSnapshot();
    const rocks::Status status = db->CommitFileIngestionHandle(std::move(staged_));
    db->ReleaseSnapshot(view);
    staged_.reset();
    CAIRN_RETURN_IF_ERROR(FromRocks(status));
  }
  store_.impl_->walked.NoteLoad(record_.indexes, sequence_before, db->GetLatestSequenceNumber());
  store_.impl_->load_count.fetch_add(1, std::memory_order_relaxed);
  return RemoveRecord(store_.impl_->MakeWriteOptions(Durability::kSync), db, store_.Handle(Family::kDictionary), record_.number);
}

// Its rows cannot be had any more.
Status PendingLoad::GiveUp(const Status& why) {
  rocks::Env* const env = store_.impl_->root->GetEnv();
  for (const std::string& path : Paths()) {
    const size_t name = FolderOf(store_).size() + 1;
    env->RenameFile(path, path.substr(0, name) + "lost-" + path.substr(name)).PermitUncheckedError();
  }
  std::string indexes;
  for (const IndexId index : record_.indexes) indexes += ' ' + std::to_string(index.value);
  if (LogSink* const log = store_.impl_->log; log != nullptr) {
    log->Log(LogLevel::kError, "committed rows are lost, all of a load of the indexes" + indexes + ": " + why.ToString());
  }
  return RemoveRecord(store_.impl_->MakeWriteOptions(Durability::kSync), store_.impl_->root,
                      store_.Handle(Family::kDictionary), record_.number);
}

// Once begun, what fails for want of room stops the server: it is looked at before, so that the start may say what is missing.
Status PendingLoad::CheckRoom() const {
  uint64_t free_bytes = 0;
  const rocks::IOStatus told = store_.impl_->root->GetEnv()->GetFileSystem()->GetFreeSpace(store_.directory(), rocks::IOOptions(),
                                                                                          &free_bytes, nullptr);
  if (!told.ok() || free_bytes >= kHandOverBytes) return Status::Ok();
  return Status(Status::Code::kNoSpace, "committed rows wait in " + PathOf(store_, record_.number, 0) + " and " +
                                            std::to_string(record_.file_count - 1) + " more files, to become a part of the store");
}

Status PendingLoad::FinishCommitted(Store& store, const LoadRecord& record, bool gives_up_damaged) {
  PendingLoad load(store, record);
  load.Keep();
  CAIRN_RETURN_IF_ERROR(load.CheckRoom());
  PinnedValue value;
  Status status = store.Get(Family::kData, record.first_key, nullptr, &value);
  if (status.ok()) {
    status = RemoveRecord(store.impl_->MakeWriteOptions(Durability::kSync), store.impl_->root,
                          store.Handle(Family::kDictionary), record.number);
  } else if (status.Is(Status::Code::kNotFound)) {
    status = load.HandOver();
    if (status.Is(Status::Code::kCorruption) && gives_up_damaged) return load.GiveUp(status);
  }
  if (status.ok()) load.keeps_ = false;
  return status;
}

Status PendingLoad::FinishLoads(Store& store, bool gives_up_damaged) {
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
    CAIRN_RETURN_IF_ERROR(FinishCommitted(store, record, gives_up_damaged));
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

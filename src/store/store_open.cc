// SPDX-License-Identifier: GPL-2.0-only
// Opening and closing a store.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "store/file_manager.h"
#include "store/format_file.h"
#include "store/left_files.h"
#include "store/log_files.h"
#include "store/pending_load.h"
#include "store/rocks_options.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"
#include "store/stuck_logs.h"
#include "store/temp_file.h"
#include "store/wal_check.h"

namespace cairn::store {
namespace {

constexpr uint64_t kMemoryBytesMin = uint64_t{16} << 20;
// Of the memory budget. It is of the block cache, and cannot be evicted from there. A GiB of data has some 4 MiB of indexes.
constexpr uint64_t kHeldIndexesShare = 8;
constexpr uint64_t kHeldIndexesBytesMin = uint64_t{4} << 20;
constexpr uint64_t kReserveBytesBase = uint64_t{128} << 20;
// Less is not worth a flush at each start.
constexpr uint64_t kReplayedLogBytesMin = uint64_t{1} << 20;
// What a start writes besides what it replays: a manifest, a log, options.
constexpr uint64_t kStartBytes = uint64_t{16} << 20;
// A dropped table's files are unlinked at this pace, so that a device's discard does not stall it.
constexpr int64_t kDeleteBytesPerSecond = int64_t{256} << 20;

Status WithDirectory(const std::string& directory, Status::Code code, std::string_view text) {
  return Status(code, "opening " + directory + ": " + std::string(text));
}

uint64_t ReserveBytes(const StoreOptions& options) {
  if (options.free_space_reserve_bytes != 0) return options.free_space_reserve_bytes;
  return kReserveBytesBase + UsualWriteBuffers(options.memory_bytes).all_bytes;
}

// RocksDB reports a lock file that is taken as an I/O error like any other; only its text differs.
bool IsTakenLock(const rocks::Status& status) {
  if (!status.IsIOError()) return false;
  const std::string text = status.ToString();
  if (text.find("LOCK") == std::string::npos) return false;
  return text.find("While lock file") != std::string::npos ||
         text.find("lock hold by current process") != std::string::npos ||
         text.find("already held") != std::string::npos;
}

// Of what a start goes on without.
void Warn(const StoreOptions& options, const char* what, const Status& status) {
  if (!status.ok() && options.log != nullptr) options.log->Log(LogLevel::kWarning, what + status.ToString());
}

// Of a store that was opened just now that is what was replayed, as the new log is empty.
uint64_t LogBytes(rocks::Env* env, const std::string& directory) {
  std::vector<std::string> paths;
  if (!FindLogs(env, directory, &paths).ok()) return 0;
  uint64_t bytes = 0;
  for (const std::string& path : paths) {
    uint64_t file_bytes = 0;
    if (env->GetFileSize(path, &file_bytes).ok()) bytes += file_bytes;
  }
  return bytes;
}

std::string Megabytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

bool FindFreeBytes(rocks::Env* env, const std::string& directory, uint64_t* bytes) {
  return env->GetFileSystem()->GetFreeSpace(directory, rocks::IOOptions(), bytes, nullptr).ok();
}

// On a full disk it says how much room is missing, and where.
Status OpenError(rocks::Env* env, const std::string& directory, const Status& status) {
  uint64_t free_bytes = 0;
  if (!status.Is(Status::Code::kNoSpace) || !FindFreeBytes(env, directory, &free_bytes)) {
    return WithDirectory(directory, status.code(), status.message());
  }
  const uint64_t log_bytes = LogBytes(env, directory);
  return WithDirectory(directory, status.code(),
                       std::string(status.message()) + "; its file system has " + Megabytes(free_bytes) +
                           " of free space, and a start needs up to " + Megabytes(log_bytes + kStartBytes) + ", of that " +
                           Megabytes(log_bytes) + " for what is in the logs only. Nothing is lost: make that room outside of this "
                           "directory, from which a start deletes by itself what crashes have left, and start again");
}

Status OpenError(rocks::Env* env, const std::string& directory, const rocks::Status& status) {
  if (IsTakenLock(status)) {
    return WithDirectory(directory, Status::Code::kBusy, "it is in use: " + status.ToString());
  }
  return OpenError(env, directory, FromRocks(status));
}

// A data file that is damaged or lost is no reason to keep all others from those who need them: where one cannot be opened, each is opened when it
// is needed, or in the background.
rocks::Status OpenDatabase(const StoreOptions& options, const RocksOptions& derived, std::vector<rocks::ColumnFamilyHandle*>* handles,
                           rocks::TransactionDB** db) {
  rocks::TransactionDBOptions transactions;
  transactions.num_stripes = 1;  // of RocksDB's own lock table, which nobody uses
  const std::vector<rocks::ColumnFamilyDescriptor> families = {
      {rocks::kDefaultColumnFamilyName, derived.data}, {"dictionary", derived.dictionary}};
  rocks::Status status = rocks::TransactionDB::Open(derived.db, transactions, options.directory, families, handles, db);
  if (!IsUnreadable(status) || status.ToString().find(".sst") == std::string::npos) return status;
  if (options.log != nullptr) {
    options.log->Log(LogLevel::kError, "a data file of " + options.directory + " cannot be opened; the store is opened without it, and what " +
                                           "needs its rows fails (docs/errors.md): " + status.ToString());
  }
  rocks::DBOptions later = derived.db;
  later.open_files_async = true;
  later.skip_stats_update_on_db_open = true;  // which would open some at once
  return rocks::TransactionDB::Open(later, transactions, options.directory, families, handles, db);
}

// Whoever chooses how to recover has chosen to.
bool LivesWithDamage(const StoreOptions& options) {
  return options.expert_db_options.find("wal_recovery_mode") != std::string::npos;
}

// Cairn's own mode is one of these.
bool StopsAtDamage(const StoreOptions& options) {
  return !LivesWithDamage(options) || options.expert_db_options.find("kPointInTimeRecovery") != std::string::npos;
}

// Of the modes, those that stop at damage or pass over it.
bool GivesUpDamagedLoads(const StoreOptions& options) {
  constexpr std::string_view kModes[] = {"kPointInTimeRecovery", "kSkipAnyCorruptedRecords"};
  return LivesWithDamage(options) && std::ranges::any_of(kModes, [&](std::string_view mode) {
           return options.expert_db_options.find(mode) != std::string::npos;
         });
}

// Logs at which each start would stop. Whoever has not chosen to lose records is told that there are some behind: RocksDB would drop them
// without a word.
Status FindLogsToEmpty(rocks::Env* env, const StoreOptions& options, const FoundDamage& found, std::vector<std::string>* logs) {
  if (!LivesWithDamage(options)) CAIRN_RETURN_IF_ERROR(CheckFollowedLogs(env, options.directory, found.followed));
  CAIRN_RETURN_IF_ERROR(FindStuckLogs(env, options.directory, logs));
  if (!logs->empty() && !LivesWithDamage(options) && std::ranges::find(found.torn, logs->back()) == found.torn.end()) {
    return Status::Corruption("the write-ahead log " + logs->back() + " is damaged in its first record, and whole records follow in later "
                              "logs. Nothing was changed. To start without what follows the damage, set RocksDB's option "
                              "wal_recovery_mode=kPointInTimeRecovery");
  }
  logs->insert(logs->end(), found.torn.begin(), found.torn.end());
  return Status::Ok();
}

// Where there may be no room for what a start writes, files that nobody needs go before that. Precondition: nobody has the store open.
void MakeRoom(rocks::Env* env, const StoreOptions& options) {
  uint64_t free_bytes = 0;
  if (!FindFreeBytes(env, options.directory, &free_bytes)) return;
  if (free_bytes >= LogBytes(env, options.directory) + kStartBytes) return;
  LeftFiles deleted;
  Warn(options, "cannot delete data files that nobody needs: ", DeleteLeftFiles(env, options.directory, &deleted));
  if (deleted.count == 0 || options.log == nullptr) return;
  options.log->Log(LogLevel::kInfo, "deleted " + std::to_string(deleted.count) + " data files of " + Megabytes(deleted.bytes) +
                                        " in " + options.directory + " that a crash, or a start without room, has left");
}

// What a start without room has written is of no use to the next one. Else it would also pass for missing room.
void MakeRoomAgain(rocks::Env* env, const StoreOptions& options) {
  rocks::FileLock* lock = nullptr;
  if (!env->LockFile(options.directory + "/LOCK", &lock).ok()) return;
  MakeRoom(env, options);
  env->UnlockFile(lock).PermitUncheckedError();
}

// What RocksDB is to find, or the reason why it is not to look. Logs are emptied before it opens the store, as it notes in the manifest at once
// that it has done with them.
Status PrepareLogs(rocks::Env* env, const StoreOptions& options) {
  const LogDamage refused = LivesWithDamage(options) ? LogDamage::kImpassable : LogDamage::kAny;
  FoundDamage found;
  CAIRN_RETURN_IF_ERROR(CheckWalFiles(env, options.directory, refused, options.log, &found));
  const bool is_followed = !found.followed.empty() && !LivesWithDamage(options);
  std::vector<std::string> logs;
  if (is_followed || (found.at_a_beginning && StopsAtDamage(options))) {
    CAIRN_RETURN_IF_ERROR(FindLogsToEmpty(env, options, found, &logs));
  }
  // Not before: who is refused for damage finds all data files as they were. And not later: where the system has put off finding room for what
  // was written, a sync fails without.
  MakeRoom(env, options);
  CAIRN_RETURN_IF_ERROR(EmptyLogs(env, logs));
  return SyncFoundLogs(env, options.directory);
}

// Where another process has the store open, nothing is looked at, or changed. What a crash has left in the folder for temporary files goes before
// anything is written: it may be what fills the disk.
Status PrepareFiles(rocks::Env* env, const StoreOptions& options) {
  rocks::FileLock* lock = nullptr;
  if (const rocks::Status locked = env->LockFile(options.directory + "/LOCK", &lock); !locked.ok()) {
    return OpenError(env, options.directory, locked);
  }
  Warn(options, "cannot empty the folder for temporary files: ", EmptyTemporaryFolder(env, options.directory));
  Status status = PrepareLogs(env, options);
  const rocks::Status unlocked = env->UnlockFile(lock);
  if (status.ok()) status = FromRocks(unlocked);
  return status.ok() ? std::move(status) : OpenError(env, options.directory, status);
}

bool ExpertPacesCompactions(const std::string& family_options) {
  constexpr std::string_view kOurs[] = {"level0_file_num_compaction_trigger", "max_bytes_for_level_base",
                                        "disable_auto_compactions", "level0_slowdown_writes_trigger",
                                        "level0_stop_writes_trigger"};
  return std::any_of(std::begin(kOurs), std::end(kOurs),
                     [&](std::string_view name) { return family_options.find(name) != std::string::npos; });
}

bool ExpertSizesMemtables(const std::string& family_options) {
  return family_options.find("write_buffer") != std::string::npos || family_options.find("memtable_factory") != std::string::npos;
}

// What was replayed is in files, but with two-phase commit RocksDB finds out only at the end of a flush which logs nobody
// needs, and of those an earlier process wrote only when it looks at the whole directory. So a deletion of nothing is
// flushed (decision 32). It needs no log, as nothing is lost with it, so that no log can fail. Logs of prepared
// transactions, and younger ones, stay.
rocks::Status DeleteReplayedLogs(rocks::DB* root, rocks::ColumnFamilyHandle* dictionary) {
  rocks::WriteOptions write;
  write.disableWAL = true;
  write.no_slowdown = true;
  rocks::FlushOptions flush;
  flush.allow_write_stall = true;  // does not wait for compactions
  rocks::Status status = root->Delete(write, dictionary, rocks::Slice());
  if (status.ok()) status = root->Flush(flush, dictionary);
  if (status.ok()) status = root->DisableFileDeletions();
  if (status.ok()) status = root->EnableFileDeletions();  // looks at the whole directory
  return status;
}

// Of a store just opened.
void DeleteOldLogs(const StoreOptions& options, const WriteGateKeeper& gate, rocks::DB* root, rocks::ColumnFamilyHandle* dictionary) {
  // A damaged one, too: as long as it is there, who does not live with damage cannot start.
  const bool is_worth_it = LivesWithDamage(options) || LogBytes(root->GetEnv(), options.directory) >= kReplayedLogBytesMin;
  if (gate.state() != WriteGate::kOpen || !is_worth_it) return;
  Warn(options, "cannot delete logs that were replayed: ", FromRocks(DeleteReplayedLogs(root, dictionary)));
}

}  // namespace

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Store::~Store() { (void)Close(); }

rocks::Env* Store::Impl::PrepareEnv(const StoreOptions& options) {
  if (options.environment != nullptr) return options.environment->rocks_env();
  spare_descriptors = std::make_shared<SpareDescriptors>();
  env = NewSparingEnv(spare_descriptors);
  return env.get();
}

void Store::Impl::PreparePaces(const StoreOptions& options, RocksOptions* derived) {
  load_pace = LoadPace(derived->data.write_buffer_size, options.load_bytes_min);
  memtables = derived->memtables;
  usual_buffers = UsualWriteBuffers(options.memory_bytes);
  const bool resizes = memtables != nullptr && !ExpertSizesMemtables(options.expert_family_options);
  load_buffers = resizes ? LoadWriteBuffers(options.memory_bytes) : usual_buffers;
  if (ExpertPacesCompactions(options.expert_family_options)) return;
  level0_files_usual = static_cast<uint64_t>(derived->data.level0_file_num_compaction_trigger);
  base_bytes_usual = derived->data.max_bytes_for_level_base;
  derived->data.disable_auto_compactions = true;  // until BeginCompactions()
}

Status Store::Open(const StoreOptions& options, std::unique_ptr<Store>* store) {
  store->reset();
  if (options.memory_bytes < kMemoryBytesMin) {
    return WithDirectory(options.directory, Status::Code::kInvalidArgument,
                         "a memory budget of " + std::to_string(options.memory_bytes) + " bytes is too small");
  }
  auto impl = std::make_unique<Impl>();
  rocks::Env* const env = impl->PrepareEnv(options);
  if (Status format = CheckFormatFile(env, options.directory, options.create_if_missing); !format.ok()) {
    return OpenError(env, options.directory, format);
  }
  CAIRN_RETURN_IF_ERROR(PrepareFiles(env, options));
  const bool in_memory = options.environment != nullptr;
  const std::shared_ptr<rocks::SstFileManager> files = MakeFileManager(env, in_memory ? 0 : kDeleteBytesPerSecond);
  const auto compactions = std::make_shared<RunningCompactions>(files);
  impl->compactions = compactions;
  impl->directory = options.directory;
  impl->log = options.log;
  impl->protection_bytes_per_key = options.paranoid ? 8 : 0;
  impl->cores = std::max(options.cores, 1u);
  impl->memory_bytes = options.memory_bytes;
  impl->gate = std::make_shared<WriteGateKeeper>(
      WriteGateKeeper::Options{options.directory, ReserveBytes(options), options.log, options.on_wal_failure, impl->spare_descriptors}, env, files,
      compactions);

  impl->damaged_files = std::make_shared<DamagedFiles>(options.log);
  impl->held_indexes = std::make_shared<HeldIndexes>(std::max(options.memory_bytes / kHeldIndexesShare, kHeldIndexesBytesMin));
  impl->log_release = std::make_shared<LogRelease>();
  impl->log_order = std::make_shared<LogOrder>(impl->gate);
  std::vector<std::shared_ptr<rocks::EventListener>> listeners = {impl->gate,         compactions,       impl->damaged_files,
                                                                  impl->held_indexes, impl->log_release, impl->log_order};
  if (impl->spare_descriptors != nullptr) listeners.push_back(impl->spare_descriptors);
  RocksOptions derived;
  if (Status status = DeriveRocksOptions(options, env, files, std::move(listeners), &derived);
      !status.ok()) {
    return WithDirectory(options.directory, status.code(), status.message());
  }
  impl->open_files = std::make_unique<OpenFiles>(options.expert_db_options, options.log);
  impl->open_files->Prepare(env, options.directory, &derived.db);
  impl->statistics = derived.db.statistics;
  impl->PreparePaces(options, &derived);

  std::vector<rocks::ColumnFamilyHandle*> handles;
  rocks::TransactionDB* db = nullptr;
  // Compactions begin before the store is open; the files that are there count from then on.
  impl->gate->CheckFreeSpace();
  if (const rocks::Status status = OpenDatabase(options, derived, &handles, &db); !status.ok()) {
    if (FromRocks(status).Is(Status::Code::kNoSpace)) MakeRoomAgain(env, options);
    return OpenError(env, options.directory, status);
  }
  impl->db.reset(db);
  impl->root = db->GetRootDB();
  impl->log_order->Watch(impl->root);
  std::copy(handles.begin(), handles.end(), impl->handles.begin());
  impl->compaction_hold = std::make_unique<CompactionHold>(impl->root, handles[static_cast<size_t>(Family::kData)]);
  impl->gate->CheckFreeSpace();
  std::unique_ptr<Store> opened(new Store(std::move(impl)));
  if (Status checked = options.check ? options.check(*opened) : Status::Ok(); !checked.ok()) {
    return OpenError(env, options.directory, checked);
  }
  DeleteOldLogs(options, *opened->impl_->gate, opened->impl_->root, handles[static_cast<size_t>(Family::kDictionary)]);
  if (Status finished = PendingLoad::FinishLoads(*opened, GivesUpDamagedLoads(options)); !finished.ok()) {
    return OpenError(env, options.directory, finished);
  }
  if (Status begun = opened->BeginCompactions(); !begun.ok()) {
    return OpenError(env, options.directory, begun);
  }
  *store = std::move(opened);
  return Status::Ok();
}

Status Store::Close() {
  if (impl_->db == nullptr) return Status::Ok();
  rocks::CancelAllBackgroundWork(impl_->root, /*wait=*/true);
  // What was acknowledged with less than kSync would survive this process anyway; after an orderly
  // close it survives loss of power too.
  const rocks::Status synced = impl_->root->SyncWAL();
  impl_->log_order->Watch(nullptr);
  impl_->held_indexes->ReleaseAll();
  for (rocks::ColumnFamilyHandle*& handle : impl_->handles) {
    if (handle == nullptr) continue;
    impl_->db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    handle = nullptr;
  }
  const rocks::Status closed = impl_->db->Close();
  impl_->db.reset();
  impl_->root = nullptr;
  return FromRocks(closed.ok() ? synced : closed);
}

}  // namespace cairn::store

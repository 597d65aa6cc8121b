// SPDX-License-Identifier: GPL-2.0-only
// Sorted entries as whole files.
#include "store/sorted_load.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include "base/clock.h"
#include "store/entry_limits.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"
#include "store/temp_file.h"

namespace cairn::store {

// Compression is two thirds of the work of a load; more threads than this have nothing left to do beside one that sorts.
constexpr unsigned kCompressionThreadsMax = 4;
// Where files are to be few, after so many they are twice as large, up to eight times: for a file's filter RocksDB keeps 8 to 16 bytes of
// memory for each entry until the file ends. Only a load that would else have more files than level 0 has places at once, and go row by
// row through a memory that it does not fit into either, doubles on in its last ones.
constexpr size_t kFilesBeforeDoubling = 8;
constexpr size_t kDoublingsUsual = 3;
constexpr size_t kFilesOfUsualSize = 120;

static size_t DoublingsAfter(size_t files, bool all_at_once) {
  const size_t late = all_at_once && files > kFilesOfUsualSize ? (files - kFilesOfUsualSize) / kFilesBeforeDoubling : 0;
  return std::min(files / kFilesBeforeDoubling, kDoublingsUsual) + late;
}

// Of the store's budget, for the filter of a file that is larger than the usual one.
constexpr uint64_t kFilterShare = 64;
constexpr uint64_t kFilterBytesMin = uint64_t{4} << 20;

// Who waits for places in level 0 looks for them so often.
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);

// After so many bytes of entries the gate is asked again. What counts there is how many bytes they have become in the file.
constexpr uint64_t kBytesBetweenAsking = uint64_t{1} << 20;

class SortedLoad::Writer {
 public:
  Writer(rocks::DB* db, rocks::ColumnFamilyHandle* family, unsigned compression_threads)
      : options(WithCompressionThreads({db->GetDBOptions(), db->GetOptions(family)}, compression_threads)),
        file(rocks::EnvOptions(options), options, family, /*invalidate_page_cache=*/false) {}

  // RocksDB wakes those threads only while the writing one waits for them.
  static rocks::Options WithCompressionThreads(rocks::Options options, unsigned threads) {
    options.compression_opts.parallel_threads = threads;
    options.bottommost_compression_opts.parallel_threads = threads;
    return options;
  }

  ~Writer() {
    if (end_.joinable()) end_.join();
  }

  // By a thread of its own, or, if the system has none left, at once.
  void BeginEnd() {
    const auto end = [this] { end_status_ = file.Finish(&ended); };
    try {
      end_ = std::thread(end);
    } catch (const std::system_error&) {
      end();
    }
  }
  rocks::Status WaitForEnd() {
    if (end_.joinable()) end_.join();
    return end_status_;
  }

  // Before each entry is written. How small it becomes is not known then, and it may be a large one.
  Status AdmitEntry(WriteGateKeeper& gate, uint64_t bytes) {
    unasked_bytes_ += bytes;
    if (unasked_bytes_ < kBytesBetweenAsking) return Status::Ok();
    unasked_bytes_ = 0;
    return AdmitFile(gate, file.FileSize() + bytes);
  }
  // Counts what the file has on the disk as written, as far as it has not been counted.
  Status AdmitFile(WriteGateKeeper& gate, uint64_t file_bytes) {
    const uint64_t more_bytes = file_bytes > admitted_bytes_ ? file_bytes - admitted_bytes_ : 0;
    admitted_bytes_ += more_bytes;
    return gate.Admit(Urgency::kNormal, more_bytes);
  }

  rocks::Options options;
  rocks::SstFileWriter file;
  rocks::ExternalSstFileInfo ended;  // after WaitForEnd()
  uint64_t entries = 0;

 private:
  std::thread end_;
  rocks::Status end_status_;
  uint64_t admitted_bytes_ = 0;  // of the file
  uint64_t unasked_bytes_ = 0;   // of entries
};

SortedLoad::SortedLoad(Store& store, Family family, SortedLoadOptions options)
    : store_(store),
      family_(family),
      options_(options),
      filter_bytes_max_(options.filter_bytes_max != 0 ? options.filter_bytes_max
                                                      : std::max(store.impl_->memory_bytes / kFilterShare, kFilterBytesMin)) {}

SortedLoad::~SortedLoad() {
  writer_.reset();
  ending_.reset();
  Delete(paths_);
}

void SortedLoad::Delete(const std::vector<std::string>& paths) {
  rocks::Env* const env = store_.impl_->root->GetEnv();
  for (const std::string& path : paths) env->DeleteFile(path).PermitUncheckedError();
}

Status SortedLoad::OpenFile() {
  CAIRN_RETURN_IF_ERROR(store_.impl_->gate->Admit(Urgency::kNormal, 0));
  const unsigned compression_threads = std::max(std::min(store_.impl_->cores, kCompressionThreadsMax) / options_.loads_at_once, 1u);
  writer_ = std::make_unique<Writer>(store_.impl_->root, store_.Handle(family_), compression_threads);
  const size_t doublings = options_.few_files ? DoublingsAfter(paths_.size(), options_.all_at_once) : 0;
  file_bytes_max_ = writer_->options.target_file_size_base << doublings;
  std::string path;
  CAIRN_RETURN_IF_ERROR(NewTemporaryPath(store_.impl_->root->GetEnv(), store_.directory(), ".sst", &path));
  paths_.push_back(std::move(path));
  return FromRocks(writer_->file.Open(paths_.back()));
}

// Large, or larger than the usual one and with many entries. Those of narrow rows are a few bytes in a file, and more in its filter's memory.
bool SortedLoad::IsFull() const {
  const uint64_t bytes = writer_->file.FileSize();
  if (bytes >= file_bytes_max_) return true;
  if (options_.all_at_once || bytes < writer_->options.target_file_size_base) return false;
  return writer_->entries * kFilterBytesPerEntry > filter_bytes_max_;
}

// One at a time, so that the memory for filters does not grow with the number of a load's files. It does with the number of loads.
Status SortedLoad::CutFile() {
  if (writer_ == nullptr) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(WaitForEnd());
  ending_ = std::move(writer_);
  ending_->BeginEnd();
  return Status::Ok();
}

Status SortedLoad::WaitForEnd() {
  if (ending_ == nullptr) return Status::Ok();
  const std::unique_ptr<Writer> ending = std::move(ending_);
  CAIRN_RETURN_IF_ERROR(FromRocks(ending->WaitForEnd()));
  ends_.emplace_back(ending->ended.smallest_key, ending->ended.largest_key);
  return ending->AdmitFile(*store_.impl_->gate, ending->ended.file_size);  // with its filter and index, which are written at its end
}

Status SortedLoad::Finish() {
  CAIRN_RETURN_IF_ERROR(CutFile());
  return WaitForEnd();
}

Status SortedLoad::Add(ByteView key, ByteView value) {
  CAIRN_RETURN_IF_ERROR(CheckEntry(key, value));
  if (writer_ == nullptr) CAIRN_RETURN_IF_ERROR(OpenFile());
  CAIRN_RETURN_IF_ERROR(writer_->AdmitEntry(*store_.impl_->gate, key.size() + value.size()));
  CAIRN_RETURN_IF_ERROR(FromRocks(writer_->file.Put(ToSlice(key), ToSlice(value))));
  ++writer_->entries;
  return IsFull() ? CutFile() : Status::Ok();
}

// Of the wanted places of level 0 those that are free, and that nobody else counts on: they are counted on for as long as it lives. But no
// more than half of them, as a PendingLoad may come meanwhile, which needs all of its places at once.
class SortedLoad::Places {
 public:
  Places(const Store& store, std::atomic<uint64_t>& reserved, uint64_t wanted) : reserved_(reserved) {
    uint64_t others = reserved_.load();
    do {
      // After the others: what they have taken since is not free any more.
      const uint64_t free = store.FreeLevel0Places();
      const uint64_t left = free - std::min(free, others);
      count_ = std::min(wanted, left - left / 2);
    } while (!reserved_.compare_exchange_weak(others, others + count_));
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  ~Places() { reserved_.fetch_sub(count_); }

  uint64_t count() const { return count_; }

 private:
  std::atomic<uint64_t>& reserved_;
  uint64_t count_ = 0;
};

Status SortedLoad::Ingest(const std::function<bool()>& interrupted) {
  CAIRN_RETURN_IF_ERROR(Finish());
  uint64_t waits_since_us = SteadyTimeUs();
  while (!paths_.empty()) {
    // Also while it waits: where compactions have no room, none would make a place.
    if (store_.write_gate() != WriteGate::kOpen) CAIRN_RETURN_IF_ERROR(store_.WriteGateStatus());
    const uint64_t wanted = by_copies_ ? 1 : paths_.size();
    const Places places(store_, store_.impl_->reserved_level0_places, wanted);
    const bool has_places = places.count() != 0;
    if ((!has_places || by_copies_) && interrupted && interrupted()) return Status::Of(Status::Code::kInterrupted);
    if (!has_places && SteadyTimeUs() - waits_since_us < options_.place_wait_us_max) {
      std::this_thread::sleep_for(kBetweenLooks);
      continue;
    }
    CAIRN_RETURN_IF_ERROR(TakeOver(has_places ? places.count() : wanted));
    if (has_places) waits_since_us = SteadyTimeUs();  // else the rest is not waited for anew
  }
  return Status::Ok();
}

// The first so many files, all at once. By links; or by copies where the file system has none, which some tell like any other failure, as FAT:
// then the first alone, as what is copied is there twice until it is taken over.
Status SortedLoad::TakeOver(size_t files) {
  CAIRN_RETURN_IF_ERROR(store_.LimitOpenFiles(files));
  std::vector<std::string> paths(paths_.begin(), paths_.begin() + static_cast<ptrdiff_t>(files));
  std::unique_ptr<rocks::FileIngestionHandle> staged;
  if (!by_copies_) {
    Status linked = Stage(paths, &staged);
    by_copies_ = linked.Is(Status::Code::kIoError) || linked.Is(Status::Code::kNotSupported);
    if (!by_copies_) CAIRN_RETURN_IF_ERROR(std::move(linked));
  }
  if (by_copies_) {
    paths.resize(1);
    CAIRN_RETURN_IF_ERROR(AdmitCopy(paths.front()));
    CAIRN_RETURN_IF_ERROR(Stage(paths, &staged));
  }
  {
    const WriteGateKeeper::TakingOver taking_over(*store_.impl_->gate);
    CAIRN_RETURN_IF_ERROR(FromRocks(store_.impl_->root->CommitFileIngestionHandle(std::move(staged))));
  }
  Delete(paths);  // those that were copied are still there
  const auto taken = static_cast<ptrdiff_t>(paths.size());
  paths_.erase(paths_.begin(), paths_.begin() + taken);
  ends_.erase(ends_.begin(), ends_.begin() + taken);
  return Status::Ok();
}

Status SortedLoad::AdmitCopy(const std::string& path) {
  uint64_t bytes = 0;
  CAIRN_RETURN_IF_ERROR(FromRocks(store_.impl_->root->GetEnv()->GetFileSize(path, &bytes)));
  return store_.impl_->gate->Admit(Urgency::kNormal, bytes);
}

Status SortedLoad::Stage(const std::vector<std::string>& paths, std::unique_ptr<rocks::FileIngestionHandle>* staged) {
  rocks::IngestExternalFileOptions options;
  options.move_files = !by_copies_;
  options.failed_move_fall_back_to_copy = false;  // RocksDB would not ask whether there is room
  // No reader of an older snapshot knows these keys, and sequence number 0 needs no flush.
  options.snapshot_consistency = false;
  return FromRocks(store_.impl_->root->PrepareFileIngestion(store_.Handle(family_), paths, options, staged));
}

class LoadReader::File {
 public:
  explicit File(const rocks::Options& options) : reader(options) {}

  rocks::SstFileReader reader;
  std::unique_ptr<rocks::Iterator> rows;
};

LoadReader::LoadReader(const SortedLoad& load) : load_(load) {}
LoadReader::~LoadReader() = default;

Status LoadReader::OpenFile(size_t number) {
  const Store& store = load_.store_;
  number_ = number;
  file_ = std::make_unique<File>(
      rocks::Options(store.impl_->root->GetDBOptions(), store.impl_->root->GetOptions(store.Handle(load_.family_))));
  CAIRN_RETURN_IF_ERROR(FromRocks(file_->reader.Open(load_.paths_[number])));
  rocks::ReadOptions options;
  options.fill_cache = false;
  options.total_order_seek = true;
  file_->rows.reset(file_->reader.NewIterator(options));
  return Status::Ok();
}

// Goes on to the next file that has an entry.
Status LoadReader::SkipEnds() {
  while (file_ != nullptr && !file_->rows->Valid()) {
    CAIRN_RETURN_IF_ERROR(FromRocks(file_->rows->status()));
    file_.reset();
    if (number_ + 1 == load_.paths_.size()) break;
    CAIRN_RETURN_IF_ERROR(OpenFile(number_ + 1));
    file_->rows->SeekToFirst();
  }
  return Status::Ok();
}

Status LoadReader::SeekToFirst() {
  file_.reset();
  if (load_.paths_.empty()) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(OpenFile(0));
  file_->rows->SeekToFirst();
  return SkipEnds();
}

bool LoadReader::Valid() const { return file_ != nullptr; }
ByteView LoadReader::key() const { return ToView(file_->rows->key()); }
ByteView LoadReader::value() const { return ToView(file_->rows->value()); }

Status LoadReader::Next() {
  file_->rows->Next();
  return SkipEnds();
}

Status LoadReader::Get(ByteView key, std::string* value) {
  for (size_t number = 0; number < load_.paths_.size(); ++number) {
    CAIRN_RETURN_IF_ERROR(OpenFile(number));
    file_->rows->Seek(ToSlice(key));
    CAIRN_RETURN_IF_ERROR(FromRocks(file_->rows->status()));
    if (!file_->rows->Valid() || this->key() != key) continue;
    *value = this->value();
    return Status::Ok();
  }
  return Status::Of(Status::Code::kNotFound);
}

}  // namespace cairn::store

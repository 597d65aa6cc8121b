// SPDX-License-Identifier: GPL-2.0-only
// Damaged files bear the mark that RocksDB gives those of a running compaction (FileMetaData::being_compacted, under its mutex).
#include "store/damaged_files.h"

#include <algorithm>
#include <vector>

#include "db/column_family.h"
#include "db/compaction/compaction_picker.h"
#include "db/db_impl/db_impl.h"
#include "db/version_set.h"
#include "file/filename.h"

#include "base/clock.h"
#include "base/endian.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

// Of a compaction whose error names no file any of its files may be it. Those that merge the whole store are no help then.
constexpr size_t kSuspectsMax = 64;

// Level 0 goes down as a whole, and RocksDB does not look whether its files, or those that it meets, bear a mark, as no two compactions go
// down from there at once. So one seems to, for as long as a mark is there; RocksDB counts these, and follows none.
rocks::Compaction* SeemingCompaction() {
  alignas(std::max_align_t) static char nothing;
  return reinterpret_cast<rocks::Compaction*>(&nothing);
}

std::string BaseName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// Those that the error names.
std::vector<uint64_t> NumbersOfDamaged(const std::string& error, std::span<const std::string> inputs) {
  std::vector<uint64_t> named, all;
  for (const std::string& input : inputs) {
    const uint64_t number = rocks::TableFileNameToNumber(input);
    all.push_back(number);
    if (error.find(BaseName(input)) != std::string::npos) named.push_back(number);
  }
  return named.empty() && all.size() <= kSuspectsMax ? all : named;
}

// Of the data family's keys, which begin with the index.
std::string IndexesOf(const rocks::FileMetaData& file) {
  const rocks::Slice first = file.smallest.user_key(), last = file.largest.user_key();
  if (std::min(first.size(), last.size()) < sizeof(uint32_t)) return "";
  const uint32_t from = LoadBe32(first.data()), to = LoadBe32(last.data());
  return from == to ? "index " + std::to_string(from) : "indexes " + std::to_string(from) + " to " + std::to_string(to);
}

// Calls `change` for a family while none of its files is chosen, and has RocksDB reckon anew which level is due.
template <typename Change>
void ChangeMarks(rocks::DB* db, uint32_t family, const Change& change) {
  auto* const impl = static_cast<rocks::DBImpl*>(db->GetRootDB());
  const rocks::InstrumentedMutexLock lock(impl->mutex());
  rocks::ColumnFamilyData* const data = impl->GetVersionSet()->GetColumnFamilySet()->GetColumnFamily(family);
  if (data == nullptr) return;
  rocks::VersionStorageInfo& storage = *data->current()->storage_info();
  change(storage, *data->compaction_picker()->level0_compactions_in_progress());
  storage.ComputeCompactionScore(data->ioptions(), data->GetLatestMutableCFOptions(), data->GetFullHistoryTsLow());
}

// Gives those that were marked, with what they hold. A file that another compaction has taken meanwhile is left to it: it will come upon
// the same.
std::vector<std::pair<uint64_t, std::string>> Mark(rocks::DB* db, uint32_t family, std::span<const uint64_t> numbers) {
  std::vector<std::pair<uint64_t, std::string>> marked;
  ChangeMarks(db, family, [&](const rocks::VersionStorageInfo& storage, std::set<rocks::Compaction*>& from_level0) {
    for (int level = 0; level < storage.num_levels(); ++level) {
      for (rocks::FileMetaData* const file : storage.LevelFiles(level)) {
        const uint64_t number = file->fd.GetNumber();
        if (file->being_compacted || std::ranges::find(numbers, number) == numbers.end()) continue;
        file->being_compacted = true;
        if (level == 0 || level == storage.base_level()) from_level0.insert(SeemingCompaction());
        marked.emplace_back(number, family == 0 ? IndexesOf(*file) : "");
      }
    }
  });
  return marked;
}

// `numbers`: all that are marked in the family.
void TakeMarksAway(rocks::DB* db, uint32_t family, const std::set<uint64_t>& numbers) {
  ChangeMarks(db, family, [&](rocks::VersionStorageInfo& storage, std::set<rocks::Compaction*>& from_level0) {
    from_level0.erase(SeemingCompaction());
    for (int level = 0; level < storage.num_levels(); ++level) {
      storage.ResetNextCompactionIndex(level);  // files that were passed over come again
      for (rocks::FileMetaData* const file : storage.LevelFiles(level)) {
        if (numbers.contains(file->fd.GetNumber())) file->being_compacted = false;
      }
    }
  });
}

}  // namespace

void DamagedFiles::OnCompactionCompleted(rocks::DB* db, const rocks::CompactionJobInfo& compaction) {
  NoteCompaction(db, compaction.cf_id, compaction.status, compaction.input_files);
}

void DamagedFiles::NoteCompaction(rocks::DB* db, uint32_t family, const rocks::Status& status, std::span<const std::string> inputs) {
  if (!IsUnreadable(status)) return;
  const std::string error = status.ToString();
  const std::lock_guard lock(mutex_);
  std::string files;
  if (taken_count_.load() == 0) {
    for (const auto& [number, indexes] : Mark(db, family, NumbersOfDamaged(error, inputs))) {
      if (aside_[{db, family}].insert(number).second) count_.fetch_add(1, std::memory_order_relaxed);
      files += (files.empty() ? "" : ", ") + rocks::MakeTableFileName(number) + (indexes.empty() ? "" : " (" + indexes + ")");
    }
    last_found_us_ = SteadyTimeUs();
  }
  std::string reason = "compactions cannot read what is damaged: " + error;
  const bool is_told = taken_count_.load() != 0 && reason_.message() == reason;  // RocksDB tries again each second
  reason_ = Status(Status::Code::kReadOnly, std::move(reason));
  if (log_ == nullptr || is_told) return;
  log_->Log(LogLevel::kError, "a compaction has come upon damage and changed nothing: " + error +
                                  (files.empty() ? "" : "; set aside, so that others go on: " + files) +
                                  ". CHECK TABLE tells which tables it is in; docs/errors.md tells what to do");
}

void DamagedFiles::LetGo() {
  if (count() == 0) return;
  const std::lock_guard lock(mutex_);
  LetGoAll();
}

bool DamagedFiles::LetGoAfter(uint64_t age_us, uint64_t now_us) {
  if (count() == 0) return false;
  const std::lock_guard lock(mutex_);
  if (now_us < last_found_us_ + age_us) return false;
  LetGoAll();
  return true;
}

void DamagedFiles::TakeAll() {
  const std::lock_guard lock(mutex_);
  taken_count_.fetch_add(1);
  LetGoAll();
}

void DamagedFiles::LetGoAll() {
  for (const auto& [family, numbers] : aside_) TakeMarksAway(family.first, family.second, numbers);
  aside_.clear();
  count_.store(0, std::memory_order_relaxed);
}

Status DamagedFiles::reason() const {
  const std::lock_guard lock(mutex_);
  return Status(reason_.code(), std::string(reason_.message()));
}

}  // namespace cairn::store

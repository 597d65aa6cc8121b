// SPDX-License-Identifier: GPL-2.0-only
// What a range has in memtables and files, counted by where its ends lie in each.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/in_place_list.h"
#include "store/current_version.h"
#include "store/file_index.h"
#include "store/file_run.h"
#include "store/key_lists.h"
#include "store/memtable_access.h"
#include "store/prefix_filter.h"
#include "store/range_position.h"
#include "store/rocks_status.h"
#include "store/store.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

// Of a range that is not listed whole, so many keys of each source tell how many rows entries make.
constexpr size_t kSampledKeys = 32;

// The descents of an estimate cost as much as walking over so many entries of a memtable.
constexpr uint64_t kWalkedMax = 16;

// Where all sources beside the largest have no more than this part of its entries, it makes little difference what they are.
constexpr uint64_t kUnseenPart = 8;

const rocks::ReadOptions& HowToRead() {
  static const rocks::ReadOptions read = [] {
    rocks::ReadOptions options;
    options.total_order_seek = true;
    options.io_activity = rocks::Env::IOActivity::kDBIterator;
    return options;
  }();
  return read;
}

// One range in the sources of a version.
class RangeSources {
 public:
  RangeSources(const CurrentVersion& version, const FamilySource& source, const KeyRange& range)
      : version_(version), source_(source), bounds_(range.begin, range.end) {}

  bool Count(PositionCount* count) {
    FileRuns runs;
    if (!FindRuns(&runs)) return false;
    if (!AddMemtables() || !AddRuns(runs)) return false;
    count->entries = found_.entries;
    count->bytes_between = found_.bytes_between;
    const bool is_settled = memtable_count_ == 0 && runs_found_ <= 1 && !has_deletions_;
    if (is_settled && !has_versions_) {
      count->exact = count->bytes_between == 0;
      return true;
    }
    const bool is_short = count->entries <= KeyLists::kKeysMax && count->bytes_between == 0;
    for (size_t i = 0; i < memtable_count_; ++i) count->entries += EstimateMemtable(memtables_[i], is_short);
    if (count->entries <= KeyLists::kKeysMax && count->bytes_between == 0) return List(KeyLists::kKeysMax, count);
    // Versions of settled rows are few.
    const uint64_t beside_largest = count->entries + found_.roughly_between - largest_run_;
    if (is_settled || (beside_largest <= largest_run_ / kUnseenPart && !has_many_deletions_)) return true;
    const size_t source_count = memtable_count_ + files_.size();
    if (source_count == 0) return false;  // blocks between ends that have nothing: damage
    return List(std::min(kSampledKeys, KeyLists::kKeysMax / source_count), count);
  }

 private:
  static constexpr size_t kMemtablesMax = 4;
  static constexpr size_t kFilesMax = KeyLists::kListsMax - kMemtablesMax;

  struct Memtable {
    const MemtableTree* tree;
    MemtableTree::Position first;  // in the range
  };
  struct File {
    FileIndex index;
    std::optional<RangePosition> position;
    bool has_versions = false;  // there may be some of one key
  };

  // Without those that filters tell a walk to pass by (VisibleIterator): their blocks would be read for this count alone.
  bool FindRuns(FileRuns* runs) const {
    const bool are_few = FindFileRuns(*version_, bounds_.lower(), bounds_.upper(), runs);
    if (are_few && runs->count <= 1) return true;
    rocks::ReadOptions read = HowToRead();
    const rocks::Slice lower(bounds_.lower().data(), bounds_.lower().size());
    const rocks::Slice upper(bounds_.upper().data(), bounds_.upper().size());
    read.iterate_lower_bound = &lower;
    if (!upper.empty()) read.iterate_upper_bound = &upper;
    const PrefixFilter filter(source_, *version_, read);
    return filter.is_alike() ? FilterFileRuns(*version_, bounds_.lower(), bounds_.upper(), filter, are_few, runs) : are_few;
  }

  bool IsInRange(const MemtableTree::Position& position) const {
    if (position.entry == nullptr) return false;
    const EntryKey key = EntryKey::Of(position.entry);
    return ByteView(key.data, key.size) < bounds_.upper();
  }

  bool AddMemtables() {
    if (!AddMemtable(*version_->mem)) return false;
    return std::ranges::all_of(OlderMemtables(*version_), [this](const auto* memtable) { return AddMemtable(*memtable); });
  }
  bool AddMemtable(const rocks::ReadOnlyMemTable& memtable) {
    if (memtable.IsEmpty()) return true;
    const MemtableTree* const tree = HasPlainEntriesOnly(memtable) ? TreeOf(memtable) : nullptr;
    if (tree == nullptr) return false;
    Memtable found{.tree = tree, .first = {}};
    tree->FindAtLeast(Target(bounds_.internal_lower()), &found.first);
    if (!IsInRange(found.first)) return true;
    if (memtable_count_ == kMemtablesMax) return false;
    memtables_[memtable_count_++] = found;
    return true;
  }
  static MemtableTarget Target(ByteView internal_key) { return MemtableTarget(EntryKey::OfInternal(internal_key)); }
  // A few entries of a range that may be short are walked over, as they will be listed.
  uint64_t EstimateMemtable(const Memtable& memtable, bool may_be_short) const {
    MemtableTree::Position at = memtable.first;
    for (uint64_t walked = 0; may_be_short && walked < kWalkedMax; memtable.tree->Next(&at), ++walked) {
      if (!IsInRange(at)) return walked;
    }
    return std::max<uint64_t>(1, memtable.tree->EstimateBetween(Target(bounds_.internal_lower()), Target(bounds_.internal_upper())));
  }

  static bool Differ(const RangePosition::Found& now, const RangePosition::Found& before) {
    return now.entries != before.entries || now.bytes_between != before.bytes_between;
  }
  bool AddRuns(const FileRuns& runs) {
    for (const FileRun& run : std::span(runs.runs.data(), runs.count)) {
      const RangePosition::Found before = found_;
      for (size_t i = 0; i < run.count; ++i) {
        if (i != 0 && i + 1 != run.count) {
          const uint64_t bytes = run.files[i].fd.GetFileSize();
          found_.bytes_between += bytes;
          found_.roughly_between += static_cast<uint64_t>(static_cast<double>(bytes) * entries_per_byte_);
        } else if (!AddFile(run.level, run.files[i])) {
          return false;
        }
      }
      if (Differ(found_, before)) ++runs_found_;
      largest_run_ = std::max(largest_run_, found_.entries + found_.roughly_between - before.entries - before.roughly_between);
    }
    return true;
  }
  bool AddFile(int level, const rocks::FdWithKeyRange& file) {
    if (files_.full()) return false;
    File& added = files_.Append();
    if (!added.index.Open(version_, source_.held, HowToRead(), level, *file.file_metadata)) return false;
    RangePosition& position = added.position.emplace(added.index, bounds_, HowToRead());
    const RangePosition::Found before = found_;
    if (!position.Add(&found_)) return false;
    entries_per_byte_ = static_cast<double>(position.file_entries()) / static_cast<double>(file.fd.GetFileSize());
    if (!Differ(found_, before)) {
      files_.DropLast();
      return true;
    }
    // One number for all: there is no second version of a key.
    added.has_versions = file.fd.smallest_seqno != file.fd.largest_seqno;
    has_versions_ |= added.has_versions;
    has_deletions_ |= position.has_deletions();
    has_many_deletions_ |= position.has_many_deletions();
    return true;
  }

  // Merges the first keys of each source, or all.
  bool List(size_t keys_max, PositionCount* count) {
    KeyLists lists;
    for (size_t i = 0; i < memtable_count_; ++i) {
      if (!ListMemtable(memtables_[i], keys_max, &lists)) return false;
    }
    for (File& file : files_) {
      if (!file.position->List(keys_max, file.has_versions, &lists)) return false;
    }
    const KeyLists::Rows rows = lists.Count();
    count->exact = rows.all && count->bytes_between == 0;
    if (count->exact) {
      count->entries = rows.rows;
      return true;
    }
    if (rows.entries == 0) return false;
    count->looked_entries = rows.entries;
    count->looked_rows = rows.rows;
    return true;
  }
  bool ListMemtable(const Memtable& memtable, size_t keys_max, KeyLists* lists) const {
    if (!lists->Begin(keys_max, /*has_versions=*/true)) return false;
    for (MemtableTree::Position at = memtable.first; IsInRange(at); memtable.tree->Next(&at)) {
      const EntryKey key = EntryKey::Of(at.entry);
      if (!lists->Add({key.data, key.size}, static_cast<uint8_t>(key.data[key.size]) == rocks::kTypeValue)) break;
    }
    return true;
  }

  const CurrentVersion& version_;
  const FamilySource source_;
  const RangeBounds bounds_;
  std::array<Memtable, kMemtablesMax> memtables_;  // from the newest to the oldest
  size_t memtable_count_ = 0;
  InPlaceList<File, kFilesMax> files_;  // that have something, in the same order
  RangePosition::Found found_;  // in files
  size_t runs_found_ = 0;       // that have something
  uint64_t largest_run_ = 0;    // its entries, roughly
  double entries_per_byte_ = 0;  // of the last file that was opened; the version knows it of some files only
  bool has_versions_ = false;
  bool has_deletions_ = false;
  bool has_many_deletions_ = false;
};

}  // namespace

bool Store::CountByPosition(Family family, const KeyRange& range, PositionCount* count) const {
  *count = PositionCount();
  const CurrentVersion version(impl_->root, Handle(family));
  return RangeSources(version, impl_->SourceOf(family), range).Count(count);
}

}  // namespace cairn::store

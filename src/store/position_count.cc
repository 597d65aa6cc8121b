// SPDX-License-Identifier: GPL-2.0-only
// What a range has in memtables and files, counted by where its ends lie in each.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <typeinfo>

#include "store/current_version.h"
#include "store/file_run.h"
#include "store/held_table.h"
#include "store/key_lists.h"
#include "store/memtable_access.h"
#include "store/range_position.h"
#include "store/rocks_status.h"
#include "store/store.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

// Of a range that is not listed whole, so many keys of each source tell how many rows entries make.
constexpr size_t kSampledKeys = 32;

// Where all sources beside the largest have no more than this part of its entries, it makes little difference what they are.
constexpr uint64_t kUnseenPart = 8;

// One range in the sources of a version.
class RangeSources {
 public:
  RangeSources(const CurrentVersion& version, const KeyRange& range) : version_(version), range_(range) {
    read_.total_order_seek = true;
    read_.io_activity = rocks::Env::IOActivity::kDBIterator;
  }

  bool Count(PositionCount* count) {
    FileRuns runs;
    if (!FindFileRuns(*version_, range_.begin, range_.end, &runs)) return false;
    if (!AddMemtables() || !AddRuns(runs)) return false;
    count->entries = found_.entries;
    count->bytes_between = found_.bytes_between;
    const bool is_settled = memtable_count_ == 0 && runs_found_ <= 1 && !has_deletions_;
    if (is_settled && !has_versions_) {
      count->exact = count->bytes_between == 0;
      return true;
    }
    for (size_t i = 0; i < memtable_count_; ++i) count->entries += EstimateMemtable(*memtables_[i].tree);
    if (count->entries <= KeyLists::kKeysMax && count->bytes_between == 0) return List(KeyLists::kKeysMax, count);
    // Versions of settled rows are few.
    const uint64_t beside_largest = count->entries + found_.roughly_between - largest_run_;
    if (is_settled || (beside_largest <= largest_run_ / kUnseenPart && !has_many_deletions_)) return true;
    const size_t source_count = memtable_count_ + file_count_;
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
    explicit File(const rocks::ReadOptions& read) : position(read) {}

    HeldTable table;
    RangePosition position;
  };

  bool IsInRange(const MemtableTree::Position& position) const {
    if (position.entry == nullptr) return false;
    const EntryKey key = EntryKey::Of(position.entry);
    return ByteView(key.data, key.size) < range_.end;
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
    tree->FindAtLeast(Target(range_.begin, &begin_key_), &found.first);
    if (!IsInRange(found.first)) return true;
    if (memtable_count_ == kMemtablesMax) return false;
    memtables_[memtable_count_++] = found;
    return true;
  }
  // Before all versions of the key. Refers to `bytes`.
  static MemtableTarget Target(ByteView key, ByteBuffer* bytes) {
    if (bytes->empty()) {
      bytes->Reserve(key.size() + kEntryTrailerBytes);
      bytes->Append(key);
      bytes->AppendLe64(rocks::PackSequenceAndType(rocks::kMaxSequenceNumber, rocks::kValueTypeForSeek));
    }
    return MemtableTarget(EntryKey::OfInternal(bytes->view()));
  }
  uint64_t EstimateMemtable(const MemtableTree& tree) {
    return std::max<uint64_t>(1, tree.EstimateBetween(Target(range_.begin, &begin_key_), Target(range_.end, &end_key_)));
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
    if (file_count_ == kFilesMax) return false;
    std::unique_ptr<File> further;
    if (file_count_ != 0) further = std::make_unique<File>(read_);
    File* const added = further != nullptr ? further.get() : &first_file_.emplace(read_);
    if (!added->table.Find(version_.family(), *version_, read_, level, *file.file_metadata).ok()) return false;
    const rocks::TableReader& reader = added->table.reader();
    if (typeid(reader) != typeid(rocks::BlockBasedTable)) return false;
    RangePosition& position = added->position;
    const RangePosition::Found before = found_;
    if (!position.Add(static_cast<const rocks::BlockBasedTable&>(reader), range_.begin, range_.end, &found_)) return false;
    entries_per_byte_ = static_cast<double>(position.file_entries()) / static_cast<double>(file.fd.GetFileSize());
    if (!Differ(found_, before)) return true;
    files_[file_count_] = added;
    further_files_[file_count_++] = std::move(further);
    // One number for all: there is no second version of a key.
    has_versions_ |= file.fd.smallest_seqno != file.fd.largest_seqno;
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
    for (size_t i = 0; i < file_count_; ++i) {
      if (!files_[i]->position.List(range_.begin, range_.end, keys_max, &lists)) return false;
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
    if (!lists->Begin(keys_max)) return false;
    for (MemtableTree::Position at = memtable.first; IsInRange(at); memtable.tree->Next(&at)) {
      const EntryKey key = EntryKey::Of(at.entry);
      if (!lists->Add({key.data, key.size}, static_cast<uint8_t>(key.data[key.size]) == rocks::kTypeValue)) break;
    }
    return true;
  }

  const CurrentVersion& version_;
  const KeyRange range_;
  rocks::ReadOptions read_;
  ByteBuffer begin_key_, end_key_;
  std::array<Memtable, kMemtablesMax> memtables_;  // from the newest to the oldest
  size_t memtable_count_ = 0;
  std::array<File*, kFilesMax> files_;  // that have something, in the same order
  size_t file_count_ = 0;
  std::optional<File> first_file_;  // of files_, not on the heap, as most ranges lie in one
  std::array<std::unique_ptr<File>, kFilesMax> further_files_;
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
  return RangeSources(version, range).Count(count);
}

}  // namespace cairn::store

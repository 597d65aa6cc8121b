// SPDX-License-Identifier: GPL-2.0-only
// Which memtables and files a range needs, by their filters.
#include "store/prefix_stream.h"

#include <memory>
#include <span>

#include "db/column_family.h"
#include "db/memtable.h"
#include "db/range_del_aggregator.h"
#include "db/table_cache.h"
#include "db/version_set.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/merging_iterator.h"

#include "store/held_table.h"
#include "store/rocks_status.h"
#include "store/version_files.h"

namespace cairn::store {
namespace {

// With more files of one level in the range than this, they are opened when the walk gets there.
constexpr size_t kOpenedFilesMax = 2;

// How all keys of the range begin alike.
enum class Alike {
  kNo,
  kBelowUpper,   // the upper bound comes next after all keys with the beginning
  kWithUpper,    // the upper bound begins so, too
};

Alike HowAlike(const rocks::SliceTransform* extractor, const rocks::Comparator* order,
               const rocks::ReadOptions& read) {
  if (extractor == nullptr || read.iterate_lower_bound == nullptr || read.iterate_upper_bound == nullptr) {
    return Alike::kNo;
  }
  const rocks::Slice& lower = *read.iterate_lower_bound;
  const rocks::Slice& upper = *read.iterate_upper_bound;
  if (!extractor->InDomain(lower) || !extractor->InDomain(upper)) return Alike::kNo;
  const rocks::Slice beginning = extractor->Transform(lower);
  size_t whole;
  if (!extractor->FullLengthEnabled(&whole) || beginning.size() != whole) return Alike::kNo;
  if (beginning == extractor->Transform(upper)) return Alike::kWithUpper;
  return upper.size() == whole && order->IsSameLengthImmediateSuccessor(beginning, upper) ? Alike::kBelowUpper
                                                                                           : Alike::kNo;
}

class StreamBuilder {
 public:
  StreamBuilder(rocks::ColumnFamilyData* family, rocks::SuperVersion* version, rocks::ReadOptions* read,
                uint64_t sequence, rocks::Arena* arena)
      : family_(*family), order_(family->internal_comparator()), version_(*version), read_(*read),
        lower_(ToView(*read->iterate_lower_bound)), upper_(ToView(*read->iterate_upper_bound)), sequence_(sequence),
        arena_(arena), sources_(&order_, arena, /*prefix_seek_mode=*/false, read->iterate_upper_bound) {}

  rocks::InternalIterator* Build(Alike alike) {
    AddMemtables(alike);
    const rocks::VersionStorageInfo& storage = *version_.current->storage_info();
    target_.assign(lower_);
    rocks::AppendInternalKeyFooter(&target_, rocks::kMaxSequenceNumber, rocks::kValueTypeForSeek);
    for (int level = 0; level < storage.num_non_empty_levels(); ++level) {
      AddLevel(level, storage.LevelFilesBrief(level));
    }
    rocks::InternalIterator* stream = sources_.Finish();
    return stream != nullptr ? stream : rocks::NewErrorInternalIterator<rocks::Slice>(rocks::Status::OK(), arena_);
  }

 private:
  // Memtables look into their filters at each seek, if they are opened to do so.
  void AddMemtables(Alike alike) {
    const rocks::SliceTransform* extractor = version_.mutable_cf_options.prefix_extractor.get();
    read_.total_order_seek = alike != Alike::kWithUpper;
    if (!version_.mem->IsEmpty()) {
      rocks::InternalIterator* entries = version_.mem->NewIterator(read_, version_.GetSeqnoToTimeMapping(), arena_,
                                                                   extractor, /*for_flush=*/false);
      std::unique_ptr<rocks::TruncatedRangeDelIterator> deletions;
      std::unique_ptr<rocks::FragmentedRangeTombstoneIterator> fragments(
          version_.mem->NewRangeTombstoneIterator(read_, sequence_, /*immutable_memtable=*/false));
      if (fragments != nullptr && !fragments->empty()) {
        deletions = std::make_unique<rocks::TruncatedRangeDelIterator>(std::move(fragments), &order_, nullptr, nullptr);
      }
      sources_.AddPointAndTombstoneIterator(entries, std::move(deletions));
    }
    version_.imm->AddIterators(read_, version_.GetSeqnoToTimeMapping(), extractor, &sources_,
                               /*add_range_tombstone_iter=*/true, sequence_, nullptr, nullptr);
    read_.total_order_seek = true;
  }

  void AddLevel(int level, const rocks::LevelFilesBrief& files) {
    if (level == 0) {
      for (const rocks::FdWithKeyRange& file : std::span(files.files, files.num_files)) {
        if (UserKey(file.largest_key) >= lower_ && UserKey(file.smallest_key) < upper_) AddFile(level, file);
      }
      return;
    }
    const rocks::FdWithKeyRange* const first = FirstFileFrom(files, lower_);
    const rocks::FdWithKeyRange* const level_end = files.files + files.num_files;
    const auto is_in_range = [this](const rocks::FdWithKeyRange& file) { return UserKey(file.smallest_key) < upper_; };
    const rocks::FdWithKeyRange* end = first;
    while (end != level_end && is_in_range(*end)) {
      if (++end - first <= static_cast<ptrdiff_t>(kOpenedFilesMax)) continue;
      version_.current->AddIteratorsForLevel(read_, family_.table_cache()->file_options(), &sources_, level,
                                             /*allow_unprepared_value=*/false, sequence_);
      return;
    }
    for (auto file = first; file != end; ++file) AddFile(level, *file);
  }

  void AddFile(int level, const rocks::FdWithKeyRange& file) {
    const rocks::FileMetaData& meta = *file.file_metadata;
    HeldTable table;
    const rocks::Status found = table.Find(&family_, version_, read_, level, meta);
    if (!found.ok()) {
      sources_.AddPointAndTombstoneIterator(rocks::NewErrorInternalIterator<rocks::Slice>(found, arena_), nullptr);
      return;
    }
    std::unique_ptr<rocks::TruncatedRangeDelIterator> deletions;
    std::unique_ptr<rocks::FragmentedRangeTombstoneIterator> fragments(
        table.reader().NewRangeTombstoneIterator(sequence_, /*timestamp=*/nullptr));
    if (fragments != nullptr && !fragments->empty()) {
      deletions = std::make_unique<rocks::TruncatedRangeDelIterator>(std::move(fragments), &order_, &meta.smallest,
                                                                     &meta.largest);
    }
    if (deletions == nullptr && !MayHaveBeginning(level, table.reader())) return;
    rocks::InternalIterator* entries = table.reader().NewIterator(
        read_, version_.mutable_cf_options.prefix_extractor.get(), arena_, /*skip_filters=*/true,
        rocks::TableReaderCaller::kUserIterator, family_.table_cache()->file_options().compaction_readahead_size,
        /*allow_unprepared_value=*/false);
    table.HandTo(entries);
    sources_.AddPointAndTombstoneIterator(entries, std::move(deletions));
  }

  // A file that was written with filters over other lengths is asked by its own, if the range allows.
  bool MayHaveBeginning(int level, const rocks::TableReader& reader) {
    const auto* table = dynamic_cast<const rocks::BlockBasedTable*>(&reader);
    if (table == nullptr) return true;
    rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserIterator};
    bool asked = false;
    const bool may_match =
        table->PrefixRangeMayMatch(target_, read_, version_.mutable_cf_options.prefix_extractor.get(),
                                   /*need_upper_bound_check=*/true, &lookup, &asked);
    if (asked && !may_match) {
      const bool last = level == family_.ioptions().num_levels - 1;
      rocks::RecordTick(family_.ioptions().stats,
                        last ? rocks::LAST_LEVEL_SEEK_FILTERED : rocks::NON_LAST_LEVEL_SEEK_FILTERED);
    }
    return may_match;
  }

  rocks::ColumnFamilyData& family_;
  const rocks::InternalKeyComparator& order_;
  rocks::SuperVersion& version_;
  rocks::ReadOptions& read_;
  const ByteView lower_;
  const ByteView upper_;
  const uint64_t sequence_;
  rocks::Arena* const arena_;
  rocks::MergeIteratorBuilder sources_;
  std::string target_;
};

}  // namespace

rocks::InternalIterator* NewPrefixStream(rocks::DBImpl* db, rocks::ColumnFamilyData* family,
                                         rocks::SuperVersion* version, rocks::ReadOptions* read, uint64_t sequence,
                                         rocks::Arena* arena) {
  const Alike alike =
      HowAlike(version->mutable_cf_options.prefix_extractor.get(), family->user_comparator(), *read);
  if (alike == Alike::kNo) return nullptr;
  rocks::InternalIterator* stream = StreamBuilder(family, version, read, sequence, arena).Build(alike);
  HoldVersion(stream, db, version);
  return stream;
}

}  // namespace cairn::store

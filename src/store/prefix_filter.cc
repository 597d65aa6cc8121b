// SPDX-License-Identifier: GPL-2.0-only
// Filters are asked by RocksDB, which knows what each file was written with.
#include "store/prefix_filter.h"

#include "db/dbformat.h"
#include "db/table_cache.h"
#include "monitoring/statistics_impl.h"
#include "table/block_based/block_based_table_reader.h"

#include "base/endian.h"
#include "base/ids.h"
#include "store/file_filters.h"
#include "store/held_indexes.h"
#include "store/held_table.h"

namespace cairn::store {
namespace {

// Whether all keys between the bounds have this beginning of the lower one: the upper one does, or it comes next after all such keys.
bool HaveBeginning(const rocks::Slice& beginning, const rocks::Slice& upper, const rocks::Comparator* order) {
  return upper.starts_with(beginning) ||
         (upper.size() == beginning.size() && order->IsSameLengthImmediateSuccessor(beginning, upper));
}

bool HaveLongBeginning(const rocks::ReadOptions& read, const rocks::Comparator* order) {
  const rocks::Slice& lower = *read.iterate_lower_bound;
  return lower.size() >= kLongBeginningBytes && IsOnlyWalked(IndexId(LoadBe32(lower.data()))) &&
         HaveBeginning(rocks::Slice(lower.data(), kLongBeginningBytes), *read.iterate_upper_bound, order);
}

// The same as an extractor knows beginnings.
bool BeginAlike(const rocks::SliceTransform* extractor, const rocks::Comparator* order, const rocks::ReadOptions& read) {
  if (extractor == nullptr || read.iterate_lower_bound == nullptr || read.iterate_upper_bound == nullptr) return false;
  const rocks::Slice& lower = *read.iterate_lower_bound;
  const rocks::Slice& upper = *read.iterate_upper_bound;
  if (!extractor->InDomain(lower) || !extractor->InDomain(upper)) return false;
  const rocks::Slice beginning = extractor->Transform(lower);
  size_t whole;
  if (!extractor->FullLengthEnabled(&whole) || beginning.size() != whole) return false;
  if (beginning == extractor->Transform(upper)) return true;
  return upper.size() == whole && order->IsSameLengthImmediateSuccessor(beginning, upper);
}

}  // namespace

PrefixFilter::PrefixFilter(const FamilySource& source, const rocks::SuperVersion& version, const rocks::ReadOptions& read)
    : source_(source), version_(version), read_(read) {
  if (!BeginAlike(version.mutable_cf_options.prefix_extractor.get(), source.family->user_comparator(), read)) return;
  target_.assign(read.iterate_lower_bound->data(), read.iterate_lower_bound->size());
  rocks::AppendInternalKeyFooter(&target_, rocks::kMaxSequenceNumber, rocks::kValueTypeForSeek);
  is_long_ = HaveLongBeginning(read, source.family->user_comparator());
}

// Of filters in parts the one that is asked would be that of the lower bound alone.
bool PrefixFilter::MayHaveLong(const rocks::BlockBasedTable& table, bool* asked) const {
  const rocks::BlockBasedTable::Rep& rep = *table.get_rep();
  *asked = is_long_ && rep.filter != nullptr && rep.whole_key_filtering && rep.filter_policy != nullptr &&
           rep.filter_type == rocks::BlockBasedTable::Rep::FilterType::kFullFilter && KnowLongBeginnings(*rep.filter_policy);
  if (!*asked) return true;
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserIterator};
  const rocks::Slice key(target_);
  return rep.filter->KeyMayMatch(rocks::Slice(target_.data(), kLongBeginningBytes), &key, /*get_context=*/nullptr, &lookup, read_);
}

// A file that was written with filters over other lengths is asked by its own, if the range allows.
bool PrefixFilter::MayHave(int level, const rocks::FdWithKeyRange& file) const {
  const rocks::FileMetaData& meta = *file.file_metadata;
  HeldTable opened;
  const rocks::BlockBasedTable* table;
  if (const HeldIndex* const held = source_.held->Of(meta, read_)) {
    table = &held->table();
  } else {
    // What cannot be read is for whoever walks there to report.
    if (!opened.FindWithoutRangeDeletions(source_.family, version_, read_, level, meta)) return true;
    table = opened.blocks();
    if (table == nullptr) return true;
  }
  bool asked;
  bool may_have = MayHaveLong(*table, &asked);
  if (!asked) {
    rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserIterator};
    may_have = table->PrefixRangeMayMatch(target_, read_, version_.mutable_cf_options.prefix_extractor.get(),
                                          /*need_upper_bound_check=*/true, &lookup, &asked);
  }
  if (asked && !may_have) {
    const bool last = level == source_.family->ioptions().num_levels - 1;
    rocks::RecordTick(source_.family->ioptions().stats,
                      last ? rocks::LAST_LEVEL_SEEK_FILTERED : rocks::NON_LAST_LEVEL_SEEK_FILTERED);
  }
  return may_have;
}

}  // namespace cairn::store

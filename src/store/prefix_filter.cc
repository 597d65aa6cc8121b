// SPDX-License-Identifier: GPL-2.0-only
// Filters are asked by RocksDB, which knows what each file was written with.
#include "store/prefix_filter.h"

#include <cstring>

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

// Whether all keys from one with this beginning up to the bound have it: the bound does, or it comes next after all that have it, which is the
// beginning without ff at its end, one more.
bool HaveBeginning(const rocks::Slice& beginning, const rocks::Slice& upper) {
  if (upper.starts_with(beginning)) return true;
  size_t bytes = beginning.size();
  while (bytes != 0 && beginning[bytes - 1] == '\xff') --bytes;
  return bytes != 0 && upper.size() == bytes && std::memcmp(beginning.data(), upper.data(), bytes - 1) == 0 &&
         static_cast<uint8_t>(beginning[bytes - 1]) + 1 == static_cast<uint8_t>(upper[bytes - 1]);
}

// How much all keys of a range begin alike, as our filters know walked indexes: 0, not at all.
size_t KnownBeginning(const rocks::ReadOptions& read) {
  if (read.iterate_lower_bound == nullptr || read.iterate_upper_bound == nullptr) return 0;
  const rocks::Slice& lower = *read.iterate_lower_bound;
  if (lower.size() < kFilteredPrefixBytes || !IsOnlyWalked(IndexId(LoadBe32(lower.data())))) return 0;
  for (const size_t bytes : {kLongBeginningBytes, kFilteredPrefixBytes}) {
    if (lower.size() >= bytes && HaveBeginning(rocks::Slice(lower.data(), bytes), *read.iterate_upper_bound)) return bytes;
  }
  return 0;
}

// Whether a filter has all beginnings of the keys of walked indexes. Of one in parts the part that is asked would be that of the lower bound alone.
bool KnowsBeginnings(const rocks::BlockBasedTable::Rep& table) {
  return table.filter != nullptr && table.whole_key_filtering && table.filter_policy != nullptr &&
         table.filter_type == rocks::BlockBasedTable::Rep::FilterType::kFullFilter && KnowLongBeginnings(*table.filter_policy);
}

// Whether all keys between the bounds begin alike as an extractor knows beginnings: both bounds do, or the upper one comes next.
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
    : source_(source), version_(version), read_(read), known_bytes_(KnownBeginning(read)) {
  if (known_bytes_ == 0 && !BeginAlike(version.mutable_cf_options.prefix_extractor.get(), source.family->user_comparator(), read)) return;
  target_.SetInternalKey(*read.iterate_lower_bound, rocks::kMaxSequenceNumber, rocks::kValueTypeForSeek);
}

// A file with filters of another policy is asked as RocksDB does, which is by the length it was written with and only if the range allows that.
bool PrefixFilter::Ask(const rocks::BlockBasedTable& table, bool* asked) const {
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserIterator};
  *asked = known_bytes_ != 0 && KnowsBeginnings(*table.get_rep());
  if (*asked) {
    const rocks::Slice key = target_.GetInternalKey();
    return table.get_rep()->filter->KeyMayMatch(rocks::Slice(key.data(), known_bytes_), &key, /*get_context=*/nullptr, &lookup, read_);
  }
  return table.PrefixRangeMayMatch(target_.GetInternalKey(), read_, version_.mutable_cf_options.prefix_extractor.get(),
                                   /*need_upper_bound_check=*/true, &lookup, asked);
}

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
  const bool may_have = Ask(*table, &asked);
  if (asked && !may_have) {
    const bool last = level == source_.family->ioptions().num_levels - 1;
    rocks::RecordTick(source_.family->ioptions().stats,
                      last ? rocks::LAST_LEVEL_SEEK_FILTERED : rocks::NON_LAST_LEVEL_SEEK_FILTERED);
  }
  return may_have;
}

}  // namespace cairn::store

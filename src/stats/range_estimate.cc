// SPDX-License-Identifier: GPL-2.0-only
// By position where the sources are known; elsewhere a short walk first, sizes second.
#include "stats/range_estimate.h"

#include <algorithm>
#include <array>

#include "base/index_bounds.h"

namespace cairn::stats {
namespace {

// A seek and so many steps cost about as much as reading the sizes of files and memtables.
constexpr uint64_t kWalkedMax = 24;

// Passing by more entries that make no rows takes about a millisecond. What an estimate is for often ends sooner, and nobody
// could kill it meanwhile.
constexpr uint64_t kHiddenMax = 8192;

// An open range of more than this by its sizes is not worth a walk.
constexpr uint64_t kSmallEstimate = 256;

// A sample in which fewer entries than this part make rows says little of the rest: deletions come in heaps.
constexpr uint64_t kRowsPartMin = 8;

// Counts entries, at most kWalkedMax. Where too much lies between them, they are not all.
Status Walk(const store::Store& store, ByteView lower, ByteView upper, RangeCount* count) {
  store::CursorOptions options;
  options.lower_bound = lower;
  options.upper_bound = upper;
  options.hidden_max = kHiddenMax;
  store::Cursor cursor;
  CAIRN_RETURN_IF_ERROR(store.OpenCursor(store::Family::kData, options, &cursor));
  uint64_t walked = 0;
  for (cursor.SeekToFirst(); cursor.Valid() && walked < kWalkedMax; cursor.Next()) ++walked;
  Status status = cursor.status();
  if (!status.ok() && !status.Is(Status::Code::kInterrupted)) return status;
  count->exact = !cursor.Valid() && status.ok();
  count->rows = count->exact ? walked : std::max(count->rows, walked);
  return Status::Ok();
}

// What is in files are the entries that memtables have not, or, where they have many old versions,
// its share of the bytes.
Status MeasureDensity(const store::Store& store, IndexId index, const IndexSize& size) {
  const uint64_t version = store.FilesVersion(store::Family::kData);
  if (size.density->files_version.load(std::memory_order_relaxed) == version) return Status::Ok();
  const IndexBounds bounds(index);
  const std::array<store::KeyRange, 1> whole = {store::KeyRange{bounds.lower(), bounds.upper()}};
  std::array<store::RangeEstimate, 1> found;
  CAIRN_RETURN_IF_ERROR(store.EstimateRanges(store::Family::kData, whole, found));
  const double file_bytes = static_cast<double>(found[0].file_bytes);
  const double bytes = file_bytes + static_cast<double>(found[0].memory_bytes);
  const double entries = static_cast<double>(size.entries);
  const double in_files = std::max(entries - static_cast<double>(found[0].memory_entries),
                                   bytes > 0 ? entries * file_bytes / bytes : 0.0);
  size.density->bytes_per_entry.store(file_bytes / std::max(1.0, in_files), std::memory_order_relaxed);
  size.density->files_version.store(version, std::memory_order_relaxed);
  return Status::Ok();
}

// What a count by position is worth. Where it finds so few rows that each counts, but has not seen each, these are walked over.
Status CountByPosition(const store::Store& store, IndexId index, const store::KeyRange& range,
                       const store::PositionCount& found, const IndexSize& size, RangeCount* count) {
  count->rows = found.entries;
  count->exact = found.exact;
  if (count->exact) return Status::Ok();
  double rows = static_cast<double>(found.entries);
  if (found.bytes_between != 0) {  // what a row takes in files allows for what is in memtables
    CAIRN_RETURN_IF_ERROR(MeasureDensity(store, index, size));
    const double bytes_per_entry = size.density->bytes_per_entry.load(std::memory_order_relaxed);
    if (bytes_per_entry > 0) rows += static_cast<double>(found.bytes_between) / bytes_per_entry;
  } else if (found.looked_entries != 0) {
    rows *= static_cast<double>(found.looked_rows) / static_cast<double>(found.looked_entries);
  }
  count->rows = std::max(found.looked_rows, static_cast<uint64_t>(std::min(rows, static_cast<double>(size.entries))));
  return count->rows <= kWalkedMax ? Walk(store, range.begin, range.end, count) : Status::Ok();
}

Status Estimate(const store::Store& store, IndexId index, ByteView lower, ByteView upper, const IndexSize& size,
                RangeCount* count) {
  CAIRN_RETURN_IF_ERROR(MeasureDensity(store, index, size));
  const std::array<store::KeyRange, 1> range = {store::KeyRange{lower, upper}};
  std::array<store::RangeEstimate, 1> found;
  CAIRN_RETURN_IF_ERROR(store.EstimateRanges(store::Family::kData, range, found));
  const double bytes_per_entry = size.density->bytes_per_entry.load(std::memory_order_relaxed);
  const double in_files = bytes_per_entry > 0 ? static_cast<double>(found[0].file_bytes) / bytes_per_entry : 0.0;
  const double entries = static_cast<double>(found[0].memory_entries) + in_files;
  count->rows = std::max(count->rows, static_cast<uint64_t>(std::min(entries, static_cast<double>(size.entries))));
  return Status::Ok();
}

}  // namespace

Status CountRange(const store::Store& store, IndexId index, ByteView lower, ByteView upper, const IndexSize& size,
                  RangeCount* count) {
  *count = RangeCount();
  if (lower >= upper) {
    count->exact = true;
    return Status::Ok();
  }
  store::PositionCount found;
  const store::KeyRange range{lower, upper};
  if (store.CountByPosition(store::Family::kData, range, &found) &&
      found.looked_rows * kRowsPartMin >= found.looked_entries) {
    return CountByPosition(store, index, range, found, size, count);
  }
  const bool open_above = upper == IndexBounds(index).upper();
  if (!open_above) {
    CAIRN_RETURN_IF_ERROR(Walk(store, lower, upper, count));
    if (count->exact) return Status::Ok();
  }
  CAIRN_RETURN_IF_ERROR(Estimate(store, index, lower, upper, size, count));
  return open_above && count->rows <= kSmallEstimate ? Walk(store, lower, upper, count) : Status::Ok();
}

}  // namespace cairn::stats

// SPDX-License-Identifier: GPL-2.0-only
// By position where data is settled; elsewhere a short walk first, sizes second.
#include "stats/range_estimate.h"

#include <algorithm>
#include <array>

#include "base/index_bounds.h"

namespace cairn::stats {
namespace {

// A seek and so many steps cost about as much as reading the sizes of files and memtables.
constexpr uint64_t kWalkedMax = 24;

// Keys with more versions than this are rare.
constexpr uint64_t kVersionsMax = 4;

// An open range of more than this by its sizes is not worth a walk.
constexpr uint64_t kSmallEstimate = 256;

// Counts entries, at most kWalkedMax.
Status Walk(const store::Store& store, ByteView lower, ByteView upper, RangeCount* count) {
  store::CursorOptions options;
  options.lower_bound = lower;
  options.upper_bound = upper;
  store::Cursor cursor;
  CAIRN_RETURN_IF_ERROR(store.OpenCursor(store::Family::kData, options, &cursor));
  uint64_t walked = 0;
  for (cursor.SeekToFirst(); cursor.Valid() && walked < kWalkedMax; cursor.Next()) ++walked;
  CAIRN_RETURN_IF_ERROR(cursor.status());
  count->exact = !cursor.Valid();
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

// Of settled data. Where it finds so few entries that each counts, but has not seen each row, these are walked over.
Status CountSettled(const store::Store& store, IndexId index, const store::KeyRange& range,
                    const store::SettledCount& settled, const IndexSize& size, RangeCount* count) {
  count->rows = settled.entries;
  count->exact = settled.bytes_between == 0 && !settled.has_versions;
  if (count->exact) return Status::Ok();
  if (settled.bytes_between != 0) {
    CAIRN_RETURN_IF_ERROR(MeasureDensity(store, index, size));
    const double bytes_per_entry = size.density->bytes_per_entry.load(std::memory_order_relaxed);
    const double between = bytes_per_entry > 0 ? static_cast<double>(settled.bytes_between) / bytes_per_entry : 0.0;
    const double entries = static_cast<double>(settled.entries) + between;
    count->rows = std::max(settled.entries, static_cast<uint64_t>(std::min(entries, static_cast<double>(size.entries))));
  }
  const uint64_t few = settled.has_versions ? kWalkedMax * kVersionsMax : kWalkedMax;
  return count->rows <= few ? Walk(store, range.begin, range.end, count) : Status::Ok();
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
  store::SettledCount settled;
  const store::KeyRange range{lower, upper};
  if (store.CountSettled(store::Family::kData, range, &settled)) {
    return CountSettled(store, index, range, settled, size, count);
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

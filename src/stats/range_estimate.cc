// SPDX-License-Identifier: GPL-2.0-only
// A short walk first, sizes second.
#include "stats/range_estimate.h"

#include <algorithm>
#include <array>

#include "base/index_bounds.h"

namespace cairn::stats {
namespace {

constexpr uint64_t kWalkedMax = 64;

}  // namespace

Status CountRange(const store::Store& store, IndexId index, ByteView lower, ByteView upper, uint64_t table_rows,
                  RangeCount* count) {
  *count = RangeCount();
  if (lower >= upper) {
    count->exact = true;
    return Status::Ok();
  }
  store::CursorOptions options;
  options.lower_bound = lower;
  options.upper_bound = upper;
  store::Cursor cursor;
  CAIRN_RETURN_IF_ERROR(store.OpenCursor(store::Family::kData, options, &cursor));
  for (cursor.SeekToFirst(); cursor.Valid() && count->rows < kWalkedMax; cursor.Next()) ++count->rows;
  CAIRN_RETURN_IF_ERROR(cursor.status());
  count->exact = !cursor.Valid();
  if (count->exact) return Status::Ok();

  const IndexBounds bounds(index);
  const std::array<store::KeyRange, 2> ranges = {
      store::KeyRange{lower, upper}, store::KeyRange{bounds.lower(), bounds.upper()}};
  std::array<store::RangeEstimate, 2> sizes;
  CAIRN_RETURN_IF_ERROR(store.EstimateRanges(store::Family::kData, ranges, sizes));
  const double part = static_cast<double>(sizes[0].file_bytes + sizes[0].memory_bytes);
  const double whole = static_cast<double>(sizes[1].file_bytes + sizes[1].memory_bytes);
  const double share = whole > 0 ? std::min(1.0, part / whole) : 1.0;
  count->rows = std::max(count->rows, static_cast<uint64_t>(share * static_cast<double>(table_rows)));
  return Status::Ok();
}

}  // namespace cairn::stats

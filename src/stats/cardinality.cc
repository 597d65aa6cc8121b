// SPDX-License-Identifier: GPL-2.0-only
// Sampling of runs of neighbouring entries.
#include "stats/cardinality.h"

#include <algorithm>
#include <string>

#include "stats/range_estimate.h"

namespace cairn::stats {
namespace {

constexpr uint64_t kSmallEntriesMax = 2000;
constexpr int kRunCount = 16;
constexpr uint64_t kRunEntries = 96;

// Entries seen and places where each prefix changed, over all runs.
struct Tally {
  explicit Tally(unsigned parts) : groups(parts, 0.0), entries(parts, 0.0) {}
  std::vector<double> groups;
  std::vector<double> entries;
};

class Sampler {
 public:
  Sampler(const store::Store& store, const codec::IndexCodec& index, uint64_t table_rows)
      : store_(store), index_(index), table_rows_(table_rows), tally_(index.own_part_count()) {
    char begin[4], end[4];
    StoreBe32(begin, index.id().value);
    StoreBe32(end, index.id().value + 1);
    lower_.assign(begin, sizeof begin);
    upper_.assign(end, sizeof end);
  }

  Status Open() {
    store::CursorOptions options;
    options.lower_bound = lower_;
    options.upper_bound = upper_;
    return store_.OpenCursor(store::Family::kData, options, &cursor_);
  }

  Status Run(std::vector<double>* rows_per_value) {
    CAIRN_RETURN_IF_ERROR(Open());
    if (table_rows_ <= kSmallEntriesMax) {
      cursor_.SeekToFirst();
      CAIRN_RETURN_IF_ERROR(TallyRun(UINT64_MAX));
    } else {
      CAIRN_RETURN_IF_ERROR(SpreadRuns());
    }
    rows_per_value->clear();
    for (size_t part = 0; part < tally_.groups.size(); ++part) {
      const double groups = std::max(1.0, tally_.groups[part]);
      rows_per_value->push_back(std::max(1.0, tally_.entries[part] / groups));
    }
    return Status::Ok();
  }

 private:
  // Places between the first and the last key, by the eight bytes behind what both have in common.
  Status SpreadRuns() {
    cursor_.SeekToLast();
    CAIRN_RETURN_IF_ERROR(cursor_.status());
    if (!cursor_.Valid()) return Status::Ok();
    const std::string last(cursor_.key());
    cursor_.SeekToFirst();
    CAIRN_RETURN_IF_ERROR(cursor_.status());
    const std::string first(cursor_.key());
    size_t common = 0;
    while (common < first.size() && common < last.size() && first[common] == last[common]) ++common;
    const uint64_t low = EightBytes(first, common);
    const uint64_t high = EightBytes(last, common);
    for (int run = 0; run < kRunCount; ++run) {
      std::string place = first.substr(0, common);
      char bytes[8];
      StoreBe64(bytes, low + (high - low) / kRunCount * static_cast<uint64_t>(run));
      place.append(bytes, sizeof bytes);
      cursor_.Seek(place);
      CAIRN_RETURN_IF_ERROR(TallyRun(kRunEntries));
    }
    return Status::Ok();
  }

  static uint64_t EightBytes(const std::string& key, size_t from) {
    char bytes[8] = {};
    const size_t available = key.size() > from ? std::min<size_t>(8, key.size() - from) : 0;
    key.copy(bytes, available, from);
    return LoadBe64(bytes);
  }

  // Walks on from the cursor, counting changes of each prefix.
  Status TallyRun(uint64_t entries_max) {
    const unsigned parts = index_.own_part_count();
    std::vector<uint64_t> changes(parts, 0);
    std::string previous;
    uint64_t entries = 0;
    for (; cursor_.Valid() && entries < entries_max; cursor_.Next(), ++entries) {
      const ByteView key = cursor_.key();
      for (unsigned part = 0; entries != 0 && part < parts; ++part) {
        const size_t size = index_.PrefixBytes(key, part + 1);
        if (size != 0 && key.substr(0, size) == ByteView(previous).substr(0, size)) continue;
        for (unsigned later = part; later < parts; ++later) ++changes[later];
        break;
      }
      previous.assign(key);
    }
    CAIRN_RETURN_IF_ERROR(cursor_.status());
    if (entries == 0) return Status::Ok();
    const bool whole = entries_max == UINT64_MAX;
    for (unsigned part = 0; part < parts; ++part) {
      if (!whole && changes[part] == 0) {
        CAIRN_RETURN_IF_ERROR(TallyCommonValue(previous, part));
        continue;
      }
      // A run begins and ends in the middle of a value.
      tally_.groups[part] += static_cast<double>(changes[part]) + (whole ? 1 : 0);
      tally_.entries[part] += static_cast<double>(entries) * (whole ? 1.0 : static_cast<double>(entries - 1) / static_cast<double>(entries));
    }
    return Status::Ok();
  }

  Status TallyCommonValue(const std::string& key, unsigned part) {
    ByteBuffer lower, upper;
    lower.Assign(ByteView(key).substr(0, index_.PrefixBytes(key, part + 1)));
    upper.Assign(lower.view());
    if (lower.empty() || !codec::AdvancePastPrefix(&upper)) return Status::Ok();
    RangeCount count;
    CAIRN_RETURN_IF_ERROR(CountRange(store_, index_.id(), lower.view(), upper.view(), table_rows_, &count));
    tally_.groups[part] += 1;
    tally_.entries[part] += static_cast<double>(std::max<uint64_t>(1, count.rows));
    return Status::Ok();
  }

  const store::Store& store_;
  const codec::IndexCodec& index_;
  const uint64_t table_rows_;
  Tally tally_;
  std::string lower_;
  std::string upper_;
  store::Cursor cursor_;
};

}  // namespace

Status SampleIndex(const store::Store& store, const codec::IndexCodec& index, uint64_t table_rows,
                   std::vector<double>* rows_per_value) {
  return Sampler(store, index, table_rows).Run(rows_per_value);
}

}  // namespace cairn::stats

// SPDX-License-Identifier: GPL-2.0-only
// Sampling of runs of neighbouring entries.
#include "stats/cardinality.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/index_bounds.h"
#include "stats/range_estimate.h"

namespace cairn::stats {
namespace {

constexpr uint64_t kSmallEntriesMax = 2000;
constexpr size_t kRunCount = 16;
constexpr uint64_t kRunEntries = 96;
// Passing by more entries that make no rows is not worth what a run tells.
constexpr uint64_t kRunHiddenMax = 4096;

// Entries seen and how many values of each prefix they make up, over all runs.
struct Tally {
  explicit Tally(unsigned parts) : groups(parts, 0.0), entries(parts, 0.0) {}
  std::vector<double> groups;
  std::vector<double> entries;
};

// What a search of the index can give: its own parts, and what of the primary key it goes on with.
unsigned PartsOf(const codec::IndexCodec& index) {
  if (index.unique()) return index.own_part_count();
  return index.entry_part_count() - (index.ends_with_row_id() ? 1u : 0u);
}

// Where one prefix changes within a run.
struct Changes {
  uint64_t count = 0;
  uint64_t first_at = 0;  // entries before the first change
  uint64_t last_at = 0;   // entries before the last one
};

using Places = std::array<std::string, kRunCount>;

class Sampler {
 public:
  Sampler(const store::Store& store, const codec::IndexCodec& index, uint64_t table_rows)
      : store_(store), index_(index), table_rows_(table_rows), tally_(PartsOf(index)) {
    const IndexBounds bounds(index.id());
    lower_.assign(bounds.lower());
    upper_.assign(bounds.upper());
  }

  Status Run(std::vector<double>* rows_per_value) {
    if (table_rows_ <= kSmallEntriesMax) {
      CAIRN_RETURN_IF_ERROR(Open(kRunCount * kRunHiddenMax));
      cursor_.SeekToFirst();
      CAIRN_RETURN_IF_ERROR(TallyRun(UINT64_MAX));
    } else {
      CAIRN_RETURN_IF_ERROR(SpreadRuns());
    }
    rows_per_value->clear();
    for (size_t part = 0; part < tally_.groups.size(); ++part) {
      const double groups = tally_.groups[part];
      rows_per_value->push_back(groups > 0 ? std::max(1.0, tally_.entries[part] / groups) : 1.0);
    }
    return Status::Ok();
  }

 private:
  Status Open(uint64_t hidden_max) {
    store::CursorOptions options;
    options.lower_bound = lower_;
    options.upper_bound = upper_;
    options.hidden_max = hidden_max;
    return store_.OpenCursor(store::Family::kData, options, &cursor_);
  }

  // What a walk has seen by then counts, if too much that makes no rows comes next: *given_up.
  Status StatusOfWalk(bool* given_up) const {
    Status status = cursor_.status();
    *given_up = status.Is(Status::Code::kInterrupted);
    return *given_up ? Status::Ok() : std::move(status);
  }

  // The first or last key, or the bound, if too much that makes no rows lies before it. Empty: there is none.
  Status FindEnd(bool first, std::string* key) {
    CAIRN_RETURN_IF_ERROR(Open(kRunHiddenMax));
    first ? cursor_.SeekToFirst() : cursor_.SeekToLast();
    bool given_up;
    CAIRN_RETURN_IF_ERROR(StatusOfWalk(&given_up));
    if (given_up) {
      *key = first ? lower_ : upper_;
    } else if (cursor_.Valid()) {
      key->assign(cursor_.key());
    }
    return Status::Ok();
  }

  // A run of neighbours at each sixteenth of the index.
  Status SpreadRuns() {
    std::string first, last;
    CAIRN_RETURN_IF_ERROR(FindEnd(/*first=*/false, &last));
    CAIRN_RETURN_IF_ERROR(FindEnd(/*first=*/true, &first));
    if (first.empty() || first > last) return Status::Ok();  // it is empty, or was emptied in between
    size_t common = 0;
    while (common < first.size() && common < last.size() && first[common] == last[common]) ++common;
    Places places;
    CAIRN_RETURN_IF_ERROR(
        FindPlaces(first.substr(0, common), EightBytes(first, common), EightBytes(last, common), &places));
    for (const std::string& place : places) {
      CAIRN_RETURN_IF_ERROR(Open(kRunHiddenMax));
      cursor_.Seek(place);
      CAIRN_RETURN_IF_ERROR(TallyRun(kRunEntries));
    }
    return Status::Ok();
  }

  // Keys that split the index into parts of the same number of bytes; by their values alone, a few
  // that lie apart (NULL, zero, a far future) would draw all runs to one place. Found by bisection
  // of the eight bytes behind what all keys have in common, for all places at once.
  Status FindPlaces(const std::string& common, uint64_t low, uint64_t high, Places* places) {
    std::array<uint64_t, kRunCount> from, to;
    from.fill(low);
    to.fill(high);
    to[0] = low;
    std::array<store::KeyRange, kRunCount> ranges;
    std::array<store::RangeEstimate, kRunCount> sizes;
    ranges[0] = {lower_, upper_};  // the first place is known: the whole index is measured instead
    while (from != to) {
      for (size_t run = 1; run < kRunCount; ++run) {
        (*places)[run] = PlaceAt(common, from[run] + (to[run] - from[run]) / 2);
        ranges[run] = {lower_, (*places)[run]};
      }
      CAIRN_RETURN_IF_ERROR(store_.EstimateRanges(store::Family::kData, ranges, sizes));
      const auto bytes_of = [&](size_t run) { return sizes[run].file_bytes + sizes[run].memory_bytes; };
      for (size_t run = 1; run < kRunCount; ++run) {
        const uint64_t middle = from[run] + (to[run] - from[run]) / 2;
        if (from[run] == to[run]) continue;
        if (bytes_of(run) >= bytes_of(0) / kRunCount * run) {
          to[run] = middle;
        } else {
          from[run] = middle + 1;
        }
      }
    }
    for (size_t run = 0; run < kRunCount; ++run) (*places)[run] = PlaceAt(common, from[run]);
    return Status::Ok();
  }

  static std::string PlaceAt(const std::string& common, uint64_t value) {
    char bytes[8];
    StoreBe64(bytes, value);
    return common + std::string(bytes, sizeof bytes);
  }

  static uint64_t EightBytes(const std::string& key, size_t from) {
    char bytes[8] = {};
    const size_t available = key.size() > from ? std::min<size_t>(8, key.size() - from) : 0;
    key.copy(bytes, available, from);
    return LoadBe64(bytes);
  }

  // Walks on from the cursor, noting where each prefix changes.
  Status TallyRun(uint64_t entries_max) {
    const unsigned parts = PartsOf(index_);
    std::vector<Changes> changes(parts);
    std::string first, previous;
    uint64_t entries = 0;
    for (; cursor_.Valid() && entries < entries_max; cursor_.Next(), ++entries) {
      const ByteView key = cursor_.key();
      if (entries == 0) first.assign(key);
      for (unsigned part = 0; entries != 0 && part < parts; ++part) {
        const size_t size = index_.PrefixBytes(key, part + 1);
        if (size != 0 && key.substr(0, size) == ByteView(previous).substr(0, size)) continue;
        for (unsigned later = part; later < parts; ++later) {
          if (changes[later].count++ == 0) changes[later].first_at = entries;
          changes[later].last_at = entries;
        }
        break;
      }
      previous.assign(key);
    }
    bool given_up;
    CAIRN_RETURN_IF_ERROR(StatusOfWalk(&given_up));
    if (entries == 0) return Status::Ok();
    for (unsigned part = 0; part < parts; ++part) {
      tally_.entries[part] += static_cast<double>(entries);
      if (entries_max == UINT64_MAX) {
        tally_.groups[part] += static_cast<double>(changes[part].count + 1);
      } else {
        CAIRN_RETURN_IF_ERROR(TallyGroups(changes[part], entries, first, previous, part));
      }
    }
    return Status::Ok();
  }

  // A run begins and ends in the midst of a value: of those two it has a share only.
  Status TallyGroups(const Changes& changes, uint64_t entries, const std::string& first, const std::string& last,
                     unsigned part) {
    if (changes.count == 0) return TallyShare(first, part, entries);
    tally_.groups[part] += static_cast<double>(changes.count - 1);
    CAIRN_RETURN_IF_ERROR(TallyShare(first, part, changes.first_at));
    return TallyShare(last, part, entries - changes.last_at);
  }

  // Adds what `seen` entries are of all that share the first parts of `key`. A whole key is one entry's.
  Status TallyShare(const std::string& key, unsigned part, uint64_t seen) {
    const size_t size = index_.PrefixBytes(key, part + 1);
    if (size == key.size()) {
      tally_.groups[part] += static_cast<double>(seen);
      return Status::Ok();
    }
    ByteBuffer lower, upper;
    lower.Assign(ByteView(key).substr(0, size));
    upper.Assign(lower.view());
    RangeCount count;
    if (!lower.empty() && codec::AdvancePastPrefix(&upper)) {
      CAIRN_RETURN_IF_ERROR(CountRange(store_, index_.id(), lower.view(), upper.view(), {table_rows_, &density_}, &count));
    }
    tally_.groups[part] += static_cast<double>(seen) / static_cast<double>(std::max(seen, count.rows));
    return Status::Ok();
  }

  const store::Store& store_;
  const codec::IndexCodec& index_;
  const uint64_t table_rows_;
  catalog::FileDensity density_;
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

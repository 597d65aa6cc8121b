// SPDX-License-Identifier: GPL-2.0-only
// Sampling of runs of neighbouring entries.
#include "stats/cardinality.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/index_bounds.h"
#include "stats/range_estimate.h"

namespace cairn::stats {
namespace {

constexpr uint64_t kSmallEntriesMax = 2000;
constexpr size_t kRunCount = 16;
// How often runs are spread: over the index, then over what no run of those before fell into.
constexpr size_t kRoundsMax = 4;
constexpr uint64_t kRunEntries = 96;
// Passing by more entries that make no rows is not worth what a run tells.
constexpr uint64_t kRunHiddenMax = 4096;

// Entries seen and how many values of each prefix they make up, over some runs.
struct Tally {
  explicit Tally(unsigned parts) : groups(parts, 0.0) {}
  void Add(const Tally& other) {
    for (size_t part = 0; part < groups.size(); ++part) groups[part] += other.groups[part];
    entries += other.entries;
  }
  std::vector<double> groups;
  double entries = 0;
};

// A part of the index that is sampled by itself, and weighs as much as it has entries.
struct Stratum {
  std::string lower;
  std::string upper;
  uint64_t rows = 0;
};

struct Run {
  Tally tally;
  std::string value;  // the first part, if all of the run has one, else empty
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
      : store_(store), index_(index), table_rows_(table_rows), all_(PartsOf(index)), between_(all_) {
    const IndexBounds bounds(index.id());
    lower_.assign(bounds.lower());
    upper_.assign(bounds.upper());
  }

  Status Sample(std::vector<double>* rows_per_value) {
    if (table_rows_ <= kSmallEntriesMax) {
      CAIRN_RETURN_IF_ERROR(Open(lower_, upper_, kRunCount * kRunHiddenMax));
      cursor_.SeekToFirst();
      Run run{all_, {}};
      CAIRN_RETURN_IF_ERROR(TallyRun(UINT64_MAX, &run));
      all_ = run.tally;
    } else {
      CAIRN_RETURN_IF_ERROR(SpreadRuns());
    }
    rows_per_value->clear();
    for (const double groups : all_.groups) {
      rows_per_value->push_back(groups > 0 ? std::max(1.0, all_.entries / groups) : 1.0);
    }
    return Status::Ok();
  }

 private:
  Status Open(const std::string& lower, const std::string& upper, uint64_t hidden_max) {
    store::CursorOptions options;
    options.lower_bound = lower;
    options.upper_bound = upper;
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
  Status FindEnd(const Stratum& stratum, bool first, std::string* key) {
    CAIRN_RETURN_IF_ERROR(Open(stratum.lower, stratum.upper, kRunHiddenMax));
    first ? cursor_.SeekToFirst() : cursor_.SeekToLast();
    bool given_up;
    CAIRN_RETURN_IF_ERROR(StatusOfWalk(&given_up));
    if (given_up) {
      *key = first ? stratum.lower : stratum.upper;
    } else if (cursor_.Valid()) {
      key->assign(cursor_.key());
    }
    return Status::Ok();
  }

  // Where one value (NULL, zero) has almost all of the index all runs may fall into it. So what lies before and behind it is
  // looked at by itself, the largest such part first. What is never looked at is taken to be like what was.
  Status SpreadRuns() {
    std::vector<Stratum> unseen = {Stratum{lower_, upper_, table_rows_}};
    for (size_t round = 0; round < kRoundsMax && !unseen.empty(); ++round) {
      const auto largest = std::ranges::max_element(unseen, {}, &Stratum::rows);
      const Stratum stratum = std::move(*largest);
      unseen.erase(largest);
      CAIRN_RETURN_IF_ERROR(SpreadRunsOver(stratum, &unseen));
    }
    for (const Stratum& stratum : unseen) AddStratum(stratum.rows, between_, &all_);
    return Status::Ok();
  }

  // A run of neighbours at each sixteenth. `unseen` gets the parts that none fell into.
  Status SpreadRunsOver(const Stratum& stratum, std::vector<Stratum>* unseen) {
    std::string first, last;
    CAIRN_RETURN_IF_ERROR(FindEnd(stratum, /*first=*/false, &last));
    CAIRN_RETURN_IF_ERROR(FindEnd(stratum, /*first=*/true, &first));
    if (first.empty() || first > last) return Status::Ok();  // it is empty, or was emptied in between
    size_t common = 0;
    while (common < first.size() && common < last.size() && first[common] == last[common]) ++common;
    Places places;
    CAIRN_RETURN_IF_ERROR(
        FindPlaces(stratum, first.substr(0, common), EightBytes(first, common), EightBytes(last, common), &places));
    std::vector<Run> runs;
    for (const std::string& place : places) {
      CAIRN_RETURN_IF_ERROR(Open(stratum.lower, stratum.upper, kRunHiddenMax));
      cursor_.Seek(place);
      runs.push_back({Tally(PartsOf(index_)), {}});
      CAIRN_RETURN_IF_ERROR(TallyRun(kRunEntries, &runs.back()));
    }
    return WeighRuns(stratum, runs, unseen);
  }

  // Each value that fills whole runs is a stratum, and what lies between two of them is one.
  Status WeighRuns(const Stratum& stratum, const std::vector<Run>& runs, std::vector<Stratum>* unseen) {
    Stratum between{stratum.lower, {}, 0};
    Tally of_between(PartsOf(index_));
    for (auto run = runs.begin(); run != runs.end();) {
      if (run->value.empty()) {
        of_between.Add(run++->tally);
        continue;
      }
      Stratum value{run->value, {}, 0};
      Tally of_value(PartsOf(index_));
      for (; run != runs.end() && run->value == value.lower; ++run) of_value.Add(run->tally);
      between.upper = value.lower;
      CAIRN_RETURN_IF_ERROR(WeighBetween(std::exchange(between, {}), std::exchange(of_between, Tally(PartsOf(index_))), unseen));
      ByteBuffer behind;
      behind.Assign(value.lower);
      value.upper = codec::AdvancePastPrefix(&behind) ? behind.ToString() : stratum.upper;
      between.lower = value.upper;
      CAIRN_RETURN_IF_ERROR(CountRows(&value));
      AddStratum(value.rows, of_value, &all_);
    }
    if (between.lower == stratum.lower) {  // no such value: what was counted before is the count
      AddBetween(stratum.rows, of_between);
      return Status::Ok();
    }
    between.upper = stratum.upper;
    return WeighBetween(std::move(between), of_between, unseen);
  }

  Status WeighBetween(Stratum stratum, const Tally& tally, std::vector<Stratum>* unseen) {
    CAIRN_RETURN_IF_ERROR(CountRows(&stratum));
    if (tally.entries != 0) {
      AddBetween(stratum.rows, tally);
    } else if (stratum.rows != 0) {
      unseen->push_back(std::move(stratum));
    }
    return Status::Ok();
  }

  Status CountRows(Stratum* stratum) {
    RangeCount count;
    CAIRN_RETURN_IF_ERROR(
        CountRange(store_, index_.id(), stratum->lower, stratum->upper, {table_rows_, &density_}, &count));
    stratum->rows = count.rows;
    return Status::Ok();
  }

  void AddBetween(uint64_t rows, const Tally& tally) {
    AddStratum(rows, tally, &between_);
    AddStratum(rows, tally, &all_);
  }

  // As many values a row as the runs had.
  static void AddStratum(uint64_t rows, const Tally& tally, Tally* sum) {
    if (tally.entries == 0) return;
    const double weight = static_cast<double>(rows) / tally.entries;
    for (size_t part = 0; part < tally.groups.size(); ++part) sum->groups[part] += weight * tally.groups[part];
    sum->entries += weight * tally.entries;
  }

  // Keys that split the stratum into parts of the same number of bytes; by their values alone, a few
  // that lie apart (NULL, zero, a far future) would draw all runs to one place. Found by bisection
  // of the eight bytes behind what all keys have in common, for all places at once.
  Status FindPlaces(const Stratum& stratum, const std::string& common, uint64_t low, uint64_t high, Places* places) {
    std::array<uint64_t, kRunCount> from, to;
    from.fill(low);
    to.fill(high);
    to[0] = low;
    std::array<store::KeyRange, kRunCount> ranges;
    std::array<store::RangeEstimate, kRunCount> sizes;
    ranges[0] = {stratum.lower, stratum.upper};  // the first place is known: the whole is measured instead
    while (from != to) {
      for (size_t run = 1; run < kRunCount; ++run) {
        (*places)[run] = PlaceAt(common, from[run] + (to[run] - from[run]) / 2);
        ranges[run] = {stratum.lower, (*places)[run]};
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
    // Before these lies a sixteenth or more. So the sixteenth ends among entries of the eight bytes before, which may be most of all.
    for (size_t run = 0; run < kRunCount; ++run) (*places)[run] = PlaceAt(common, from[run] - (from[run] > low ? 1 : 0));
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
  Status TallyRun(uint64_t entries_max, Run* run) {
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
    run->tally.entries += static_cast<double>(entries);
    for (unsigned part = 0; part < parts; ++part) {
      if (entries_max == UINT64_MAX) {
        run->tally.groups[part] += static_cast<double>(changes[part].count + 1);
      } else {
        CAIRN_RETURN_IF_ERROR(TallyGroups(changes[part], entries, first, previous, part, &run->tally));
      }
    }
    if (parts != 0 && entries == entries_max && changes[0].count == 0) {
      run->value = first.substr(0, index_.PrefixBytes(first, 1));
    }
    return Status::Ok();
  }

  // A run begins and ends in the midst of a value: of those two it has a share only.
  Status TallyGroups(const Changes& changes, uint64_t entries, const std::string& first, const std::string& last,
                     unsigned part, Tally* tally) {
    double& groups = tally->groups[part];
    if (changes.count == 0) return TallyShare(first, part, entries, &groups);
    groups += static_cast<double>(changes.count - 1);
    CAIRN_RETURN_IF_ERROR(TallyShare(first, part, changes.first_at, &groups));
    return TallyShare(last, part, entries - changes.last_at, &groups);
  }

  // Adds what `seen` entries are of all that share the first parts of `key`. A whole key is one entry's.
  Status TallyShare(const std::string& key, unsigned part, uint64_t seen, double* groups) {
    const size_t size = index_.PrefixBytes(key, part + 1);
    if (size == key.size()) {
      *groups += static_cast<double>(seen);
      return Status::Ok();
    }
    ByteBuffer lower, upper;
    lower.Assign(ByteView(key).substr(0, size));
    upper.Assign(lower.view());
    RangeCount count;
    if (!lower.empty() && codec::AdvancePastPrefix(&upper)) {
      CAIRN_RETURN_IF_ERROR(CountRange(store_, index_.id(), lower.view(), upper.view(), {table_rows_, &density_}, &count));
    }
    *groups += static_cast<double>(seen) / static_cast<double>(std::max(seen, count.rows));
    return Status::Ok();
  }

  const store::Store& store_;
  const codec::IndexCodec& index_;
  const uint64_t table_rows_;
  catalog::FileDensity density_;
  Tally all_;      // of the index, as estimated, or counted where it is small
  Tally between_;  // of what lies between values that fill runs
  std::string lower_;
  std::string upper_;
  store::Cursor cursor_;
};

}  // namespace

Status SampleIndex(const store::Store& store, const codec::IndexCodec& index, uint64_t table_rows,
                   std::vector<double>* rows_per_value) {
  return Sampler(store, index, table_rows).Sample(rows_per_value);
}

}  // namespace cairn::stats

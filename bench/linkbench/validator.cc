// SPDX-License-Identifier: GPL-2.0-only
// Checks that counts agree with links, and the indexes of the link table with each other.
#include "validator.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <utility>

#include "sql_text.h"
#include "threads.h"

namespace cairn::bench::linkbench {
namespace {

constexpr uint64_t kRangeIds = 2000;
constexpr size_t kExamplesMax = 20;

struct IdRange {
  uint64_t first;
  uint64_t last;  // inclusive
};

// Checks ranges of ids. Thread rule: one thread.
class Checker {
 public:
  Checker(const ConnectionOptions& options, ValidateReport* report)
      : connection_(options, Connection::Commit::kAutomatic), sql_(&connection_), report_(*report) {}

  void Check(const IdRange& range) {
    CompareCounts(range);
    for (const uint64_t type_id : kLinkTypeIds) CompareIndexes(range, type_id);
  }

 private:
  using IdAndType = std::pair<uint64_t, uint64_t>;

  void AddExample(std::string text) {
    if (report_.examples.size() < kExamplesMax) report_.examples.push_back(std::move(text));
  }

  void CompareCounts(const IdRange& range) {
    std::map<IdAndType, uint64_t> counts;
    sql_.Clear() << "SELECT id, link_type, count FROM counttable WHERE id BETWEEN " << range.first << " AND "
                 << range.last;
    report_.counts_checked += sql_.Query([&](Connection::Row row) {
      counts[{ParseNumber(row[0]), ParseNumber(row[1])}] = ParseNumber(row[2]);
    });
    std::map<IdAndType, uint64_t> links;
    sql_.Clear() << "SELECT id1, link_type, COUNT(*) FROM linktable FORCE INDEX(id1_type) WHERE id1 BETWEEN "
                 << range.first << " AND " << range.last << " AND visibility = 1 GROUP BY id1, link_type";
    sql_.Query([&](Connection::Row row) {
      const uint64_t visible = ParseNumber(row[2]);
      links[{ParseNumber(row[0]), ParseNumber(row[1])}] = visible;
      report_.visible_links += visible;
    });
    for (const auto& [key, visible] : links) {
      const auto count = counts.find(key);
      if (count == counts.end()) {
        AddMismatch(key, "no count row", visible);
      } else if (count->second != visible) {
        AddMismatch(key, "count " + std::to_string(count->second), visible);
      }
    }
    for (const auto& [key, count] : counts) {
      if (count != 0 && !links.contains(key)) AddMismatch(key, "count " + std::to_string(count), 0);
    }
  }

  void AddMismatch(const IdAndType& key, const std::string& count, uint64_t visible) {
    ++report_.count_mismatches;
    AddExample("id " + std::to_string(key.first) + ", type " + std::to_string(key.second) + ": " + count +
               " but " + std::to_string(visible) + " visible links");
  }

  void CompareIndexes(const IdRange& range, uint64_t type_id) {
    const auto [primary, primary_rows] = Aggregate("PRIMARY", range, type_id);
    const auto [secondary, secondary_rows] = Aggregate("id1_type", range, type_id);
    report_.links_checked += primary_rows;
    if (primary == secondary) return;
    ++report_.index_mismatches;
    AddExample("ids " + std::to_string(range.first) + " to " + std::to_string(range.last) + ", type " +
               std::to_string(type_id) + ": PRIMARY gives " + primary + " but id1_type " + secondary);
  }

  // Rows and sums over one index; equal rows give equal text in any order.
  std::pair<std::string, uint64_t> Aggregate(std::string_view index, const IdRange& range, uint64_t type_id) {
    std::pair<std::string, uint64_t> result;
    sql_.Clear() << "SELECT COUNT(*), SUM(id2), SUM(visibility), SUM(time), SUM(version), SUM(CRC32(data))"
                 << " FROM linktable FORCE INDEX(" << index << ") WHERE link_type = " << type_id
                 << " AND id1 BETWEEN " << range.first << " AND " << range.last;
    sql_.Query([&](Connection::Row row) {
      result.second = ParseNumber(row[0]);
      for (const std::string_view column : row) result.first.append(result.first.empty() ? "" : "/").append(column);
    });
    return result;
  }

  Connection connection_;
  SqlText sql_;
  ValidateReport& report_;
};

}  // namespace

ValidateReport Validate(const Graph& graph, const ValidateOptions& options, StopFlag* stop) {
  ValidateReport report;
  const auto start = Clock::now();
  std::atomic<uint64_t> done_ids{0};  // sampled or skipped
  const uint64_t end_id = graph.end_id();
  const auto check_all = [&] {
    Checker checker(options.connection, &report);
    for (uint64_t first = 0; first < end_id && !stop->stopped(); first += kRangeIds * options.sample) {
      // The last range is open, so that rows outside the graph are noticed too.
      const uint64_t end = first + kRangeIds;
      checker.Check({first, end >= end_id ? UINT64_MAX : end - 1});
      report.ids_checked += std::min(end, end_id) - std::max(first, kFirstId);
      done_ids = std::min(end + kRangeIds * (options.sample - 1), end_id) - kFirstId;
    }
  };
  const auto print = [&] {
    std::fprintf(stderr, "check %6.0f s  %10llu of %llu ids\n", SecondsSince(start),
                 static_cast<unsigned long long>(done_ids), static_cast<unsigned long long>(graph.ids()));
  };
  {
    const Ticker ticker(std::chrono::seconds(options.interval_seconds), print);
    report.error = RunThreads({check_all}, stop);
  }
  report.seconds = SecondsSince(start);
  print();
  return report;
}

}  // namespace cairn::bench::linkbench

// SPDX-License-Identifier: GPL-2.0-only
// The load phase: nodes, links and counts into empty tables.
#include "loader.h"

#include <atomic>
#include <cstdio>
#include <memory>

#include "link_store.h"
#include "payload.h"
#include "sql_text.h"
#include "threads.h"

namespace cairn::bench::linkbench {
namespace {

constexpr uint64_t kBatchRows = 1024;
constexpr uint64_t kChunkIds = 2048;

// What all loading threads share. Thread rule: any thread.
struct Shared {
  const Graph& graph;
  const Profile& profile;
  const LoadOptions& options;
  const StopFlag& stop;
  std::atomic<uint64_t> chunks_left;  // chunks are taken from the highest ids down
  std::atomic<uint64_t> nodes{0};
  std::atomic<uint64_t> links{0};
  std::atomic<uint64_t> counts{0};
};

// Rows of one table, sent as one multi-row statement and committed when 1024 are there.
class Batch {
 public:
  Batch(Connection* connection, std::string_view before, std::string_view after)
      : connection_(*connection), sql_(connection), before_(before), after_(after) {}

  // The place to append the next row's "(...)".
  SqlText& NextRow() {
    if (rows_ == 0) sql_.Clear() << before_;
    return sql_ << (rows_++ == 0 ? "" : ", ");
  }
  bool full() const { return rows_ == kBatchRows; }

  // Sends and commits what is there. Returns the number of rows and the first generated id.
  Connection::Outcome Flush(Retries* retries, Histogram* latency) {
    if (rows_ == 0) return {};
    sql_ << after_;
    const auto start = Clock::now();
    const Connection::Outcome outcome = WithRetries(connection_, retries, [&] {
      const Connection::Outcome inserted = sql_.Execute();
      connection_.Execute("COMMIT");
      return inserted;
    });
    latency->Add(static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - start).count()));
    const uint64_t rows = rows_;
    rows_ = 0;
    return {rows, outcome.insert_id};
  }

 private:
  Connection& connection_;
  SqlText sql_;
  std::string_view before_;
  std::string_view after_;
  uint64_t rows_ = 0;
};

// Loads chunks of ids with their links and counts. Thread rule: one thread.
class LinkLoader {
 public:
  LinkLoader(Shared* shared, unsigned number)
      : shared_(*shared),
        random_(shared->options.seed, 1000 + number),
        data_(shared->profile.link_data, &random_),
        connection_(shared->options.connection, Connection::Commit::kExplicit),
        links_(&connection_,
               "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version) VALUES ",
               shared->options.plain_inserts ? "" : " ON DUPLICATE KEY UPDATE visibility = VALUES(visibility)"),
        counts_(&connection_,
                shared->options.plain_inserts
                    ? "INSERT INTO counttable (id, link_type, count, time, version) VALUES "
                    : "REPLACE INTO counttable (id, link_type, count, time, version) VALUES ",
                "") {}

  void Run() {
    while (!shared_.stop.stopped()) {
      uint64_t left = shared_.chunks_left.load();
      while (left != 0 && !shared_.chunks_left.compare_exchange_weak(left, left - 1)) {
      }
      if (left == 0) return;
      LoadChunk(left - 1);
    }
  }

  LoadReport report;

 private:
  void LoadChunk(uint64_t chunk) {
    const uint64_t first = kFirstId + chunk * kChunkIds;
    const uint64_t end = std::min(first + kChunkIds, shared_.graph.end_id());
    for (uint64_t id1 = first; id1 < end && !shared_.stop.stopped(); ++id1) {
      for (size_t type = 0; type < kLinkTypes; ++type) LoadLinks(id1, type);
    }
    FlushLinks();
    FlushCounts();
  }

  void LoadLinks(uint64_t id1, size_t type) {
    const uint64_t links = shared_.graph.Links(id1, type);
    if (links == 0) return;
    const uint64_t type_id = kLinkTypeIds[type];
    uint64_t newest_ms = 0;
    for (uint64_t i = 0; i < links; ++i) {
      // Any of the 2^32 ms before now, so that time does not follow id2.
      const uint64_t time_ms = NowMs() - random_.Below(uint64_t{1} << 32);
      newest_ms = std::max(newest_ms, time_ms);
      links_.NextRow() << "(" << id1 << ", " << id1 + i << ", " << type_id << ", 1, " << Literal{data_.Generate()}
                       << ", " << time_ms << ", 0)";
      if (links_.full()) FlushLinks();
    }
    counts_.NextRow() << "(" << id1 << ", " << type_id << ", " << links << ", " << newest_ms << ", 0)";
    if (counts_.full()) FlushCounts();
  }

  void FlushLinks() { shared_.links += links_.Flush(&report.retries, &report.link_batches).affected_rows; }
  void FlushCounts() { shared_.counts += counts_.Flush(&report.retries, &report.count_batches).affected_rows; }

  Shared& shared_;
  Random random_;
  PayloadGenerator data_;
  Connection connection_;
  Batch links_;
  Batch counts_;
};

// Loads all nodes, in the order of their ids. Thread rule: one thread.
class NodeLoader {
 public:
  explicit NodeLoader(Shared* shared)
      : shared_(*shared),
        random_(shared->options.seed, 999),
        data_(shared->profile.node_data, &random_),
        connection_(shared->options.connection, Connection::Commit::kExplicit),
        nodes_(&connection_, "INSERT INTO nodetable (type, version, time, data) VALUES ", "") {}

  void Run() {
    connection_.Execute("TRUNCATE TABLE nodetable");
    connection_.Execute("ALTER TABLE nodetable AUTO_INCREMENT = " + std::to_string(kFirstId));
    for (uint64_t id = kFirstId; id < shared_.graph.end_id() && !shared_.stop.stopped(); ++id) {
      nodes_.NextRow() << "(" << kNodeType << ", 1, " << NowSeconds() << ", " << Literal{data_.Generate()} << ")";
      if (nodes_.full()) Flush();
    }
    Flush();
  }

  LoadReport report;

 private:
  void Flush() {
    const Connection::Outcome batch = nodes_.Flush(&report.retries, &report.node_batches);
    const uint64_t expected = kFirstId + shared_.nodes;
    if (batch.affected_rows != 0 && batch.insert_id != expected) {
      throw SqlError(0, "the server generated node id " + std::to_string(batch.insert_id) + " where " +
                            std::to_string(expected) + " was expected: ids must be consecutive");
    }
    shared_.nodes += batch.affected_rows;
  }

  Shared& shared_;
  Random random_;
  PayloadGenerator data_;
  Connection connection_;
  Batch nodes_;
};

void Merge(const LoadReport& part, LoadReport* whole) {
  whole->retries.Merge(part.retries);
  whole->node_batches.Merge(part.node_batches);
  whole->link_batches.Merge(part.link_batches);
  whole->count_batches.Merge(part.count_batches);
}

void PrintProgress(const Shared& shared, double seconds) {
  const uint64_t rows = shared.nodes + shared.links + shared.counts;
  std::fprintf(stderr, "load  %6.0f s  %10llu of %llu nodes  %10llu links  %9.0f rows/s\n", seconds,
               static_cast<unsigned long long>(shared.nodes), static_cast<unsigned long long>(shared.graph.ids()),
               static_cast<unsigned long long>(shared.links), static_cast<double>(rows) / seconds);
}

}  // namespace

LoadReport Load(const Graph& graph, const Profile& profile, const LoadOptions& options, StopFlag* stop) {
  Shared shared{graph, profile, options, *stop, (graph.ids() + kChunkIds - 1) / kChunkIds};
  NodeLoader node_loader(&shared);
  std::vector<std::unique_ptr<LinkLoader>> link_loaders;
  std::vector<std::function<void()>> tasks = {[&] { node_loader.Run(); }};
  for (unsigned i = 0; i < options.loaders; ++i) {
    auto& loader = *link_loaders.emplace_back(std::make_unique<LinkLoader>(&shared, i));
    tasks.push_back([&loader] { loader.Run(); });
  }
  const auto start = Clock::now();
  LoadReport report;
  {
    const Ticker ticker(std::chrono::seconds(options.interval_seconds),
                        [&] { PrintProgress(shared, SecondsSince(start)); });
    report.error = RunThreads(tasks, stop);
  }
  report.seconds = SecondsSince(start);
  report.nodes = shared.nodes;
  report.links = shared.links;
  report.counts = shared.counts;
  Merge(node_loader.report, &report);
  for (const auto& loader : link_loaders) Merge(loader->report, &report);
  PrintProgress(shared, report.seconds);
  return report;
}

}  // namespace cairn::bench::linkbench

// SPDX-License-Identifier: GPL-2.0-only
// The request phase: the ten operations in their mix, from several threads.
#include "requester.h"

#include <atomic>
#include <cstdio>

#include "access_pattern.h"
#include "link_store.h"
#include "payload.h"
#include "threads.h"

namespace cairn::bench::linkbench {
namespace {

// The last link of a list that was longer than the limit.
struct ListTail {
  uint64_t id1;
  uint64_t type_id;
  uint64_t time_ms;
};

// One thread of requests. Thread rule: the counters may be read by any thread, the rest belongs to one.
class Requester {
 public:
  Requester(const AccessPattern* access, const Profile& profile, const RequestOptions& options, unsigned number)
      : access_(*access),
        mix_(profile),
        random_(options.seed, 1 + number),
        add_link_data_(profile.link_data, &random_),
        update_link_data_(profile.link_data, &random_),
        add_node_data_(profile.node_data, &random_),
        update_node_data_(profile.node_data, &random_),
        store_((options.prepared ? MakePreparedLinkStore : MakeTextLinkStore)(
            Connection(options.connection, Connection::Commit::kAutomatic),
            Connection(options.connection, Connection::Commit::kExplicit))) {}

  // Runs up to `requests` requests (0: no limit) until `end` or stopped. Throws SqlError when it gives up.
  void Run(Clock::time_point end, uint64_t requests, const StopFlag& stop) {
    report_ = std::make_unique<RequestReport>();
    auto start = Clock::now();
    for (uint64_t i = 0; (requests == 0 || i < requests) && start < end && !stop.stopped(); ++i) {
      const Operation operation = mix_.Draw(random_);
      const bool succeeded = Attempt(operation);
      const auto now = Clock::now();
      if (succeeded) Record(operation, static_cast<uint64_t>(std::chrono::nanoseconds(now - start).count()));
      start = now;
    }
  }

  std::unique_ptr<RequestReport> TakeReport() { return std::move(report_); }
  uint64_t done() const { return done_.load(std::memory_order_relaxed); }

  // The longest request since the last call.
  uint64_t TakeLatencyMax() { return latency_ns_max_.exchange(0, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kFailedMax = 100;
  static constexpr size_t kTailsMax = 2048;
  static constexpr double kHistoryShare = 0.003;

  OperationReport& report(Operation operation) { return report_->operations[static_cast<size_t>(operation)]; }

  bool Attempt(Operation operation) {
    try {
      Perform(operation);
      return true;
    } catch (const SqlError& error) {
      report_->last_error = error.what();
      if (++report_->failed >= kFailedMax || error.IsConnectionLost()) throw;
      return false;
    }
  }

  void Record(Operation operation, uint64_t latency_ns) {
    report(operation).latency_ns.Add(latency_ns);
    done_.fetch_add(1, std::memory_order_relaxed);
    if (latency_ns > latency_ns_max_.load(std::memory_order_relaxed)) latency_ns_max_.store(latency_ns);
  }

  template <typename Transaction>
  auto Retrying(Transaction&& transaction) {
    return WithRetries(store_->write_connection(), &report_->retries, transaction);
  }

  void Perform(Operation operation) {
    switch (operation) {
      case Operation::kAddLink: return PutLink(operation, AccessPattern::kAddAim, add_link_data_.Generate());
      case Operation::kUpdateLink: return PutLink(operation, AccessPattern::kUpdateAim, update_link_data_.Generate());
      case Operation::kDeleteLink: return DeleteLink();
      case Operation::kCountLink: return CountLink();
      case Operation::kMultigetLink: return MultigetLink();
      case Operation::kGetLinksList: return GetLinksList();
      case Operation::kAddNode: return AddNode();
      case Operation::kUpdateNode: return UpdateNode();
      case Operation::kDeleteNode: return DeleteNode();
      case Operation::kGetNode: return GetNode();
    }
  }

  void PutLink(Operation operation, double aim, const std::string& data) {
    const LinkSource source = access_.LinkWrite(random_);
    const LinkKey key = {source.id1, source.type_id, AccessPattern::Target(source, aim, random_)};
    report(operation).found += Retrying([&] { return store_->AddLink(key, data); });
  }

  void DeleteLink() {
    const LinkSource source = access_.LinkWrite(random_);
    const LinkKey key = {source.id1, source.type_id, AccessPattern::Target(source, AccessPattern::kDeleteAim, random_)};
    report(Operation::kDeleteLink).found += Retrying([&] { return store_->DeleteLink(key); });
  }

  void CountLink() {
    const LinkSource source = access_.LinkRead(random_);
    const auto count = Retrying([&] { return store_->CountLinks(source.id1, source.type_id); });
    report(Operation::kCountLink).found += count.has_value();
  }

  void MultigetLink() {
    const LinkSource source = access_.LinkRead(random_);
    AccessPattern::Targets(source, random_, &targets_);
    OperationReport& facts = report(Operation::kMultigetLink);
    facts.found += Retrying([&] { return store_->MultigetLinks(source.id1, source.type_id, targets_); });
    facts.requested += targets_.size();
  }

  void GetLinksList() {
    const bool history = !tails_.empty() && random_.Unit() < kHistoryShare;
    ListTail list;
    LinkStore::Range range;
    if (history) {
      list = tails_[random_.Below(tails_.size())];
      range = {.time_ms_max = list.time_ms, .skip_rows = 1};
    } else {
      const LinkSource source = access_.LinkRead(random_);
      list = {source.id1, source.type_id, 0};
    }
    const auto result = Retrying([&] { return store_->GetLinksList(list.id1, list.type_id, range); });
    RecordRange(result.rows, history);
    if (result.rows >= LinkStore::kRangeRowsMax) Remember({list.id1, list.type_id, result.last_time_ms});
  }

  void RecordRange(uint64_t rows, bool history) {
    RangeReport& facts = report_->range;
    facts.rows.Add(rows);
    facts.all_rows += rows;
    facts.empty += rows == 0;
    facts.history += history;
    if (history) facts.history_rows += rows;
    if (rows >= LinkStore::kRangeRowsMax) {
      ++facts.limit_hits;
      facts.limit_rows += rows;
    }
    report(Operation::kGetLinksList).found += rows != 0;
  }

  void Remember(const ListTail& tail) {
    if (tails_.size() < kTailsMax) {
      tails_.push_back(tail);
    } else {
      tails_[next_tail_++ % kTailsMax] = tail;
    }
  }

  void AddNode() {
    const std::string& data = add_node_data_.Generate();
    report(Operation::kAddNode).found += Retrying([&] { return store_->AddNode(data); }) != 0;
  }

  void UpdateNode() {
    const uint64_t id = access_.NodeUpdate(random_);
    const std::string& data = update_node_data_.Generate();
    report(Operation::kUpdateNode).found += Retrying([&] { return store_->UpdateNode(id, data); });
  }

  void DeleteNode() {
    const uint64_t id = access_.NodeDelete(random_);
    report(Operation::kDeleteNode).found += Retrying([&] { return store_->DeleteNode(id); });
  }

  void GetNode() {
    const uint64_t id = access_.NodeRead(random_);
    report(Operation::kGetNode).found += Retrying([&] { return store_->GetNode(id); });
  }

  const AccessPattern& access_;
  const WorkloadMix mix_;
  Random random_;
  PayloadGenerator add_link_data_;
  PayloadGenerator update_link_data_;
  PayloadGenerator add_node_data_;
  PayloadGenerator update_node_data_;
  std::unique_ptr<LinkStore> store_;
  std::vector<uint64_t> targets_;
  std::vector<ListTail> tails_;
  size_t next_tail_ = 0;
  std::unique_ptr<RequestReport> report_;
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> latency_ns_max_{0};
};

}  // namespace

void RequestReport::Merge(const RequestReport& part) {
  failed += part.failed;
  if (!part.last_error.empty()) last_error = part.last_error;
  retries.Merge(part.retries);
  for (size_t i = 0; i < kOperations; ++i) {
    operations[i].latency_ns.Merge(part.operations[i].latency_ns);
    operations[i].found += part.operations[i].found;
    operations[i].requested += part.operations[i].requested;
    transactions += part.operations[i].latency_ns.count();
  }
  range.rows.Merge(part.range.rows);
  range.empty += part.range.empty;
  range.limit_hits += part.range.limit_hits;
  range.limit_rows += part.range.limit_rows;
  range.all_rows += part.range.all_rows;
  range.history += part.range.history;
  range.history_rows += part.range.history_rows;
}

struct RequestPhase::State {
  State(const Graph& graph, const RequestOptions& options, StopFlag* stop)
      : access(graph), options(options), stop(*stop) {}

  // Adds what happened since the previous interval to the report, and prints it. A rest too short to
  // have a meaningful rate is left out.
  void EndInterval(double second, const char* title, RequestReport* report) {
    constexpr double kSecondsMin = 0.5;
    if (!report->intervals.empty() && second - report->intervals.back().end_second < kSecondsMin) return;
    uint64_t done = 0;
    uint64_t latency_ns_max = 0;
    for (const auto& requester : requesters) {
      done += requester->done();
      latency_ns_max = std::max(latency_ns_max, requester->TakeLatencyMax());
    }
    const double before = report->intervals.empty() ? 0 : report->intervals.back().end_second;
    const uint64_t transactions = done - done_at_interval;
    done_at_interval = done;
    const double tps = second > before ? static_cast<double>(transactions) / (second - before) : 0;
    report->intervals.push_back({second, transactions, tps, latency_ns_max});
    std::fprintf(stderr, "%-6s%6.0f s  %9.0f transactions/s  longest %.1f ms\n", title, second, tps,
                 static_cast<double>(latency_ns_max) / 1e6);
  }

  const AccessPattern access;
  const RequestOptions& options;
  StopFlag& stop;
  std::vector<std::unique_ptr<Requester>> requesters;
  uint64_t done_at_interval = 0;
};

RequestPhase::RequestPhase(const Graph& graph, const Profile& profile, const RequestOptions& options, StopFlag* stop)
    : state_(std::make_unique<State>(graph, options, stop)) {
  for (unsigned i = 0; i < options.threads; ++i) {
    state_->requesters.push_back(std::make_unique<Requester>(&state_->access, profile, options, i));
  }
}

RequestPhase::~RequestPhase() = default;

std::unique_ptr<RequestReport> RequestPhase::Run(const RequestLimits& limits, const char* title) {
  auto report = std::make_unique<RequestReport>();
  const auto start = Clock::now();
  const std::chrono::duration<double> limit(limits.seconds);
  const auto end = limits.seconds == 0 ? Clock::time_point::max()
                                       : start + std::chrono::duration_cast<Clock::duration>(limit);
  std::vector<std::function<void()>> tasks;
  const uint64_t threads = state_->requesters.size();
  for (uint64_t i = 0; i < threads; ++i) {
    const uint64_t share = limits.requests / threads + (i < limits.requests % threads ? 1 : 0);
    if (limits.requests != 0 && share == 0) continue;
    tasks.push_back([this, i, end, share] { state_->requesters[i]->Run(end, share, state_->stop); });
  }
  {
    const Ticker ticker(std::chrono::seconds(state_->options.interval_seconds),
                        [&] { state_->EndInterval(SecondsSince(start), title, report.get()); });
    report->error = RunThreads(tasks, &state_->stop);
  }
  report->seconds = SecondsSince(start);
  state_->EndInterval(report->seconds, title, report.get());
  for (const auto& requester : state_->requesters) {
    if (const auto part = requester->TakeReport()) report->Merge(*part);
  }
  return report;
}

}  // namespace cairn::bench::linkbench

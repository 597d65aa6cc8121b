// SPDX-License-Identifier: GPL-2.0-only
// One step of inserts, with or without deletes and queries beside them.
#include "phase.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "threads.h"
#include "workers.h"

namespace cairn::bench::insert {
namespace {

double ClientCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

uint64_t RowsPerReport(const PhaseOptions& options) {
  if (options.rows_per_report != 0) return options.rows_per_report;
  return std::clamp<uint64_t>(options.rows / 10, 1, options.generation->rows_per_report);
}

// Each step draws other values: what was inserted before goes into the seed.
PhaseOptions WithOwnSeed(PhaseOptions options, const TableTotals& totals) {
  for (const auto& [table, each] : totals) options.seed = options.seed * 31 + each.inserted;
  return options;
}

// The workers of a step, and the clock beside them.
class Phase {
 public:
  Phase(const PhaseOptions& options, const TableTotals& totals, StopFlag* stop)
      : options_(WithOwnSeed(options, totals)), text_(options.seed), shared_(options_, RowsPerReport(options), stop) {
    for (const std::string& name : options_.tables) {
      tables_.push_back(std::make_unique<SharedTable>());
      tables_.back()->name = name;
    }
    if (options_.deletes) {
      for (const auto& table : tables_) {
        deleters_.push_back(std::make_unique<Deleter>(&shared_, table.get()));
        Add(Kind::kDelete, &deleters_.back()->meter());
      }
    }
    for (unsigned i = 0; i < options_.clients; ++i) AddClient(i);
  }

  PhaseReport Run() {
    PhaseReport report;
    report.rows_wanted = options_.rows;
    const RateLimit limit(options_.rows_per_second, options_.rows_per_commit);
    report.rows_per_second_wanted =
        static_cast<double>(limit.rounds_per_second() * options_.rows_per_commit * options_.clients);
    std::vector<std::function<void()>> tasks;
    for (const auto& writer : writers_) tasks.emplace_back([&] { writer->Run(); });
    for (const auto& deleter : deleters_) tasks.emplace_back([&] { deleter->Run(); });
    for (const auto& querier : queriers_) tasks.emplace_back([&] { querier->Run(); });
    const double cpu_seconds_before = ClientCpuSeconds();
    shared_.start = Clock::now();
    if (options_.max_seconds > 0) {
      const std::chrono::duration<double> limit_seconds(options_.max_seconds);
      shared_.deadline = shared_.start + std::chrono::duration_cast<Clock::duration>(limit_seconds);
    }
    {
      const Ticker ticker(std::chrono::seconds(1), [&] { EndSecond(SecondsSince(shared_.start), &report); });
      report.error = RunThreads(tasks, &shared_.stop);
    }
    report.seconds = SecondsSince(shared_.start);
    report.client_cpu_seconds = ClientCpuSeconds() - cpu_seconds_before;
    EndSecond(report.seconds, &report);
    Collect(&report);
    return report;
  }

  void AddTo(TableTotals* totals) {
    for (const auto& writer : writers_) (*totals)[writer->table().name].inserted += writer->meter().done();
    for (const auto& deleter : deleters_) (*totals)[deleter->table().name].deleted += deleter->meter().done();
  }

 private:
  void Add(Kind kind, Meter* meter) { meters_[static_cast<size_t>(kind)].push_back(meter); }

  void AddClient(unsigned number) {
    SharedTable* table = tables_[number % tables_.size()].get();
    const uint64_t rows = options_.rows / options_.clients + (number < options_.rows % options_.clients ? 1 : 0);
    // Stream 0 is the text's.
    const uint64_t stream = 1 + 2 * uint64_t{number};
    writers_.push_back(std::make_unique<Writer>(&shared_, table, text_, rows, stream));
    Add(Kind::kInsert, &writers_.back()->meter());
    if (options_.query == QueryKind::kNone) return;
    queriers_.push_back(std::make_unique<Querier>(&shared_, table, stream + 1));
    Add(Kind::kQuery, &queriers_.back()->meter());
  }

  // Notes what happened since the second before. A rest too short for a meaningful rate is added to that.
  void EndSecond(double now, PhaseReport* report) {
    constexpr double kSecondsMin = 0.5;
    std::vector<Second>& timeline = report->timeline;
    const double before = timeline.empty() ? 0 : timeline.back().end_second;
    const bool is_new = timeline.empty() || now - before >= kSecondsMin;
    if (is_new) timeline.emplace_back();
    Second& second = timeline.back();
    second.end_second = now;
    second.length_seconds += now - before;
    for (size_t kind = 0; kind < kKinds; ++kind) {
      uint64_t done = 0;
      for (Meter* meter : meters_[kind]) {
        done += meter->done();
        const Meter::Sample sample = meter->Take();
        second.max_ns[kind] = std::max(second.max_ns[kind], sample.max_ns);
        second.stall_ns[kind] = std::max(second.stall_ns[kind], sample.stall_ns);
      }
      second.done[kind] += done - done_[kind];
      done_[kind] = done;
    }
    const auto number = static_cast<unsigned>(timeline.size());
    if (is_new && number % options_.interval_seconds == 0) Print(second);
  }

  void Print(const Second& second) const {
    std::fprintf(stderr, "%6.0f s  %llu of %llu rows", second.end_second,
                 static_cast<unsigned long long>(done_[0]), static_cast<unsigned long long>(options_.rows));
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (meters_[kind].empty()) continue;
      std::fprintf(stderr, "  %s: %.0f/s, longest %.1f ms", kKindNames[kind],
                   static_cast<double>(second.done[kind]) / second.length_seconds,
                   static_cast<double>(second.stall_ns[kind]) / 1e6);
    }
    std::fputc('\n', stderr);
  }

  void Collect(PhaseReport* report) {
    for (size_t kind = 0; kind < kKinds; ++kind) {
      for (Meter* meter : meters_[kind]) {
        report->done[kind] += meter->done();
        report->times[kind].Merge(meter->times());
      }
    }
    for (const auto& writer : writers_) report->retries.Merge(writer->retries());
    for (const auto& deleter : deleters_) {
      report->retries.Merge(deleter->retries());
      const std::vector<double>& found = deleter->min_id_seconds();
      report->min_id_seconds.insert(report->min_id_seconds.end(), found.begin(), found.end());
    }
    for (const auto& querier : queriers_) {
      report->retries.Merge(querier->retries());
      report->query_rows += querier->rows();
    }
    report->checkpoints = shared_.checkpoints.checkpoints();
  }

  const PhaseOptions options_;
  const RandomText text_;
  SharedPhase shared_;
  std::vector<std::unique_ptr<SharedTable>> tables_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::vector<std::unique_ptr<Deleter>> deleters_;
  std::vector<std::unique_ptr<Querier>> queriers_;
  std::array<std::vector<Meter*>, kKinds> meters_;
  std::array<uint64_t, kKinds> done_{};
};

}  // namespace

PhaseReport RunPhase(const PhaseOptions& options, TableTotals* totals, StopFlag* stop) {
  Phase phase(options, *totals, stop);
  PhaseReport report = phase.Run();
  phase.AddTo(totals);
  return report;
}

}  // namespace cairn::bench::insert

// SPDX-License-Identifier: GPL-2.0-only
// The threads of a step: writers, deleters and queriers.
#include "workers.h"

#include <ctime>

namespace cairn::bench::insert {
namespace {

// The server's time zone is the client's: both are on one machine, or it does not matter.
std::string DateTime(std::time_t second) {
  std::tm local{};
  localtime_r(&second, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

template <typename Statement>
auto Measured(Meter* meter, Statements& statements, Retries* retries, Statement&& statement) {
  meter->Begin();
  return WithRetries(statements.connection(), retries, statement);
}

}  // namespace

std::unique_ptr<Statements> MakeStatements(const PhaseOptions& options, const std::string& table) {
  return (options.prepared ? MakePreparedStatements : MakeTextStatements)(options.connection, table,
                                                                          *options.generation);
}

Writer::Writer(SharedPhase* phase, SharedTable* table, const RandomText& text, uint64_t rows, uint64_t stream)
    : phase_(*phase),
      table_(*table),
      statements_(MakeStatements(phase->options, table->name)),
      generator_(*phase->options.generation, text, phase->options.seed, stream),
      limit_(phase->options.rows_per_second, phase->options.rows_per_commit),
      rows_(rows) {
  if (!phase_.options.writer_sql.empty()) statements_->connection().Execute(phase_.options.writer_sql);
  ++table_.writers;
}

void Writer::Run() {
  // The table's last writer ends its deletes, however it ends itself.
  struct Ending {
    SharedTable& table;
    const StopFlag& stop;
    ~Ending() {
      if (--table.writers == 0) table.deletes.Close(/*drop=*/stop.stopped());
    }
  } const ending{table_, phase_.stop};
  limit_.Start(phase_.start);
  while (inserted_ < rows_ && !phase_.stop.stopped() && Clock::now() < phase_.deadline) {
    Round(std::min(phase_.options.rows_per_commit, rows_ - inserted_));
    const auto rest_end = limit_.EndRound(Clock::now());
    if (rest_end) std::this_thread::sleep_until(*rest_end);
  }
}

void Writer::Round(uint64_t rows) {
  batch_.resize(rows);
  for (RowValues& row : batch_) row = generator_.Next();
  std::time_t now = std::time(nullptr);
  // The older generation's clock also advances with the rows, a second for 100,000.
  if (phase_.options.generation == &kIb2016) now += static_cast<std::time_t>(inserted_ / 100'000);
  const std::string datetime = DateTime(now);
  Measured(&meter_, *statements_, &retries_, [&] { statements_->Insert(datetime, batch_); });
  meter_.End(rows);
  inserted_ += rows;
  const uint64_t before = phase_.inserted.fetch_add(rows);
  phase_.checkpoints.Pass(before, before + rows, SecondsSince(phase_.start));
  if (phase_.options.deletes) table_.deletes.Push(rows);
}

Deleter::Deleter(SharedPhase* phase, SharedTable* table)
    : phase_(*phase), table_(*table), statements_(MakeStatements(phase->options, table->name)) {
  FindFirst();
}

void Deleter::FindFirst() {
  const auto start = Clock::now();
  next_id_ = statements_->MinId();
  min_id_seconds_.push_back(SecondsSince(start));
  table_.first_id.store(next_id_, std::memory_order_relaxed);
}

void Deleter::Run() {
  constexpr uint64_t kRoundsPerSearch = 1000;
  // Writers must not wait for a deleter that has failed.
  struct Ending {
    DeleteQueue& queue;
    ~Ending() { queue.Close(/*drop=*/true); }
  } const ending{table_.deletes};
  for (uint64_t round = 1; const auto rows = table_.deletes.Pop(); ++round) {
    if (phase_.stop.stopped()) break;
    const uint64_t deleted =
        Measured(&meter_, *statements_, &retries_, [&] { return statements_->Delete(next_id_, *rows); });
    meter_.End(deleted);
    next_id_ += *rows;
    table_.first_id.store(next_id_, std::memory_order_relaxed);
    if (round % kRoundsPerSearch == 0) FindFirst();
  }
}

Querier::Querier(SharedPhase* phase, SharedTable* table, uint64_t stream)
    : phase_(*phase),
      table_(*table),
      statements_(MakeStatements(phase->options, table->name)),
      random_(phase->options.seed, stream) {
  if (table_.first_id == 0) table_.first_id = statements_->MinId();
}

void Querier::Run() {
  while (table_.writers != 0 && !phase_.stop.stopped()) {
    rows_ += phase_.options.query == QueryKind::kRange ? Range() : Points();
    ++queries_;
  }
}

uint64_t Querier::Range() {
  const Generation& generation = *phase_.options.generation;
  const size_t index = random_.Below(generation.indexes.size());
  const uint64_t start = DrawRangeStart(generation.indexes[index].start, generation, &random_);
  const uint64_t rows =
      Measured(&meter_, *statements_, &retries_, [&] { return statements_->Range(index, start); });
  meter_.End(1);
  return rows;
}

uint64_t Querier::Points() {
  constexpr uint64_t kQueriesPerSearch = 100;
  constexpr size_t kIds = 10;
  if (queries_ % kQueriesPerSearch == 0) last_id_ = statements_->MaxId();
  const uint64_t first_id = table_.first_id.load(std::memory_order_relaxed);
  std::array<uint64_t, kIds> ids;
  for (uint64_t& id : ids) id = first_id + (last_id_ > first_id ? random_.Below(last_id_ - first_id + 1) : 0);
  const uint64_t rows = Measured(&meter_, *statements_, &retries_, [&] { return statements_->Points(ids); });
  meter_.End(1);
  return rows;
}

}  // namespace cairn::bench::insert

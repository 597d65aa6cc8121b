// SPDX-License-Identifier: GPL-2.0-only
// What one invocation found out, and its JSON text (fields: README.md).
#include "report_json.h"

#include <algorithm>

#include "result_json.h"

namespace cairn::bench::insert {
namespace {

double Ms(uint64_t ns) { return static_cast<double>(ns) / 1e6; }

template <typename Values, typename Convert>
void WriteArray(JsonWriter& json, std::string_view key, const Values& values, Convert&& convert) {
  json.Key(key);
  json.BeginArray();
  for (const auto& value : values) json.Value(convert(value));
  json.EndArray();
}

void WriteClasses(JsonWriter& json, const ResponseTimes& times) {
  json.Key("response_times");
  json.BeginArray();
  for (size_t i = 0; i < times.classes.size(); ++i) {
    json.BeginObject();
    json.Key("up_to_ms");
    i < times.kBoundsNs.size() ? json.Value(Ms(times.kBoundsNs[i])) : json.Null();
    json.Field("count", times.classes[i]);
    json.EndObject();
  }
  json.EndArray();
}

void WriteStatement(JsonWriter& json, const PhaseReport& phase, Kind kind) {
  constexpr size_t kSlices = 10;
  constexpr size_t kLargest = 3;
  const auto number = static_cast<size_t>(kind);
  const ResponseTimes& times = phase.times[number];
  json.Key(kKindNames[number]);
  if (times.latency_ns.count() == 0) return json.Null();
  json.BeginObject();
  json.Field("count", times.latency_ns.count());
  WriteLatency(json, times.latency_ns);
  WriteClasses(json, times);
  json.Field("rate", phase.Rate(kind));
  json.Key("rate_reached_by");
  json.BeginObject();
  for (const int percent : {50, 75, 90, 95, 99}) {
    json.Field("p" + std::to_string(percent), RateReachedBy(percent, kind, phase.timeline));
  }
  json.EndObject();
  WriteArray(json, "rate_slices", RateSlices(kSlices, kind, phase.timeline), [](double rate) { return rate; });
  WriteArray(json, "largest_ms", LargestNs(kLargest, kind, phase.timeline), Ms);
  uint64_t stall_ns = 0;
  for (const Second& second : phase.timeline) stall_ns = std::max(stall_ns, second.stall_ns[number]);
  json.Field("stall_max_ms", Ms(stall_ns));
  json.EndObject();
}

void WriteTimeline(JsonWriter& json, const std::vector<Second>& timeline) {
  json.Key("timeline");
  json.BeginArray();
  for (const Second& second : timeline) {
    json.BeginObject();
    json.Field("second", second.end_second);
    json.Field("length_seconds", second.length_seconds);
    for (size_t kind = 0; kind < kKinds; ++kind) {
      const std::string name = kKindNames[kind];
      json.Field(name, second.done[kind]);
      json.Field("max_" + name + "_ms", Ms(second.max_ns[kind]));
      json.Field("stall_" + name + "_ms", Ms(second.stall_ns[kind]));
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteReports(JsonWriter& json, const PhaseReport& phase) {
  json.Key("reports");
  json.BeginArray();
  Checkpoint before{0, 0};
  for (const Checkpoint& each : phase.checkpoints) {
    const double seconds = each.second - before.second;
    json.BeginObject();
    json.Field("rows", each.rows);
    json.Field("second", each.second);
    json.Field("ips", each.second > 0 ? static_cast<double>(each.rows) / each.second : 0);
    json.Field("last_ips", seconds > 0 ? static_cast<double>(each.rows - before.rows) / seconds : 0);
    json.EndObject();
    before = each;
  }
  json.EndArray();
}

void WriteMinId(JsonWriter& json, const std::vector<double>& seconds) {
  json.Key("min_id_query");
  if (seconds.empty()) return json.Null();
  json.BeginObject();
  json.Field("count", seconds.size());
  json.Field("first_ms", seconds.front() * 1e3);
  json.Field("max_ms", *std::ranges::max_element(seconds) * 1e3);
  json.EndObject();
}

void WritePhase(JsonWriter& json, const PhaseOptions& options, const PhaseReport& phase) {
  const Checkpoint end{phase.inserted(), phase.seconds};
  json.BeginObject();
  json.Field("seconds", phase.seconds);
  json.Field("client_cpu_seconds", phase.client_cpu_seconds);
  json.Field("complete", phase.complete());
  json.Field("rows_wanted", phase.rows_wanted);
  json.Field("rows_per_commit", options.rows_per_commit);
  json.Field("inserted", phase.inserted());
  json.Field("deleted", phase.done[static_cast<size_t>(Kind::kDelete)]);
  json.Field("queries", phase.done[static_cast<size_t>(Kind::kQuery)]);
  json.Field("query_rows", phase.query_rows);
  json.Field("ips", phase.Rate(Kind::kInsert));
  json.Field("dps", phase.Rate(Kind::kDelete));
  json.Field("qps", phase.Rate(Kind::kQuery));
  json.Field("last_tenth_ips", RateOfLast(0.1, phase.checkpoints, end));
  const uint64_t interval_rows = phase.checkpoints.empty() ? end.rows : phase.checkpoints.front().rows;
  json.Field("last_ips", RateOfLastRows(interval_rows, phase.checkpoints, end));
  json.Key("sla");
  if (phase.rows_per_second_wanted > 0) {
    json.BeginObject();
    json.Field("wanted_ips", phase.rows_per_second_wanted);
    json.Field("kept", phase.KeptRate());
    json.EndObject();
  } else {
    json.Null();
  }
  WriteRetries(json, phase.retries);
  json.Key("statements");
  json.BeginObject();
  for (size_t kind = 0; kind < kKinds; ++kind) WriteStatement(json, phase, static_cast<Kind>(kind));
  json.EndObject();
  WriteMinId(json, phase.min_id_seconds);
  WriteReports(json, phase);
  WriteTimeline(json, phase.timeline);
  json.EndObject();
}

void WriteIndex(JsonWriter& json, const IndexBuildReport& index) {
  json.BeginObject();
  json.Field("seconds", index.seconds);
  json.Field("rows", index.rows);
  json.Key("statements");
  json.BeginArray();
  for (const IndexBuildReport::Statement& statement : index.statements) {
    json.BeginObject();
    json.Field("text", statement.text);
    json.Field("seconds", statement.seconds);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteValidate(JsonWriter& json, const ValidateReport& validate) {
  json.BeginObject();
  json.Field("seconds", validate.seconds);
  json.Field("consistent", validate.consistent());
  json.Field("rows", validate.rows);
  json.Field("indexes", validate.indexes);
  WriteArray(json, "problems", validate.problems, [](const std::string& text) { return std::string_view(text); });
  json.EndObject();
}

}  // namespace

std::string ToJson(const Report& report) {
  const Options& options = report.options;
  JsonWriter json;
  json.BeginObject();
  json.Field("benchmark", "insert");
  json.Field("format", 1);
  json.Field("command", options.command);
  json.Field("generation", options.phase.generation->name);
  json.Field("engine", options.schema.engine);
  json.Field("database", options.schema.database);
  json.Field("clients", options.phase.clients);
  json.Field("tables", options.phase.tables.size());
  json.Field("prepared", options.phase.prepared);
  json.Field("seed", options.phase.seed);
  json.Field("started_at", report.started_at);
  json.Field("interrupted", report.interrupted);
  json.Field("ok", report.ok());
  json.Field("error", NullIfEmpty(report.error));
  json.Key("step");
  report.phase ? WritePhase(json, options.phase, *report.phase) : json.Null();
  json.Key("index");
  report.index ? WriteIndex(json, *report.index) : json.Null();
  json.Key("validate");
  report.validate ? WriteValidate(json, *report.validate) : json.Null();
  json.EndObject();
  return json.text() + "\n";
}

}  // namespace cairn::bench::insert

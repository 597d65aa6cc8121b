// SPDX-License-Identifier: GPL-2.0-only
// Everything one invocation found out, and its JSON text (fields: README.md).
#include "report_json.h"

#include <unistd.h>

#include "json_writer.h"
#include "result_json.h"

namespace cairn::bench::linkbench {
namespace {

double PerOperation(double total, uint64_t operations) {
  return operations == 0 ? 0 : total / static_cast<double>(operations);
}

double Percent(uint64_t part, uint64_t whole) { return 100.0 * PerOperation(static_cast<double>(part), whole); }

double Rate(uint64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }

void WriteCounters(JsonWriter& json, const Counters& counters) {
  for (const auto& [name, value] : counters) json.Field(name, value);
}

void WriteCpu(JsonWriter& json, const CpuSeconds& cpu) {
  json.Field("user_seconds", cpu.user);
  json.Field("system_seconds", cpu.system);
  json.Field("cpu_seconds", cpu.user + cpu.system);
}

// One phase's metrics. All totals are after - before.
class MetricsText {
 public:
  MetricsText(JsonWriter* json, const Report& report, const PhaseMetrics& metrics)
      : json_(*json),
        report_(report),
        metrics_(metrics),
        disk_(Difference(metrics.before.disk, metrics.after.disk)),
        server_io_(Difference(metrics.before.server_io, metrics.after.server_io)),
        client_cpu_(Since(metrics.before.client_cpu, metrics.after.client_cpu)) {
    if (metrics.before.server_cpu && metrics.after.server_cpu) {
      server_cpu_ = Since(*metrics.before.server_cpu, *metrics.after.server_cpu);
    }
  }

  void Write(const char* unit, uint64_t operations) {
    json_.Key("metrics");
    json_.BeginObject();
    WriteDisk();
    WriteServer();
    json_.Key("client");
    json_.BeginObject();
    WriteCpu(json_, client_cpu_);
    json_.Field("rss_peak_kb", metrics_.after.client_rss_peak_kb);
    json_.EndObject();
    WriteHost();
    json_.Key("sync_seconds");
    json_.BeginObject();
    json_.Field("before", metrics_.before.sync_seconds);
    json_.Field("after", metrics_.after.sync_seconds);
    json_.EndObject();
    WriteSizes();
    WritePerOperation(unit, operations);
    json_.EndObject();
  }

 private:
  static CpuSeconds Since(const CpuSeconds& before, const CpuSeconds& after) {
    return {after.user - before.user, after.system - before.system};
  }

  double HostBusySeconds() const { return metrics_.after.host_busy_seconds - metrics_.before.host_busy_seconds; }
  int64_t ContextSwitches() const {
    return metrics_.after.host_context_switches - metrics_.before.host_context_switches;
  }

  void WriteDisk() {
    json_.Key("disk");
    if (!disk_) return json_.Null();
    json_.BeginObject();
    json_.Field("device", report_.device->name);
    WriteCounters(json_, *disk_);
    json_.Field("read_ahead_kb", report_.device->read_ahead_kb);
    json_.Field("rotational", report_.device->rotational);
    json_.EndObject();
  }

  void WriteServer() {
    json_.Key("server");
    if (!server_cpu_) return json_.Null();
    json_.BeginObject();
    json_.Field("pid", report_.server_pid);
    WriteCpu(json_, *server_cpu_);
    if (metrics_.after.server_memory) WriteCounters(json_, *metrics_.after.server_memory);
    json_.Key("io");
    if (server_io_) {
      json_.BeginObject();
      WriteCounters(json_, *server_io_);
      json_.EndObject();
    } else {
      json_.Null();
    }
    json_.EndObject();
  }

  void WriteHost() {
    json_.Key("host");
    json_.BeginObject();
    json_.Field("busy_seconds", HostBusySeconds());
    json_.Field("steal_seconds", metrics_.after.host_steal_seconds - metrics_.before.host_steal_seconds);
    json_.Field("iowait_seconds", metrics_.after.host_iowait_seconds - metrics_.before.host_iowait_seconds);
    json_.Field("context_switches", ContextSwitches());
    json_.Field("cpus", sysconf(_SC_NPROCESSORS_ONLN));
    json_.EndObject();
  }

  void WriteSizes() {
    json_.Key("sizes");
    json_.BeginArray();
    for (const SizeOnDisk& size : metrics_.sizes) {
      json_.BeginObject();
      json_.Field("path", size.path);
      json_.Field("allocated_bytes", size.allocated_bytes);
      json_.Field("apparent_bytes", size.apparent_bytes);
      json_.Field("files", size.files);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WritePerOperation(const char* unit, uint64_t operations) {
    const auto micros = [&](double seconds) { return PerOperation(seconds * 1e6, operations); };
    const auto counter = [&](const std::optional<Counters>& counters, const char* name, double scale) {
      return counters ? std::optional(PerOperation(static_cast<double>(counters->at(name)) * scale, operations))
                      : std::nullopt;
    };
    json_.Key("per_operation");
    json_.BeginObject();
    json_.Field("unit", unit);
    for (const char* name : {"reads", "read_kb", "writes", "written_kb", "flushes", "discard_kb"}) {
      json_.Field(name, counter(disk_, name, 1));
    }
    json_.Field("server_cpu_us", server_cpu_ ? std::optional(micros(server_cpu_->user + server_cpu_->system))
                                             : std::nullopt);
    json_.Field("client_cpu_us", micros(client_cpu_.user + client_cpu_.system));
    json_.Field("host_cpu_us", micros(HostBusySeconds()));
    json_.Field("context_switches", PerOperation(static_cast<double>(ContextSwitches()), operations));
    json_.Field("server_read_kb", counter(server_io_, "read_bytes", 1.0 / 1024));
    json_.Field("server_written_kb", counter(server_io_, "write_bytes", 1.0 / 1024));
    json_.EndObject();
  }

  JsonWriter& json_;
  const Report& report_;
  const PhaseMetrics& metrics_;
  std::optional<Counters> disk_;
  std::optional<Counters> server_io_;
  std::optional<CpuSeconds> server_cpu_;
  CpuSeconds client_cpu_;
};

void WriteBatches(JsonWriter& json, const LoadReport& load) {
  const std::pair<const char*, const Histogram&> batches[] = {
      {"NODES", load.node_batches}, {"LINKS", load.link_batches}, {"COUNTS", load.count_batches}};
  json.Key("batches");
  json.BeginObject();
  for (const auto& [name, latency] : batches) {
    json.Key(name);
    json.BeginObject();
    json.Field("count", latency.count());
    WriteLatency(json, latency);
    json.EndObject();
  }
  json.EndObject();
}

void WriteLoad(JsonWriter& json, const Report& report) {
  json.Key("load");
  if (report.load == nullptr) return json.Null();
  const LoadReport& load = *report.load;
  const uint64_t rows = load.nodes + load.links + load.counts;
  json.BeginObject();
  json.Field("seconds", load.seconds);
  json.Field("loaders", report.loaders);
  json.Field("nodes", load.nodes);
  json.Field("links", load.links);
  json.Field("counts", load.counts);
  json.Field("links_per_node", PerOperation(static_cast<double>(load.links), load.nodes));
  json.Field("links_per_second", Rate(load.links, load.seconds));
  json.Field("rows_per_second", Rate(rows, load.seconds));
  WriteRetries(json, load.retries);
  WriteBatches(json, load);
  MetricsText(&json, report, report.load_metrics).Write("row", rows);
  json.EndObject();
}

void WriteOperations(JsonWriter& json, const RequestReport& run) {
  json.Key("operations");
  json.BeginObject();
  for (size_t i = 0; i < kOperations; ++i) {
    const OperationReport& operation = run.operations[i];
    json.Key(kOperationNames[i]);
    json.BeginObject();
    json.Field("count", operation.latency_ns.count());
    json.Field("percent", Percent(operation.latency_ns.count(), run.transactions));
    WriteLatency(json, operation.latency_ns);
    json.Field("found", operation.found);
    if (static_cast<Operation>(i) == Operation::kMultigetLink) json.Field("requested", operation.requested);
    json.EndObject();
  }
  json.EndObject();
}

void WriteRange(JsonWriter& json, const RangeReport& range) {
  json.Key("range_rows");
  json.BeginObject();
  json.Field("mean", range.rows.mean());
  json.Field("p50", range.rows.Percentile(50));
  json.Field("p95", range.rows.Percentile(95));
  json.Field("p99", range.rows.Percentile(99));
  json.Field("max", range.rows.max());
  json.Field("empty_percent", Percent(range.empty, range.rows.count()));
  json.Field("limit_hits", range.limit_hits);
  json.Field("limit_rows_percent", Percent(range.limit_rows, range.all_rows));
  json.Field("history", range.history);
  json.Field("history_rows_percent", Percent(range.history_rows, range.all_rows));
  json.EndObject();
}

void WriteRun(JsonWriter& json, const Report& report) {
  json.Key("run");
  if (report.run == nullptr) return json.Null();
  const RequestReport& run = *report.run;
  json.BeginObject();
  json.Field("seconds", run.seconds);
  json.Field("threads", report.threads);
  json.Field("prepared", report.prepared);
  json.Field("transactions", run.transactions);
  json.Field("tps", Rate(run.transactions, run.seconds));
  json.Field("failed", run.failed);
  json.Field("last_error", NullIfEmpty(run.last_error));
  WriteRetries(json, run.retries);
  WriteOperations(json, run);
  WriteRange(json, run.range);
  json.Key("intervals");
  json.BeginArray();
  for (const Interval& interval : run.intervals) {
    json.BeginObject();
    json.Field("second", interval.end_second);
    json.Field("transactions", interval.transactions);
    json.Field("tps", interval.tps);
    json.Field("max_ms", static_cast<double>(interval.latency_ns_max) / 1e6);
    json.EndObject();
  }
  json.EndArray();
  MetricsText(&json, report, report.run_metrics).Write("transaction", run.transactions);
  json.EndObject();
}

void WriteValidate(JsonWriter& json, const Report& report) {
  json.Key("validate");
  if (report.validate == nullptr) return json.Null();
  const ValidateReport& validate = *report.validate;
  json.BeginObject();
  json.Field("seconds", validate.seconds);
  json.Field("consistent", validate.consistent());
  json.Field("ids_checked", validate.ids_checked);
  json.Field("links_checked", validate.links_checked);
  json.Field("visible_links", validate.visible_links);
  json.Field("counts_checked", validate.counts_checked);
  json.Field("count_mismatches", validate.count_mismatches);
  json.Field("index_mismatches", validate.index_mismatches);
  json.Key("examples");
  json.BeginArray();
  for (const std::string& example : validate.examples) json.Value(example);
  json.EndArray();
  json.Field("sample", report.sample);
  json.EndObject();
}

void WriteServerFacts(JsonWriter& json, const std::optional<ServerFacts>& server) {
  json.Key("server");
  if (!server) return json.Null();
  json.BeginObject();
  json.Field("version", server->version);
  json.Field("isolation", server->isolation);
  json.Field("binlog", server->binlog);
  json.Field("engine_comment", server->engine_comment);
  json.EndObject();
}

}  // namespace

std::string ToJson(const Report& report) {
  JsonWriter json;
  json.BeginObject();
  json.Field("benchmark", "linkbench");
  json.Field("format", 1);
  json.Field("command", report.command);
  json.Field("profile", report.profile);
  json.Field("engine", report.engine);
  json.Field("database", report.database);
  json.Field("ids", report.ids);
  json.Field("max_degree", report.degree_max);
  json.Field("seed", report.seed);
  json.Field("started_at", report.started_at);
  json.Field("interrupted", report.interrupted);
  json.Field("ok", report.ok());
  json.Field("error", NullIfEmpty(report.error));
  WriteServerFacts(json, report.server);
  WriteLoad(json, report);
  WriteRun(json, report);
  WriteValidate(json, report);
  json.EndObject();
  return json.text() + "\n";
}

}  // namespace cairn::bench::linkbench

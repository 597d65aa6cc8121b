// SPDX-License-Identifier: GPL-2.0-only
// Results that every client writes in the same form.
#pragma once

#include <optional>
#include <string>

#include "histogram.h"
#include "json_writer.h"
#include "retry.h"

namespace cairn::bench {

// The latencies' members of an object, without its count.
inline void WriteLatency(JsonWriter& json, const Histogram& latency_ns) {
  const auto ms = [](uint64_t ns) { return static_cast<double>(ns) / 1e6; };
  json.Field("mean_ms", latency_ns.mean() / 1e6);
  json.Field("p25_ms", ms(latency_ns.Percentile(25)));
  json.Field("p50_ms", ms(latency_ns.Percentile(50)));
  json.Field("p75_ms", ms(latency_ns.Percentile(75)));
  json.Field("p95_ms", ms(latency_ns.Percentile(95)));
  json.Field("p99_ms", ms(latency_ns.Percentile(99)));
  json.Field("p999_ms", ms(latency_ns.Percentile(99.9)));
  json.Field("max_ms", ms(latency_ns.max()));
}

// The member "retries".
inline void WriteRetries(JsonWriter& json, const Retries& retries) {
  json.Key("retries");
  json.BeginObject();
  json.Field("deadlock_1213", retries.deadlock);
  json.Field("lock_wait_timeout_1205", retries.lock_wait_timeout);
  json.Field("record_changed_1020", retries.record_changed);
  json.EndObject();
}

inline std::optional<std::string> NullIfEmpty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace cairn::bench

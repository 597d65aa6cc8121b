// SPDX-License-Identifier: GPL-2.0-only
// What a phase cost the machine: exact differences of the kernel's counters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cairn::bench::linkbench {

struct MetricsOptions {
  int server_pid = 0;                   // 0: none
  std::string data_dir;                 // "": none
  std::string data_device = "auto";     // a name in /proc/diskstats, "auto" (that of data_dir) or "none"
  std::vector<std::string> size_paths;  // besides data_dir
};

struct CpuSeconds {
  double user = 0;
  double system = 0;
};

// Names to counters, e.g. of /proc/PID/io.
using Counters = std::map<std::string, int64_t>;

// The state of all counters at one moment. What cannot be read is absent.
struct MetricsSnapshot {
  double sync_seconds = 0;
  std::optional<Counters> disk;  // reads, read_kb, writes, ... as in the README
  std::optional<CpuSeconds> server_cpu;
  std::optional<Counters> server_io;
  std::optional<Counters> server_memory;  // rss_kb, rss_peak_kb
  CpuSeconds client_cpu;
  int64_t client_rss_peak_kb = 0;
  double host_busy_seconds = 0;
  double host_steal_seconds = 0;
  double host_iowait_seconds = 0;
  int64_t host_context_switches = 0;
};

struct SizeOnDisk {
  std::string path;
  uint64_t allocated_bytes = 0;
  uint64_t apparent_bytes = 0;
  uint64_t files = 0;
};

// Facts about the data device that change how its counters are read.
struct DeviceFacts {
  std::string name;
  std::optional<int64_t> read_ahead_kb;
  std::optional<int64_t> rotational;
};

// Reads the counters of one machine, server process and data directory.
//
// Thread rule: one thread.
class SystemMetrics {
 public:
  // Throws std::runtime_error when the process, directory or named device does not exist.
  explicit SystemMetrics(const MetricsOptions& options);

  // Syncs the data directory's file system, so that what was written counts, then reads all counters.
  MetricsSnapshot Take() const;

  // Data directory first, then the other paths. Files that vanish meanwhile are skipped.
  std::vector<SizeOnDisk> Sizes() const;

  const std::optional<DeviceFacts>& device() const { return device_; }
  int server_pid() const { return options_.server_pid; }

 private:
  MetricsOptions options_;
  std::optional<DeviceFacts> device_;  // absent: no block device behind the data directory
};

// after - before, name by name; absent unless both are there.
std::optional<Counters> Difference(const std::optional<Counters>& before, const std::optional<Counters>& after);

}  // namespace cairn::bench::linkbench

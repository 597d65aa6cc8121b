// SPDX-License-Identifier: GPL-2.0-only
// What a phase cost the machine: exact differences of the kernel's counters.
#include "system_metrics.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace cairn::bench::linkbench {
namespace {

namespace fs = std::filesystem;

double TicksToSeconds(int64_t ticks) { return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)); }

double ToSeconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string ProcPath(int pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

// The counters of the line of /proc/diskstats for which `is_wanted(major, minor, name)` holds, and its name.
template <typename Predicate>
std::optional<std::pair<std::string, Counters>> ReadDisk(Predicate is_wanted) {
  std::ifstream file("/proc/diskstats");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    unsigned major_number, minor_number;
    std::string name;
    fields >> major_number >> minor_number >> name;
    if (!fields || !is_wanted(major_number, minor_number, name)) continue;
    std::array<int64_t, 17> field{};
    for (int64_t& value : field) fields >> value;
    // Sectors are 512 bytes whatever the device.
    return {{name,
             {{"reads", field[0]},
              {"read_kb", field[2] / 2},
              {"read_ms", field[3]},
              {"writes", field[4]},
              {"written_kb", field[6] / 2},
              {"write_ms", field[7]},
              {"busy_ms", field[9]},
              {"discards", field[11]},
              {"discard_kb", field[13] / 2},
              {"flushes", field[15]}}}};
  }
  return std::nullopt;
}

std::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  int64_t number;
  if (file >> number) return number;
  return std::nullopt;
}

// "name: number ..." lines.
Counters ReadNamedNumbers(const std::string& path) {
  Counters counters;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream rest(line.substr(colon + 1));
    int64_t number;
    if (rest >> number) counters[line.substr(0, colon)] = number;
  }
  return counters;
}

std::optional<CpuSeconds> ReadProcessCpu(int pid) {
  std::ifstream file(ProcPath(pid, "stat"));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The command's name is in parentheses and may hold anything; utime and stime are 12th and 13th after it.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  int64_t user_ticks, system_ticks;
  if (!(fields >> user_ticks >> system_ticks)) return std::nullopt;
  return CpuSeconds{TicksToSeconds(user_ticks), TicksToSeconds(system_ticks)};
}

void ReadServer(int pid, MetricsSnapshot* snapshot) {
  snapshot->server_cpu = ReadProcessCpu(pid);
  if (Counters io = ReadNamedNumbers(ProcPath(pid, "io")); !io.empty()) snapshot->server_io = std::move(io);
  Counters status = ReadNamedNumbers(ProcPath(pid, "status"));
  if (status.contains("VmRSS")) {
    snapshot->server_memory = {{"rss_kb", status["VmRSS"]}, {"rss_peak_kb", status["VmHWM"]}};
  }
}

void ReadHost(MetricsSnapshot* snapshot) {
  std::ifstream file("/proc/stat");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name == "cpu") {
      int64_t user, nice, system, idle, iowait, irq, softirq, steal;
      fields >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
      snapshot->host_busy_seconds = TicksToSeconds(user + nice + system + irq + softirq + steal);
      snapshot->host_steal_seconds = TicksToSeconds(steal);
      snapshot->host_iowait_seconds = TicksToSeconds(iowait);
    } else if (name == "ctxt") {
      fields >> snapshot->host_context_switches;
    }
  }
}

void SyncFileSystem(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || syncfs(fd) != 0) sync();
  if (fd >= 0) close(fd);
}

DeviceFacts ReadDeviceFacts(std::string name) {
  // A partition has its queue one level up.
  const std::string device = "/sys/class/block/" + name + "/";
  const std::string queue = fs::exists(device + "queue") ? device + "queue/" : device + "../queue/";
  return {std::move(name), ReadNumber(queue + "read_ahead_kb"), ReadNumber(queue + "rotational")};
}

SizeOnDisk MeasureSize(const std::string& path) {
  SizeOnDisk size{.path = path};
  std::set<std::pair<dev_t, ino_t>> seen;
  const auto add = [&](const fs::path& file) {
    struct stat status;
    if (lstat(file.c_str(), &status) != 0 || !seen.emplace(status.st_dev, status.st_ino).second) return;
    size.allocated_bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    if (!S_ISREG(status.st_mode)) return;
    size.apparent_bytes += static_cast<uint64_t>(status.st_size);
    ++size.files;
  };
  add(path);
  std::error_code error;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) add(entry->path());
  return size;
}

}  // namespace

SystemMetrics::SystemMetrics(const MetricsOptions& options) : options_(options) {
  if (options.server_pid != 0 && !ReadProcessCpu(options.server_pid)) {
    throw std::runtime_error("there is no process " + std::to_string(options.server_pid));
  }
  struct stat status{};
  if (!options.data_dir.empty() && stat(options.data_dir.c_str(), &status) != 0) {
    throw std::runtime_error("there is no data directory " + options.data_dir);
  }
  if (options.data_device == "none" || (options.data_device == "auto" && options.data_dir.empty())) return;
  const auto disk = ReadDisk([&](unsigned major_number, unsigned minor_number, const std::string& name) {
    return options.data_device == "auto"
               ? major(status.st_dev) == major_number && minor(status.st_dev) == minor_number
               : name == options.data_device;
  });
  if (disk) {
    device_ = ReadDeviceFacts(disk->first);
  } else if (options.data_device != "auto") {
    throw std::runtime_error("there is no block device " + options.data_device);
  }
}

MetricsSnapshot SystemMetrics::Take() const {
  MetricsSnapshot snapshot;
  const auto start = std::chrono::steady_clock::now();
  if (!options_.data_dir.empty()) SyncFileSystem(options_.data_dir);
  snapshot.sync_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (device_) {
    auto disk = ReadDisk([&](unsigned, unsigned, const std::string& name) { return name == device_->name; });
    if (disk) snapshot.disk = std::move(disk->second);
  }
  if (options_.server_pid != 0) ReadServer(options_.server_pid, &snapshot);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  snapshot.client_cpu = {ToSeconds(usage.ru_utime), ToSeconds(usage.ru_stime)};
  snapshot.client_rss_peak_kb = usage.ru_maxrss;
  ReadHost(&snapshot);
  return snapshot;
}

std::vector<SizeOnDisk> SystemMetrics::Sizes() const {
  std::vector<SizeOnDisk> sizes;
  if (!options_.data_dir.empty()) sizes.push_back(MeasureSize(options_.data_dir));
  for (const std::string& path : options_.size_paths) sizes.push_back(MeasureSize(path));
  return sizes;
}

std::optional<Counters> Difference(const std::optional<Counters>& before, const std::optional<Counters>& after) {
  if (!before || !after) return std::nullopt;
  Counters difference;
  for (const auto& [name, value] : *after) {
    const auto start = before->find(name);
    difference[name] = value - (start == before->end() ? 0 : start->second);
  }
  return difference;
}

}  // namespace cairn::bench::linkbench

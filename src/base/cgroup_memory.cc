// SPDX-License-Identifier: GPL-2.0-only
// The limits on the way from a process's group up to the root.
#include "base/cgroup_memory.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>

namespace cairn {
namespace {

// A limit file holds a number of bytes, or "max". Version 1 shows no limit as a huge number.
uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  return file >> bytes && bytes != 0 ? bytes : UINT64_MAX;
}

// Of the group and all above it. `group` begins with a slash, or is empty: the root.
uint64_t LeastLimit(const std::string& hierarchy, std::string_view group, std::initializer_list<const char*> files) {
  uint64_t least = UINT64_MAX;
  while (group.ends_with('/')) group.remove_suffix(1);
  for (;;) {
    const std::string folder = hierarchy + std::string(group) + "/";
    for (const char* file : files) least = std::min(least, LimitIn(folder + file));
    if (group.empty()) return least;
    const size_t slash = group.rfind('/');
    group = slash == std::string_view::npos ? std::string_view() : group.substr(0, slash);
  }
}

// Whether a list like "cpu,memory" has it.
bool HasMemory(std::string_view controllers) {
  return ("," + std::string(controllers) + ",").find(",memory,") != std::string::npos;
}

}  // namespace

uint64_t CgroupMemoryLimit(std::string_view groups, const std::string& hierarchies) {
  uint64_t least = UINT64_MAX;
  while (!groups.empty()) {
    const size_t end = groups.find('\n');
    const std::string_view line = groups.substr(0, end);
    groups.remove_prefix(end == std::string_view::npos ? groups.size() : end + 1);
    // hierarchy:controllers:path, where only the path may have colons.
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (controllers.empty()) {
      least = std::min(least, LeastLimit(hierarchies, group, {"memory.max", "memory.high"}));
    } else if (HasMemory(controllers)) {
      least = std::min(least, LeastLimit(hierarchies + "/memory", group, {"memory.limit_in_bytes"}));
    }
  }
  return least;
}

uint64_t CgroupMemoryLimit() {
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return CgroupMemoryLimit(groups, "/sys/fs/cgroup");
}

}  // namespace cairn

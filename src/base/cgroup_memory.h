// SPDX-License-Identifier: GPL-2.0-only
// What memory the control groups of this process allow it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

// The least limit, in bytes, of the process's memory control group and of all groups that it lies in; UINT64_MAX: there is none.
//
// `groups` is the text of /proc/self/cgroup, `hierarchies` the folder where hierarchies are mounted, as a rule /sys/fs/cgroup:
// that of version 2 itself, of version 1 in its folder `memory`. Of version 2 both `memory.max` and `memory.high` count, as above
// the latter a process is slowed down to a crawl. A group that is not there, as in a container which shows its own group as the root, has no limit, and
// those above it count all the same. What cannot be read is no limit. Thread rule: any thread.
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; proc's cgroups(7).
uint64_t CgroupMemoryLimit(std::string_view groups, const std::string& hierarchies);

// The same of this process, as it is now.
uint64_t CgroupMemoryLimit();

}  // namespace cairn

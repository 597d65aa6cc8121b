// SPDX-License-Identifier: GPL-2.0-only
// Limits of groups in folders like the kernel's.
#include "base/cgroup_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;

class CgroupMemoryTest : public ::testing::Test {
 protected:
  CgroupMemoryTest() : root_(fs::temp_directory_path() / ("cairn-cgroups-" + std::to_string(getpid()))) {}
  ~CgroupMemoryTest() override { fs::remove_all(root_); }

  void Set(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  uint64_t Limit(const std::string& groups) const { return CgroupMemoryLimit(groups, root_.string()); }

 private:
  fs::path root_;
};

TEST_F(CgroupMemoryTest, Version2HasTheLeastOnTheWayUp) {
  Set("system.slice/memory.max", "3000");
  Set("system.slice/memory.high", "max");
  Set("system.slice/mariadb.service/memory.max", "max");
  Set("system.slice/mariadb.service/memory.high", "5000");
  EXPECT_EQ(Limit("0::/system.slice/mariadb.service\n"), 3000U);
  Set("system.slice/mariadb.service/memory.high", "2000");
  EXPECT_EQ(Limit("0::/system.slice/mariadb.service\n"), 2000U);
  EXPECT_EQ(Limit("0::/other.slice\n"), UINT64_MAX);
}

TEST_F(CgroupMemoryTest, Version1HasAFolderOfItsOwn) {
  Set("memory/memory.limit_in_bytes", "9223372036854771712");
  Set("memory/bench/one/memory.limit_in_bytes", "402653184");
  Set("bench/one/memory.max", "1");  // no group of version 2
  EXPECT_EQ(Limit("12:cpu,cpuacct:/bench\n4:hugetlb,memory:/bench/one\n1:name=memory:/bench\n0::/\n"), 402653184U);
  EXPECT_EQ(Limit("4:memory:/bench\n"), 9223372036854771712U);
}

// A container sees its own group as the root of the hierarchy, while version 1 names it as the host does.
TEST_F(CgroupMemoryTest, AGroupThatIsNotThereLeavesTheRoots) {
  Set("memory/memory.limit_in_bytes", "1000");
  EXPECT_EQ(Limit("4:memory:/docker/0123\n"), 1000U);
  Set("memory.max", "900");
  EXPECT_EQ(Limit("0::/\n"), 900U);
  EXPECT_EQ(Limit("0::/../..\n"), 900U);
}

TEST_F(CgroupMemoryTest, WhatMakesNoSenseIsNoLimit) {
  Set("memory.max", "max");
  Set("memory/memory.limit_in_bytes", "");
  for (const char* groups : {"", "\n", "0", "0:", "0::", "0::x", "a:memory:b:c", "4:memory:/", "0::/", ":::"}) {
    EXPECT_EQ(Limit(groups), UINT64_MAX) << groups;
  }
}

TEST_F(CgroupMemoryTest, APathMayHaveColons) {
  Set("a:b/memory.max", "77");
  EXPECT_EQ(Limit("0::/a:b"), 77U);
}

}  // namespace
}  // namespace cairn

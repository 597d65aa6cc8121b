// SPDX-License-Identifier: GPL-2.0-only
// For tests: a process that may open few files.
#pragma once

#include <sys/resource.h>

#include <gtest/gtest.h>

namespace cairn::store {

// So many, until this is destroyed. Thread rule: one at a time.
class FileLimit {
 public:
  explicit FileLimit(rlim_t files) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lowered{.rlim_cur = files, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

}  // namespace cairn::store

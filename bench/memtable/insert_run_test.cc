// SPDX-License-Identifier: GPL-2.0-only
// A fill inserts what it says, flushes by the size of its write buffer, and leaves nothing behind.
#include "insert_run.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace cairn::bench::memtable {
namespace {

InsertOptions Small(const char* name) {
  return {.directory = (std::filesystem::path(testing::TempDir()) / name).string(),
          .keys = 50'000,
          .write_buffer_bytes = uint64_t{1} << 20};
}

TEST(InsertRun, InsertsAndFlushesByTheSizeOfTheBuffer) {
  InsertOptions options = Small("cairn_memtable_small");
  options.write_buffers = 2;  // the writer waits for each flush but the last
  const InsertResult result = RunInserts(options);
  EXPECT_EQ(result.inserted, options.keys);
  EXPECT_EQ(result.checked, 1000u);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GT(result.writer_cpu_seconds, 0);
  EXPECT_GE(result.process_cpu_seconds, result.writer_cpu_seconds * 0.9);
  // 50 000 rows of 116 bytes are 5.8 MB: some buffers of 1 MiB, but not one file for each batch.
  EXPECT_GE(result.files, 2u);
  EXPECT_LE(result.files, 20u);
  EXPECT_GT(result.flushed_bytes, uint64_t{1} << 20);
}

TEST(InsertRun, ALargeBufferIsNotFlushed) {
  InsertOptions options = Small("cairn_memtable_large");
  options.write_buffer_bytes = uint64_t{64} << 20;
  const InsertResult result = RunInserts(options);
  EXPECT_EQ(result.files, 0u);
  EXPECT_EQ(result.flushed_bytes, 0u);
}

TEST(InsertRun, OtherMemtablesHoldTheSameRows) {
  InsertOptions options = Small("cairn_memtable_other");
  for (const Representation other : {Representation::kSkipList, Representation::kVector}) {
    options.representation = other;
    EXPECT_EQ(RunInserts(options).checked, 1000u);
  }
}

TEST(InsertRun, LeavesNothingAndNamesWhatFailed) {
  const InsertOptions options = Small("cairn_memtable_gone");
  RunInserts(options);
  EXPECT_FALSE(std::filesystem::exists(options.directory));
  InsertOptions nowhere = options;
  nowhere.directory = "/proc/no/such/folder";
  EXPECT_THROW(RunInserts(nowhere), std::runtime_error);
}

}  // namespace
}  // namespace cairn::bench::memtable

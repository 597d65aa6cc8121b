// SPDX-License-Identifier: GPL-2.0-only
// A store has more files than the process may have open, and all of them can be read.
#include "store/open_files.h"

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <unistd.h>

#include "store/file_limit_testing.h"
#include "store/point_reader.h"
#include "store/sorted_load.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

namespace fs = std::filesystem;

class OpenFilesTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr int kRowsOfRound = 800;
  static constexpr int kFilesOfRound = 25;  // at least

  void SetUp() override {
    options.expert_family_options =
        "target_file_size_base=4096;compression_per_level=kNoCompression;bottommost_compression=kNoCompression;"
        "block_based_table_factory={block_size=1024}";
    options.expert_db_options = "table_cache_numshardbits=0";  // no uneven parts
  }

  static std::string Key(int row) { return "idx0" + std::to_string(100'000 + row); }
  static std::string Value(int row) { return std::to_string(row) + std::string(150, 'v'); }

  // As many files more, and what is done once a second.
  void AddRound() {
    const int first = rows_, end = rows_ += kRowsOfRound;
    Batch batch(*store);
    for (int row = first; row < end; ++row) batch.Put(Family::kData, Key(row), Value(row));
    Status status = store->Write(batch, Durability::kOs);
    if (status.ok()) status = store->CompactRange(Family::kData, Key(first), Key(end));
    if (status.ok()) status = store->LimitOpenFiles();
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_GE(LevelFiles(6), rows_ / kRowsOfRound * kFilesOfRound);
  }
  void ExpectRows(int step = 7) {
    PinnedValue value;
    for (int row = 0; row < rows_; row += step) {
      const Status status = points.Get(*store, Key(row), nullptr, &value);
      ASSERT_TRUE(status.ok()) << row << ": " << status.ToString();
      ASSERT_EQ(value.view(), Value(row));
      points.Close();
    }
    Cursor cursor;
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "idx0", .upper_bound = "idx1"}, &cursor).ok());
    int count = 0;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) ASSERT_EQ(cursor.key(), Key(count++));
    ASSERT_TRUE(cursor.status().ok()) << cursor.status().ToString();
    EXPECT_EQ(count, rows_);
  }
  // Files that are gone are closed by another thread.
  void AwaitOpen(uint64_t count_max) {
    while (Number("open_files") > count_max) std::this_thread::yield();
  }
  bool Told() { return log.text().find("kept open from now on") != std::string::npos; }
  uint64_t Files() { return static_cast<uint64_t>(LevelFiles(6)); }
  int rows() const { return rows_; }

  PointReader points;

 private:
  int rows_ = 0;
};

// With files of the system's.
class OpenFilesOnDiskTest : public OpenFilesTest {
 protected:
  void SetUp() override {
    OpenFilesTest::SetUp();
    directory_ = ::testing::TempDir() + "cairn_files_" + std::to_string(getpid());
    options.directory = directory_;
    options.environment = nullptr;
    options.expert_db_options.clear();
  }
  void TearDown() override {
    store.reset();
    fs::remove_all(directory_);
  }

 private:
  std::string directory_;
};

TEST_F(OpenFilesOnDiskTest, AStoreOutgrowsTheProcess) {
  const FileLimit limit(256);
  Open();
  while (!HasFatalFailure() && LevelFiles(6) < 300) AddRound();
  EXPECT_TRUE(Told()) << log.text();
  ASSERT_NO_FATAL_FAILURE(ExpectRows());
  EXPECT_LE(Number("open_files"), 224u);  // in parts that are not even
  Reopen();
  ASSERT_NO_FATAL_FAILURE(ExpectRows());
  EXPECT_LE(Number("open_files"), 128u);
  ASSERT_NO_FATAL_FAILURE(AddRound());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_NO_FATAL_FAILURE(ExpectRows());
  AwaitOpen(128);
}

// What is read by is there still when the number comes, and afterwards.
TEST_F(OpenFilesTest, ReadsGoOnWhenFilesAreClosed) {
  const FileLimit limit(256);
  Open();
  for (int round = 0; round < 3; ++round) ASSERT_NO_FATAL_FAILURE(AddRound());
  ASSERT_NO_FATAL_FAILURE(ExpectRows());
  EXPECT_FALSE(Told());
  EXPECT_GE(Number("open_files"), Files());
  EXPECT_GT(Number("held_indexes"), 50u);
  Cursor cursor;
  ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "idx0", .upper_bound = "idx1"}, &cursor).ok());
  cursor.SeekToFirst();
  const Snapshot before = store->TakeSnapshot();
  PinnedValue value;
  PointReader other;
  ASSERT_TRUE(other.Get(*store, Key(1000), &before, &value).ok());
  for (int round = 0; round < 3; ++round) ASSERT_NO_FATAL_FAILURE(AddRound());
  EXPECT_TRUE(Told());
  for (int row = 0; row < 3 * kRowsOfRound; ++row, cursor.Next()) ASSERT_EQ(cursor.value(), Value(row));
  EXPECT_FALSE(cursor.Valid());
  cursor.Close();
  EXPECT_EQ(value.view(), Value(1000));
  ASSERT_TRUE(other.Get(*store, Key(2000), &before, &value).ok());
  EXPECT_EQ(value.view(), Value(2000));
  other.Close();
  ASSERT_NO_FATAL_FAILURE(ExpectRows());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_NO_FATAL_FAILURE(ExpectRows());
  AwaitOpen(192);
  EXPECT_LT(Number("held_indexes"), 50u);
}

// Files that were there when the number came stay open until they go. There is room beside them: a file that comes later is not opened anew by
// each read.
TEST_F(OpenFilesTest, FilesThatComeLaterStayOpen) {
  const FileLimit limit(512);
  Open();
  while (!HasFatalFailure() && !Told()) ASSERT_NO_FATAL_FAILURE(AddRound());
  ASSERT_GE(Number("open_files"), 256u);
  const int first = rows();
  ASSERT_NO_FATAL_FAILURE(AddRound());
  PinnedValue value;
  const auto read_all = [&] {
    for (int row = first; row < rows(); row += 7) {
      ASSERT_TRUE(points.Get(*store, Key(row), nullptr, &value).ok());
      points.Close();
    }
  };
  ASSERT_NO_FATAL_FAILURE(read_all());
  const uint64_t opened = Number("no_file_opens");
  ASSERT_NO_FATAL_FAILURE(read_all());
  EXPECT_EQ(Number("no_file_opens"), opened);
  EXPECT_LE(Number("open_files"), 384u);
}

TEST_F(OpenFilesTest, FilesOfALoadCountBeforeTheyCome) {
  const FileLimit limit(128);
  Open();
  SortedLoad load(*store, Family::kData);
  for (int row = 0; row < 100; ++row) {
    ASSERT_TRUE(load.Add(Key(row), Value(row)).ok());
    ASSERT_TRUE(load.CutFile().ok());
  }
  ASSERT_TRUE(load.Ingest().ok());
  EXPECT_TRUE(Told());
  EXPECT_EQ(Files(), 100u);
  EXPECT_LE(Number("open_files"), 96u);
  for (int row = 0; row < 100; ++row) EXPECT_EQ(Get(Key(row)), Value(row));
  EXPECT_LE(Number("open_files"), 96u);
}

TEST_F(OpenFilesTest, WhileTheyAreFewAllStayOpen) {
  const FileLimit limit(256);
  Open();
  for (int round = 0; round < 3; ++round) ASSERT_NO_FATAL_FAILURE(AddRound());
  Reopen();
  ASSERT_TRUE(store->LimitOpenFiles().ok());
  EXPECT_GE(Number("open_files"), Files());
  EXPECT_FALSE(Told());
}

TEST_F(OpenFilesTest, AnExpertsNumberStays) {
  const FileLimit limit(128);
  options.expert_db_options = "max_open_files=-1";
  Open();
  for (int round = 0; round < 4; ++round) ASSERT_NO_FATAL_FAILURE(AddRound());
  EXPECT_GE(Number("open_files"), Files());
  options.expert_db_options = "max_open_files=30";
  Reopen();
  ASSERT_NO_FATAL_FAILURE(ExpectRows());
  ASSERT_NO_FATAL_FAILURE(AddRound());
  AwaitOpen(64);  // one in each part of RocksDB's cache of them
  EXPECT_FALSE(Told());
}

}  // namespace
}  // namespace cairn::store

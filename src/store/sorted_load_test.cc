// SPDX-License-Identifier: GPL-2.0-only
// Loaded entries are there all at once, or not at all.
#include "store/sorted_load.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/store_testing.h"
#include "store/temp_file.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class SortedLoadTest : public ::testing::Test, public StoreFixture {
 protected:
  void SetUp() override { Open(); }
  std::vector<std::string> TemporaryFiles() { return env.Files("/db/temporary", "."); }
};

TEST_F(SortedLoadTest, EntriesAppearWithIngestAndSurviveACrash) {
  ASSERT_TRUE(Put("k5", "neighbour").ok());
  {
    SortedLoad load(*store, Family::kData);
    ASSERT_TRUE(load.Add("k1", "one").ok());
    ASSERT_TRUE(load.Add("k2", "").ok());
    EXPECT_EQ(Get("k1"), "-");
    ASSERT_TRUE(load.Ingest().ok());
  }
  EXPECT_EQ(Get("k1"), "one");
  EXPECT_EQ(Get("k2"), "");
  EXPECT_TRUE(TemporaryFiles().empty());
  Crash();
  Open();
  EXPECT_EQ(Get("k1"), "one");
  EXPECT_EQ(Get("k5"), "neighbour");
}

TEST_F(SortedLoadTest, LaterChangesWin) {
  SortedLoad load(*store, Family::kData);
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(load.Add(key, "loaded").ok());
  ASSERT_TRUE(load.Ingest().ok());
  Batch batch(*store);
  batch.SingleDelete(Family::kData, "a");
  batch.Put(Family::kData, "b", "changed");
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Get("a"), "-");
    EXPECT_EQ(Get("b"), "changed");
    EXPECT_EQ(Get("c"), "loaded");
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  }
}

TEST_F(SortedLoadTest, WhatIsNotIngestedGoesAway) {
  {
    SortedLoad load(*store, Family::kData);
    ASSERT_TRUE(load.Add("k", "v").ok());
    EXPECT_FALSE(TemporaryFiles().empty());
  }
  EXPECT_TRUE(TemporaryFiles().empty());
  EXPECT_EQ(Get("k"), "-");
}

TEST_F(SortedLoadTest, WithoutLinksFilesAreCopied) {
  env.RefuseLinks();
  {
    SortedLoad load(*store, Family::kData);
    for (const char* key : {"k1", "k2"}) {
      ASSERT_TRUE(load.Add(key, "loaded").ok());
      ASSERT_TRUE(load.CutFile().ok());
    }
    const Status status = load.Ingest();
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(TemporaryFiles().empty());
  }
  Crash();
  Open();
  EXPECT_EQ(Get("k1"), "loaded");
  EXPECT_EQ(Get("k2"), "loaded");
}

TEST_F(SortedLoadTest, CopiesOfFilesCanBeInterrupted) {
  env.RefuseLinks();
  SortedLoad load(*store, Family::kData);
  for (const char* key : {"k1", "k2", "k3"}) {
    ASSERT_TRUE(load.Add(key, "loaded").ok());
    ASSERT_TRUE(load.CutFile().ok());
  }
  int asked = 0;
  const Status status = load.Ingest([&asked] { return ++asked == 2; });
  EXPECT_TRUE(status.Is(Code::kInterrupted)) << status.ToString();
  EXPECT_EQ(load.file_count(), 1u);
}

// A manifest that names files which are gone could not be opened again.
TEST_F(SortedLoadTest, AnyFailingWriteLeavesAStoreThatOpens) {
  options.on_wal_failure = [this](const Status&) { env.Freeze(); };  // as the process ends
  for (const bool loses_power : {false, true}) {
    for (int count = 1;; ++count) {
      SCOPED_TRACE("write " + std::to_string(count));
      Reopen();
      ASSERT_TRUE(Put("k0", "there").ok());
      const uint64_t failed_before = env.failed_write_count();
      Status status;
      {
        SortedLoad load(*store, Family::kData);
        for (const char* key : {"k1", "k2"}) ASSERT_TRUE(load.Add(key, "loaded").ok());
        env.FailWrites("/db", count);
        status = load.Ingest();
      }
      env.Freeze();
      env.Heal();
      store.reset();
      loses_power ? env.LoseUnsynced() : env.Thaw();
      Open();
      EXPECT_EQ(Get("k0"), "there");
      EXPECT_EQ(Get("k1"), Get("k2"));
      EXPECT_TRUE(!status.ok() || Get("k1") == "loaded");
      ASSERT_FALSE(HasFailure());
      Batch batch(*store);
      for (const char* key : {"k1", "k2"}) batch.Delete(Family::kData, key);
      ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
      if (env.failed_write_count() == failed_before) break;
    }
  }
}

// Blocks are compressed by other threads than the one that adds entries.
class ParallelLoadTest : public SortedLoadTest {
 protected:
  static constexpr int kEntries = 30'000;

  void SetUp() override {
    options.cores = 4;
    Open();
  }
  static std::string Key(int number) { return std::to_string(1'000'000 + number); }
  static std::string Value(int number) { return Key(number * 7919 % kEntries) + std::string(100, 'v') + Key(number); }
  static Status Fill(SortedLoad& load) {
    for (int number = 0; number < kEntries; ++number) CAIRN_RETURN_IF_ERROR(load.Add(Key(number), Value(number)));
    return Status::Ok();
  }
};

TEST_F(ParallelLoadTest, AllEntriesAreThereInTheirOrder) {
  {
    SortedLoad load(*store, Family::kData);
    ASSERT_TRUE(Fill(load).ok());
    ASSERT_TRUE(load.Ingest().ok());
  }
  for (int round = 0; round < 2; ++round) {
    {
      Cursor cursor;
      ASSERT_TRUE(store->OpenCursor(Family::kData, {}, &cursor).ok());
      cursor.SeekToFirst();
      for (int number = 0; number < kEntries; ++number, cursor.Next()) {
        ASSERT_TRUE(cursor.Valid()) << number << ' ' << cursor.status().ToString();
        ASSERT_EQ(cursor.key(), Key(number));
        ASSERT_EQ(cursor.value(), Value(number));
      }
      EXPECT_FALSE(cursor.Valid());
    }
    Crash();
    Open();
  }
}

TEST_F(ParallelLoadTest, WhatIsNotIngestedGoesAwayAmidCompression) {
  for (int round = 0; round < 20; ++round) {
    SortedLoad load(*store, Family::kData);
    ASSERT_TRUE(Fill(load).ok());
  }
  EXPECT_TRUE(TemporaryFiles().empty());
  EXPECT_EQ(Get(Key(0)), "-");
}

TEST_F(ParallelLoadTest, AFailedWriteIsTheLoadsError) {
  SortedLoad load(*store, Family::kData);
  ASSERT_TRUE(load.Add("0", "first").ok());
  env.FailWrites("temporary", 1);
  Status status = Fill(load);
  if (status.ok()) status = load.Ingest();
  EXPECT_EQ(status.code(), Code::kIoError) << status.ToString();
  EXPECT_GT(env.failed_write_count(), 0U);
  env.Heal();
}

TEST_F(SortedLoadTest, NothingToIngestIsFine) {
  SortedLoad load(*store, Family::kData);
  EXPECT_TRUE(load.Ingest().ok());
}

TEST_F(SortedLoadTest, KeysMustAscend) {
  SortedLoad load(*store, Family::kData);
  ASSERT_TRUE(load.Add("b", "v").ok());
  EXPECT_EQ(load.Add("b", "v").code(), Code::kInvalidArgument);
}

TEST_F(SortedLoadTest, LoadsThatAreFilledAtOnceShareTheThreadsThatCompress) {
  const auto count_threads = [] {
    using Tasks = std::filesystem::directory_iterator;
    return std::distance(Tasks("/proc/self/task"), Tasks());
  };
  constexpr unsigned kLoads = 8;
  const auto before = count_threads();
  std::vector<std::unique_ptr<SortedLoad>> loads;
  for (unsigned i = 0; i < kLoads; ++i) {
    loads.push_back(std::make_unique<SortedLoad>(*store, Family::kData, SortedLoadOptions{.loads_at_once = kLoads}));
    ASSERT_TRUE(loads.back()->Add("k" + std::to_string(i), std::string(100'000, 'v')).ok());
  }
  EXPECT_EQ(count_threads(), before);
}

// Of narrow rows a large file would have very many. Only where all files must find places at once they have.
TEST_F(SortedLoadTest, LargeFilesHaveABoundedNumberOfEntries) {
  constexpr uint64_t kEntriesMax = 4096, kFiles = 26;
  options.expert_family_options = "target_file_size_base=20000";  // some 2000 entries
  options.cores = 1;  // without blocks that wait for threads that compress when a file's size is looked at
  Reopen();
  for (const bool all_at_once : {false, true}) {
    SortedLoad load(*store, Family::kData,
                    {.few_files = true,
                     .all_at_once = all_at_once,
                     .filter_bytes_max = kEntriesMax * SortedLoad::kFilterBytesPerEntry});
    std::mt19937 random(1);
    uint64_t files = 0, entries = 0, most_entries = 0;
    for (int number = 1'000'000; files <= kFiles; ++number) {
      std::string key = std::to_string(number);
      for (int i = 0; i < 8; ++i) key.push_back(static_cast<char>(random()));
      ASSERT_TRUE(load.Add(key, "").ok());
      entries = load.file_count() == files ? entries + 1 : 1;
      files = load.file_count();
      most_entries = std::max(most_entries, entries);
    }
    ASSERT_TRUE(load.Finish().ok());
    EXPECT_GT(most_entries, kEntriesMax / 2);
    EXPECT_EQ(most_entries > kEntriesMax + 1, all_at_once) << most_entries;
  }
}

TEST_F(SortedLoadTest, AFullDiskIsAnError) {
  env.SetFreeBytes(1000);
  store->CheckFreeSpace();
  SortedLoad load(*store, Family::kData);
  EXPECT_EQ(load.Add("k", "v").code(), Code::kNoSpace);
}

// With files of the system's, which tell a name from what it names.
class SortedLoadOnDiskTest : public SortedLoadTest {
 protected:
  static constexpr uint64_t kNames = 9;

  void SetUp() override {
    options.directory = ::testing::TempDir() + "cairn_loads_" + std::to_string(getpid());
    options.environment = nullptr;
    Open();
    ASSERT_NO_FATAL_FAILURE(Load("first"));
  }
  void TearDown() override {
    store.reset();
    std::filesystem::remove_all(options.directory);
  }
  void Load(const std::string& key) {
    SortedLoad load(*store, Family::kData);
    ASSERT_TRUE(load.Add(key, "loaded").ok());
    const Status status = load.Ingest();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // The names that the process gives out next.
  void FindNames() {
    std::string given;
    ASSERT_TRUE(NewTemporaryPath(rocks::Env::Default(), options.directory, ".sst", &given).ok());
    const uint64_t number = std::stoull(std::filesystem::path(given).stem().string());
    for (uint64_t i = 1; i <= kNames; ++i) names.push_back(options.directory + "/temporary/" + std::to_string(number + i) + ".sst");
  }
  // As a process leaves that ends while files are taken over.
  void NameADataFile(const std::string& name) {
    for (const auto& entry : std::filesystem::directory_iterator(options.directory)) {
      if (entry.path().extension() != ".sst") continue;
      std::error_code error;
      std::filesystem::create_hard_link(entry.path(), name, error);
      ASSERT_FALSE(error) << error.message();
      return;
    }
    FAIL() << "no data file";
  }
  void ExpectBothLoads() {
    Reopen();
    const Status status = store->VerifyChecksums();
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(Get("first"), "loaded");
    EXPECT_EQ(Get("second"), "loaded");
  }

  std::vector<std::string> names;
};

TEST_F(SortedLoadOnDiskTest, ALoadDoesNotWriteToADataFileThatHasItsNameToo) {
  ASSERT_NO_FATAL_FAILURE(FindNames());
  for (const std::string& name : names) ASSERT_NO_FATAL_FAILURE(NameADataFile(name));
  ASSERT_NO_FATAL_FAILURE(Load("second"));
  ASSERT_NO_FATAL_FAILURE(ExpectBothLoads());
}

TEST_F(SortedLoadOnDiskTest, ATemporaryFileDoesNotWriteToADataFileThatHasItsNameToo) {
  ASSERT_NO_FATAL_FAILURE(FindNames());
  const std::string name = std::filesystem::path(names.front()).replace_extension(".run").string();
  ASSERT_NO_FATAL_FAILURE(NameADataFile(name));
  std::unique_ptr<TempFile> file;
  ASSERT_TRUE(TempFile::Create(*store, &file).ok());
  ASSERT_EQ(file->path(), name);
  ASSERT_TRUE(file->Append("sorted").ok());
  file.reset();
  ASSERT_NO_FATAL_FAILURE(Load("second"));
  ASSERT_NO_FATAL_FAILURE(ExpectBothLoads());
}

// As many folders as files: in whatever order the system lists them, hardly all files come first.
TEST_F(SortedLoadOnDiskTest, WhatCannotBeDeletedAtAStartKeepsNothingElse) {
  ASSERT_NO_FATAL_FAILURE(FindNames());
  for (const std::string& name : names) {
    ASSERT_TRUE(std::filesystem::create_directory(name + ".folder"));
    ASSERT_NO_FATAL_FAILURE(NameADataFile(name));
  }
  store.reset();
  Open();
  for (const std::string& name : names) EXPECT_FALSE(std::filesystem::exists(name)) << name;
  EXPECT_NE(log.text().find("cannot empty the folder for temporary files: "), std::string::npos) << log.text();
  ASSERT_NO_FATAL_FAILURE(Load("second"));
  ASSERT_NO_FATAL_FAILURE(ExpectBothLoads());
}

}  // namespace
}  // namespace cairn::store

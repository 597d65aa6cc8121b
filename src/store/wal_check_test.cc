// SPDX-License-Identifier: GPL-2.0-only
// Which logs are damaged, and which a crash has left so.
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/store.h"
#include "store/store_testing.h"
#include "store/wal_check.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

constexpr size_t kBlockBytes = 32768;
constexpr size_t kPageBytes = 4096;
constexpr size_t kTypeAt = 6;             // in a record's header
constexpr size_t kSmallRecordBytes = 24;  // of a key and a value of one byte each
constexpr size_t kLargeValueBytes = 200 << 10;

// The log as it was written is in `intact`; damage is done to copies.
class WalCheckTest : public ::testing::Test, public StoreFixture {
 protected:
  struct Row {
    std::string key;
    size_t value_bytes;
    Durability durability = Durability::kSync;
  };

  // Then the process dies.
  void WriteLog(const std::vector<Row>& rows) {
    Open();
    // Lengths of such bytes lead beyond their block, so looking for records among them takes no time.
    for (const Row& row : rows) ASSERT_TRUE(Put(row.key, std::string(row.value_bytes, '\xff'), row.durability).ok());
    Kill();
    const std::vector<std::string> files = env.Files("/db", ".log");
    ASSERT_EQ(files.size(), 1u);
    path = files[0];
    ASSERT_TRUE(rocks::ReadFileToString(env.rocks_env(), path, &intact).ok());
  }
  Status CheckOnly(const std::string& text) {
    env.WriteFile(path, text);
    return CheckWalFiles(env.rocks_env(), "/db", LogDamage::kAny, &log);
  }
  Status TryOpen(const std::string& text) {
    env.WriteFile(path, text);
    return Store::Open(options, &store);
  }
  static std::string Flipped(std::string text, size_t byte, int bits) {
    text.at(byte) = static_cast<char>(text.at(byte) ^ bits);
    return text;
  }
  static std::string Zeroed(std::string text, size_t begin, size_t bytes) { return text.replace(begin, bytes, bytes, '\0'); }

  std::string path;
  std::string intact;
};

// RocksDB would take the first record of a log for an old one, and end there as if all were well; a later one it would
// read for ever.
TEST_F(WalCheckTest, ATypeOfRecycledLogsIsDamageEvenAtTheEnd) {
  WriteLog({{"a", 1}, {"b", 1}, {"c", 1}});
  ASSERT_EQ(intact.size(), 3 * kSmallRecordBytes);
  for (size_t record = 0; record < 3; ++record) {
    const size_t begin = record * kSmallRecordBytes;
    ASSERT_EQ(intact[begin + kTypeAt], 1);
    const Status status = TryOpen(Flipped(intact, begin + kTypeAt, 4));
    ASSERT_TRUE(status.Is(Code::kCorruption)) << record << " " << status.ToString();
    EXPECT_NE(status.message().find(path), ByteView::npos) << status.ToString();
    const std::string command = record == 0 ? "truncate -s 0 " + path : "truncate -s " + std::to_string(begin + 6);
    EXPECT_NE(status.message().find(command), ByteView::npos) << status.ToString();
  }
  ASSERT_TRUE(TryOpen(intact).ok());
  EXPECT_EQ(Get("c"), "\xff");
}

TEST_F(WalCheckTest, WhoLivesWithDamageIsSparedOfThisOnly) {
  WriteLog({{"a", 1}, {"b", 1}, {"c", 1}});
  options.expert_db_options = "wal_recovery_mode=kSkipAnyCorruptedRecords";
  EXPECT_TRUE(TryOpen(Flipped(intact, kSmallRecordBytes + kTypeAt, 4)).Is(Code::kCorruption));
  EXPECT_TRUE(TryOpen(Flipped(intact, kSmallRecordBytes, 4)).ok());
  EXPECT_EQ(Get("a"), "\xff");
}

TEST_F(WalCheckTest, ALogThatIsCutAsAdvisedOpens) {
  WriteLog({{"a", 1}, {"b", 1}, {"c", 1}});
  ASSERT_TRUE(TryOpen(Flipped(intact, kSmallRecordBytes + kTypeAt, 4)).Is(Code::kCorruption));
  const Status status = TryOpen(intact.substr(0, kSmallRecordBytes + 6));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Get("a"), "\xff");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_EQ(Get("c"), "-");
}

// A log cut within its first record would stop each start, and drop what came after the first of them.
TEST_F(WalCheckTest, WithoutARecordBeforeTheDamageAllThatFollowsIsEmptied) {
  WriteLog({{"a", 1}, {"b", 1}});
  env.WriteFile("/db/1000000.log", intact);
  const Status refused = TryOpen(Flipped(intact, kTypeAt, 4));
  ASSERT_TRUE(refused.Is(Code::kCorruption));
  EXPECT_NE(refused.message().find(": truncate -s 0 /db/1000000.log; truncate -s 0 " + path + ";"), ByteView::npos)
      << refused.ToString();
  env.WriteFile("/db/1000000.log", "");
  ASSERT_TRUE(TryOpen("").ok());
  for (const char* key : {"c", "d"}) {
    EXPECT_EQ(Get("a"), "-");
    ASSERT_TRUE(Put(key, "1").ok());
    Kill();
    Open();
  }
  EXPECT_EQ(Get("c") + Get("d"), "11");
}

TEST_F(WalCheckTest, PartsOfLargeRecordsMayNotHaveSuchATypeEither) {
  WriteLog({{"a", 1}, {"b", kLargeValueBytes}});
  const size_t last_block = intact.size() / kBlockBytes * kBlockBytes;
  ASSERT_EQ(intact[kSmallRecordBytes + kTypeAt], 2);
  ASSERT_EQ(intact[kBlockBytes + kTypeAt], 3);
  ASSERT_EQ(intact[last_block + kTypeAt], 4);
  for (const std::string& damaged :
       {Flipped(intact, kSmallRecordBytes + kTypeAt, 4), Flipped(intact, kBlockBytes + kTypeAt, 4),
        Flipped(intact, last_block + kTypeAt, 1), Flipped(intact, last_block + kTypeAt, 2)}) {
    const Status status = TryOpen(damaged);
    ASSERT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
  }
}

// After other damage RocksDB goes on at the next block, until it has a whole record.
TEST_F(WalCheckTest, SuchATypeIsFoundBehindOtherDamageToo) {
  WriteLog({{"a", 1}, {"b", kLargeValueBytes}});
  const std::string torn = Zeroed(intact, kPageBytes, kPageBytes);
  const Status status = TryOpen(Flipped(torn, 3 * kBlockBytes + kTypeAt, 4));
  ASSERT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
  EXPECT_NE(status.message().find("truncate -s " + std::to_string(kSmallRecordBytes + 6)), ByteView::npos)
      << status.ToString();
  // Nobody reads the rest of the damaged block.
  EXPECT_TRUE(CheckOnly(Flipped(torn, 2 * kPageBytes + kTypeAt, 0xff ^ 5)).ok());
}

TEST_F(WalCheckTest, AHoleInAnUnconfirmedRecordIsATornEnd) {
  WriteLog({{"a", 1}, {"b", kLargeValueBytes, Durability::kOs}});
  ASSERT_GT(intact.size(), 6 * kBlockBytes);
  const Status status = TryOpen(Zeroed(intact, 3 * kBlockBytes, kBlockBytes));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Get("a"), "\xff");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_NE(log.text().find("ends in an incomplete record"), std::string::npos) << log.text();
}

TEST_F(WalCheckTest, SoIsOneInAnyOfItsPages) {
  WriteLog({{"a", 1}, {"b", kLargeValueBytes, Durability::kOs}});
  for (size_t page = kPageBytes; page + kPageBytes <= intact.size(); page += kPageBytes) {
    const Status status = CheckOnly(Zeroed(intact, page, kPageBytes));
    EXPECT_TRUE(status.ok()) << page << " " << status.ToString();
  }
}

TEST_F(WalCheckTest, AWholeRecordBehindALargeDamagedOneIsNoTornEnd) {
  WriteLog({{"a", 1}, {"b", kLargeValueBytes}, {"c", 1}});
  const Status status = TryOpen(Zeroed(intact, 3 * kBlockBytes, kBlockBytes));
  EXPECT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
  EXPECT_NE(status.message().find(" " + std::to_string(kSmallRecordBytes) + " bytes of valid records"), ByteView::npos)
      << status.ToString();
}

TEST_F(WalCheckTest, ALargeRecordBehindDamageCountsIfItIsWhole) {
  WriteLog({{"a", 1}, {"b", 1}, {"c", kLargeValueBytes}});
  const std::string damaged = Flipped(intact, kSmallRecordBytes + 16, 1);
  EXPECT_TRUE(TryOpen(damaged).Is(Code::kCorruption));
  EXPECT_TRUE(CheckOnly(Zeroed(damaged, 3 * kBlockBytes, kBlockBytes)).ok()) << "a gap";
  EXPECT_TRUE(CheckOnly(Zeroed(damaged, 2 * kSmallRecordBytes, kPageBytes)).ok()) << "no beginning";
  const Status status = TryOpen(damaged.substr(0, damaged.size() - 3));
  ASSERT_TRUE(status.ok()) << "no end: " << status.ToString();
  EXPECT_EQ(Get("a"), "\xff");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_EQ(Get("c"), "-");
}

// Only where nothing follows can it be cut to nothing: else RocksDB would go on with what does.
TEST_F(WalCheckTest, ATornLogIsTheLastOneWithARecord) {
  WriteLog({{"a", 1}, {"b", 1}});
  const std::string older = "/db/000001.log", newer = "/db/1000000.log", newest = "/db/1000001.log";
  const auto torn = [&](const std::string& text) {
    env.WriteFile(path, text);
    FoundDamage found;
    EXPECT_TRUE(CheckWalFiles(env.rocks_env(), "/db", LogDamage::kAny, nullptr, &found).ok());
    return found.torn;
  };
  EXPECT_EQ(torn(intact).size(), 0u);
  EXPECT_EQ(torn(intact.substr(0, kSmallRecordBytes)).size(), 0u);
  EXPECT_EQ(torn("").size(), 0u);
  const std::string begun = intact.substr(0, kSmallRecordBytes - 1);
  EXPECT_EQ(torn(begun), std::vector<std::string>{path});
  env.WriteFile(older, intact);
  env.WriteFile(newer, "");
  EXPECT_EQ(torn(begun), std::vector<std::string>{path});
  env.WriteFile(newer, begun);
  EXPECT_EQ(torn(begun), (std::vector<std::string>{path, newer}));
  EXPECT_EQ(torn(intact), std::vector<std::string>{newer});
  env.WriteFile(newest, intact);
  EXPECT_EQ(torn(begun).size(), 0u);
}

// An expert may have logs recycled. Their records have those types, and the checksums to go with them.
TEST_F(WalCheckTest, LogsOfTheRecycledFormatAreNotDamage) {
  options.expert_db_options = "recycle_log_file_num=2";
  WriteLog({{"a", 1}, {"b", kLargeValueBytes}});
  ASSERT_EQ(intact[kTypeAt], 5);
  options.expert_db_options.clear();
  const Status status = TryOpen(intact);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Get("a"), "\xff");
  EXPECT_EQ(Get("b").size(), kLargeValueBytes);
}

}  // namespace
}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// A transaction reads its own changes while others look into them: whoever comes first puts them in order.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using store::Durability;
using store::Family;

class OwnChangesTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override { OpenAll(); }

  // One transaction of a few statements, one of which is undone; what it sees of itself is compared.
  void Work(std::mt19937* random) {
    auto txn = Begin(Isolation::kReadCommitted);
    std::map<std::string, std::string> seen;
    for (int statement = 0; statement < 4; ++statement) {
      txn->StartStatement();
      const auto before = seen;
      for (int change = 0; change < 5; ++change) {
        const std::string name = "own" + std::to_string((*random)() % 50);
        ASSERT_TRUE(txn->Lock(K(name), kNoWait, nullptr).ok());
        ASSERT_TRUE(txn->Insert(K(name), "v" + name, kNoWait).ok());
        seen[name] = "v" + name;
      }
      if ((*random)() % 4 == 0) {
        ASSERT_TRUE(txn->RollbackStatement().ok());
        seen = before;
      } else {
        txn->EndStatement();
      }
      if ((*random)() % 2 == 0) continue;
      std::string expected;
      for (const auto& [name, value] : seen) expected += (expected.empty() ? "" : " ") + name + "=" + value;
      ASSERT_EQ(Scan(*txn), expected);
    }
    ASSERT_TRUE(txn->Rollback().ok());
  }

  // So many changes that a look, too, puts them in order with the latch marked.
  void WorkMuch(std::mt19937* random) {
    auto txn = Begin(Isolation::kReadCommitted);
    const auto insert = [&](int count) {
      for (int change = 0; change < count; ++change) {
        const std::string name = "own" + std::to_string((*random)() % 5000);
        ASSERT_TRUE(txn->Insert(K(name), "v" + name, kNoWait).ok());
      }
    };
    insert(1500);
    if ((*random)() % 2 == 0) {
      txn->StartStatement();
      insert(1500);
      ASSERT_TRUE(txn->RollbackStatement().ok());
    }
    if ((*random)() % 2 == 0) txn->HasChanged(K("own1"));
    if ((*random)() % 2 == 0) {
      ASSERT_TRUE(txn->Prepare("one", Durability::kOs).ok());
    }
    ASSERT_TRUE(((*random)() % 2 == 0 ? txn->Commit(Durability::kOs) : txn->Rollback()).ok());
  }

  // Until it is told to stop.
  void Look() {
    auto txn = Begin();
    while (!stop.load()) {
      bool found = false;
      PendingEntry entry;
      const bool forward = found_count.load() % 2 == 0;
      if (!txn->FindPending(IndexId(1), K(""), K("", 2), forward, {}, &found, &entry).ok()) break;
      if (!found) continue;
      EXPECT_EQ("v" + entry.key.substr(4), entry.value);
      ++found_count;
    }
    EXPECT_TRUE(txn->Rollback().ok());
  }

  std::atomic<bool> stop{false};
  std::atomic<uint64_t> found_count{0};
};

TEST_F(OwnChangesTest, AreReadByTheirTransactionWhileOthersLook) {
  std::thread looker([&] { Look(); });
  std::mt19937 random(1);
  for (int round = 0; round < 300 || found_count.load() == 0; ++round) {
    Work(&random);
    if (HasFailure()) break;
  }
  stop = true;
  looker.join();
}

TEST_F(OwnChangesTest, EndInManyWaysWhileOthersPutThemInOrder) {
  std::thread lookers[2];
  for (std::thread& looker : lookers) looker = std::thread([&] { Look(); });
  std::mt19937 random(1);
  for (int round = 0; round < 60 || found_count.load() == 0; ++round) {
    WorkMuch(&random);
    if (HasFailure()) break;
  }
  stop = true;
  for (std::thread& looker : lookers) looker.join();
}

TEST_F(OwnChangesTest, ARangeCountsWhatIsPutThereLessWhatIsRemoved) {
  Commit("b", "1");
  Commit("c", "1");
  auto txn = Begin();
  EXPECT_EQ(txn->CountOwn(K("a"), K("z")), 0);
  ASSERT_TRUE(txn->Put(Family::kData, K("a"), "1").ok());
  ASSERT_TRUE(txn->Put(Family::kData, K("d"), "1").ok());
  EXPECT_EQ(txn->CountOwn(K("a"), K("z")), 2);
  EXPECT_EQ(txn->CountOwn(K("", 2), K("", 3)), 0);
  ASSERT_TRUE(txn->Delete(Family::kData, K("b")).ok());
  EXPECT_EQ(txn->CountOwn(K("a"), K("z")), 1);
  EXPECT_EQ(txn->CountOwn(K("b"), K("d")), -1);
  ASSERT_TRUE(txn->Put(Family::kData, K("f"), "1").ok());
  ASSERT_TRUE(txn->Delete(Family::kData, K("f")).ok());
  EXPECT_EQ(txn->CountOwn(K("a"), K("z")), 1) << "what it has put itself it takes back";
  txn->StartStatement();
  ASSERT_TRUE(txn->Put(Family::kData, K("e"), "1").ok());
  EXPECT_EQ(txn->CountOwn(K("a"), K("z")), 2);
  ASSERT_TRUE(txn->RollbackStatement().ok());
  EXPECT_EQ(txn->CountOwn(K("a"), K("z")), 1);
}

TEST_F(OwnChangesTest, AKeyLockedJustNowNeedsNoLookUnlessItWasRemoved) {
  Commit("there", "1");
  Commit("removed", "1");
  auto txn = Begin();
  ASSERT_TRUE(txn->Put(Family::kData, K("own"), "1").ok());
  // As the entry of a unique index is: the row's lock covers it.
  ASSERT_TRUE(txn->Delete(Family::kData, K("removed")).ok());
  store::PinnedValue value;
  store::PointReader points;
  store::EmptyRanges empty;
  ASSERT_TRUE(txn->GetNewlyLocked(&points, &empty, K("there"), &value).ok());
  EXPECT_EQ(value.view(), "1");
  EXPECT_TRUE(txn->GetNewlyLocked(&points, &empty, K("removed"), &value).Is(Status::Code::kNotFound));
  EXPECT_TRUE(txn->GetNewlyLocked(&points, &empty, K("absent"), &value).Is(Status::Code::kNotFound));
}

}  // namespace
}  // namespace cairn::txn

// SPDX-License-Identifier: GPL-2.0-only
// Money moves between accounts from many threads; the total never changes, for any reader, through
// deadlocks, rollbacks, two-phase commit and loss of power.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using store::Durability;
using store::Family;

constexpr int kAccounts = 12;
constexpr int kThreads = 4;
constexpr int kTransfers = 250;
constexpr int64_t kTotal = int64_t{kAccounts} * 1000;

std::string Account(size_t number) { return "account" + std::to_string(100 + number); }

class TransferTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override {
    options.paranoid = true;  // and nothing is damaged between a batch and the disk
    OpenAll();
    for (int i = 0; i < kAccounts; ++i) Commit(Account(static_cast<size_t>(i)), "1000");
  }

  // The sum over all accounts, or -1 after an error.
  static int64_t Sum(Transaction& txn, View view) {
    txn.StartStatement();
    store::Cursor cursor;
    const std::string lower = K("account");
    const std::string upper = K("accounu");
    int64_t sum = txn.OpenCursor({.lower_bound = lower, .upper_bound = upper}, view, &cursor).ok() ? 0 : -1;
    int count = 0;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++count) sum += std::stoll(std::string(cursor.value()));
    if (!cursor.status().ok() || count != kAccounts) sum = -1;
    cursor.Close();
    txn.EndStatement();
    return sum;
  }

  static Status Add(Transaction& txn, size_t account, int64_t amount) {
    const std::string key = K(Account(account));
    CAIRN_RETURN_IF_ERROR(txn.Lock(key, {}, nullptr));
    store::PinnedValue value;
    CAIRN_RETURN_IF_ERROR(txn.Get(Family::kData, key, View::kNewest, &value));
    const int64_t balance = std::stoll(std::string(value.view())) + amount;
    return txn.Put(Family::kData, key, std::to_string(balance));
  }

  // One transfer in two statements, one of which may be undone and done again.
  Status Transfer(Transaction& txn, std::mt19937& random, const std::string& name) {
    const size_t from = random() % kAccounts;
    const size_t to = random() % kAccounts;
    const auto amount = static_cast<int64_t>(random() % 100);
    txn.StartStatement();
    CAIRN_RETURN_IF_ERROR(Add(txn, from, -amount));
    if (random() % 4 == 0) {
      CAIRN_RETURN_IF_ERROR(txn.RollbackStatement());
      txn.StartStatement();
      CAIRN_RETURN_IF_ERROR(Add(txn, from, -amount));
    }
    txn.EndStatement();
    txn.StartStatement();
    CAIRN_RETURN_IF_ERROR(Add(txn, to, amount));
    txn.EndStatement();
    if (random() % 8 == 0) return txn.Rollback();
    if (random() % 2 == 0) CAIRN_RETURN_IF_ERROR(txn.Prepare(name, Durability::kOs));
    return txn.Commit(Durability::kOs);
  }

  void RunThread(int number) {
    std::mt19937 random(static_cast<unsigned>(number));
    auto txn = manager->NewTransaction();
    for (int i = 0; i < kTransfers; ++i) {
      txn->Begin(random() % 2 == 0 ? Isolation::kRepeatableRead : Isolation::kReadCommitted);
      const Status status = Transfer(*txn, random, std::to_string(number) + "." + std::to_string(i));
      if (status.ok()) continue;
      ASSERT_TRUE(status.Is(Status::Code::kDeadlock)) << status.ToString();
      ASSERT_TRUE(txn->Rollback().ok());
    }
  }

  void RunReader(const std::atomic<bool>& stop) {
    auto txn = manager->NewTransaction();
    for (int round = 0; !stop || round < 3; ++round) {
      txn->Begin(round % 2 == 0 ? Isolation::kRepeatableRead : Isolation::kReadCommitted);
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(Sum(*txn, View::kConsistent), kTotal);
        ASSERT_EQ(Sum(*txn, View::kNewest), kTotal);
      }
      ASSERT_TRUE(txn->Commit(Durability::kOs).ok());
    }
  }
};

TEST_F(TransferTest, TheTotalNeverChanges) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { RunThread(i); });
  std::thread reader([&] { RunReader(stop); });
  for (auto& thread : threads) thread.join();
  stop = true;
  reader.join();
  EXPECT_EQ(manager->locks().lock_count(), 0u);
  EXPECT_EQ(manager->active_count(), 0u);
}

TEST_F(TransferTest, TheTotalSurvivesPowerLossWithTransfersPrepared) {
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    // Disjoint pairs stay prepared; the rest of the world goes on around them.
    for (size_t pair = 0; pair < 3; ++pair) {
      auto txn = Begin();
      ASSERT_TRUE(Add(*txn, pair * 2, -50).ok());
      ASSERT_TRUE(Add(*txn, pair * 2 + 1, 50).ok());
      ASSERT_TRUE(txn->Prepare("p" + std::to_string(pair), Durability::kSync).ok());
      manager->Detach(std::move(txn));
    }
    auto other = Begin();
    ASSERT_TRUE(Add(*other, 8, -1).ok());
    ASSERT_TRUE(Add(*other, 9, 1).ok());
    ASSERT_TRUE(other->Commit(random() % 2 == 0 ? Durability::kSync : Durability::kOs).ok());
    other.reset();
    CrashAll();
    OpenAll();
    ASSERT_TRUE(manager->RecoverPrepared().ok());
    ASSERT_EQ(manager->ListPrepared().size(), 3u);
    auto reader = Begin();
    EXPECT_EQ(Sum(*reader, View::kConsistent), kTotal);
    for (const std::string& name : manager->ListPrepared()) {
      const bool commit = random() % 2 == 0;
      ASSERT_TRUE((commit ? manager->CommitPrepared(name, Durability::kOs) : manager->RollbackPrepared(name)).ok());
      EXPECT_EQ(Sum(*reader, View::kNewest), kTotal);
    }
    EXPECT_EQ(Sum(*reader, View::kConsistent), kTotal);
  }
}

}  // namespace
}  // namespace cairn::txn

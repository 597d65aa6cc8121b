// SPDX-License-Identifier: GPL-2.0-only
// A statement that steps over many entries that are not to be seen can be killed.
#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using store::Family;

constexpr int kRows = 2 * store::CursorOptions::kHiddenPerPoll;

class InterruptedWalkTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override { OpenAll(); }

  static std::string Name(int row) { return std::to_string(1'000'000 + row); }

  void CommitRows() {
    auto txn = Begin();
    for (int row = 0; row < kRows; ++row) ASSERT_TRUE(txn->Put(Family::kData, K(Name(row)), "v").ok());
    ASSERT_TRUE(txn->Commit(store::Durability::kOs).ok());
  }
  static void RemoveRows(Transaction& txn) {
    for (int row = 0; row < kRows; ++row) ASSERT_TRUE(txn.Delete(Family::kData, K(Name(row))).ok());
  }

  // How the search for an entry ends: "found", "none" or the error.
  static std::string Find(Transaction& txn, bool forward) {
    const std::string lower = K("");
    const std::string upper = K("", 2);
    store::Cursor cursor;
    const Status opened = txn.OpenCursor({.lower_bound = lower, .upper_bound = upper}, View::kConsistent, &cursor);
    if (!opened.ok()) return opened.ToString();
    forward ? cursor.SeekToFirst() : cursor.SeekToLast();
    if (cursor.Valid()) return "found";
    return cursor.status().ok() ? "none" : cursor.status().ToString();
  }

  static void ExpectKillable(Transaction& txn) {
    for (const bool forward : {true, false}) {
      txn.StartStatement();
      EXPECT_EQ(Find(txn, forward), "none");
      txn.Interrupt();
      EXPECT_EQ(Find(txn, forward), "interrupted");
      ASSERT_TRUE(txn.RollbackStatement().ok());
      txn.StartStatement();
      EXPECT_EQ(Find(txn, forward), "none");
      txn.EndStatement();
    }
  }
};

TEST_F(InterruptedWalkTest, OverRowsThatWereRemoved) {
  CommitRows();
  auto remover = Begin();
  RemoveRows(*remover);
  ASSERT_TRUE(remover->Commit(store::Durability::kOs).ok());
  auto txn = Begin();
  ExpectKillable(*txn);
}

TEST_F(InterruptedWalkTest, OverRowsThatCameLater) {
  auto txn = Begin();
  txn->ReadView();
  CommitRows();
  ExpectKillable(*txn);
}

TEST_F(InterruptedWalkTest, OverRowsThatItHasRemovedItself) {
  CommitRows();
  auto txn = Begin();
  RemoveRows(*txn);
  ExpectKillable(*txn);
}

// What is seen costs the statement a row each, at which the server asks by itself.
TEST_F(InterruptedWalkTest, ButNotOverRowsThatAreSeen) {
  CommitRows();
  auto txn = Begin();
  txn->StartStatement();
  txn->Interrupt();
  EXPECT_EQ(Find(*txn, true), "found");
  EXPECT_EQ(Find(*txn, false), "found");
  txn->EndStatement();
}

}  // namespace
}  // namespace cairn::txn

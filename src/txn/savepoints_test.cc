// SPDX-License-Identifier: GPL-2.0-only
// Savepoints and statements against a model that copies everything.
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using store::Durability;
using store::Family;

class SavepointsTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override { OpenAll(); }
};

TEST_F(SavepointsTest, TheyNestAndTheOneRolledBackToRemains) {
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  const SavepointId first = txn->SetSavepoint();
  ASSERT_TRUE(Write(*txn, "b", "1").ok());
  const SavepointId second = txn->SetSavepoint();
  ASSERT_TRUE(Write(*txn, "c", "1").ok());
  ASSERT_TRUE(txn->RollbackToSavepoint(second).ok());
  EXPECT_EQ(Scan(*txn), "a=1 b=1");
  ASSERT_TRUE(Write(*txn, "d", "1").ok());
  ASSERT_TRUE(txn->RollbackToSavepoint(first).ok());
  EXPECT_EQ(Scan(*txn), "a=1");
  EXPECT_TRUE(txn->RollbackToSavepoint(second).Is(Status::Code::kNotFound));
  ASSERT_TRUE(Write(*txn, "e", "1").ok());
  ASSERT_TRUE(txn->RollbackToSavepoint(first).ok());
  ASSERT_TRUE(Write(*txn, "f", "1").ok());
  ASSERT_TRUE(txn->ReleaseSavepoint(first).ok());
  EXPECT_TRUE(txn->RollbackToSavepoint(first).Is(Status::Code::kNotFound));
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  auto reader = Begin();
  EXPECT_EQ(Scan(*reader), "a=1 f=1");
}

TEST_F(SavepointsTest, LocksStayWhenWritesAreUndone) {
  auto txn = Begin();
  const SavepointId start = txn->SetSavepoint();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  ASSERT_TRUE(txn->RollbackToSavepoint(start).ok());
  EXPECT_FALSE(txn->HasWrites());
  auto other = Begin();
  EXPECT_TRUE(Write(*other, "a", "2").Is(Status::Code::kLockBusy));
}

TEST_F(SavepointsTest, EachChangeMadeOrUndoneHasAMarkOfItsOwn) {
  auto txn = Begin();
  std::set<uint64_t> marks{txn->change_mark()};
  const auto is_new = [&] { return marks.insert(txn->change_mark()).second; };
  const SavepointId start = txn->SetSavepoint();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  EXPECT_TRUE(is_new());
  ASSERT_TRUE(txn->RollbackToSavepoint(start).ok());
  EXPECT_TRUE(is_new());
  ASSERT_TRUE(txn->Insert(K("a"), "2", kNoWait).ok());
  EXPECT_TRUE(is_new());
  const SavepointId later = txn->SetSavepoint();
  ASSERT_TRUE(txn->Lock(K("b"), kNoWait, nullptr).ok());
  EXPECT_EQ(Read(*txn, "a"), "2");
  EXPECT_FALSE(is_new());
  ASSERT_TRUE(txn->Delete(Family::kData, K("a")).ok());
  EXPECT_TRUE(is_new());
  ASSERT_TRUE(txn->SingleDelete(Family::kData, K("b", 2)).ok());
  EXPECT_TRUE(is_new());
  ASSERT_TRUE(txn->RollbackToSavepoint(later).ok());
  EXPECT_TRUE(is_new());
  const Status failed = txn->ChangeRow([&] {
    EXPECT_TRUE(txn->Put(Family::kData, K("b"), "1").ok());
    is_new();
    return Status::DuplicateKey();
  });
  EXPECT_TRUE(failed.Is(Status::Code::kDuplicateKey));
  EXPECT_TRUE(is_new());
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_TRUE(is_new());
  txn->Begin(Isolation::kRepeatableRead);
  ASSERT_TRUE(txn->Rollback().ok());
  EXPECT_TRUE(is_new());
}

TEST_F(SavepointsTest, AFailedFirstStatementLeavesNothing) {
  auto txn = Begin();
  txn->StartStatement();
  ASSERT_TRUE(txn->Put(Family::kData, K("a"), "1").ok());
  txn->StartStatement();  // of a second table of the same statement
  ASSERT_TRUE(txn->Put(Family::kData, K("a", 2), "1").ok());
  ASSERT_TRUE(txn->RollbackStatement().ok());
  ASSERT_TRUE(txn->RollbackStatement().ok());
  EXPECT_FALSE(txn->HasWrites());
  EXPECT_EQ(Scan(*txn), "");
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
}

TEST_F(SavepointsTest, ASavepointWithinAStatement) {
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  txn->StartStatement();
  ASSERT_TRUE(txn->Put(Family::kData, K("b"), "1").ok());
  const SavepointId inner = txn->SetSavepoint();
  ASSERT_TRUE(txn->Put(Family::kData, K("c"), "1").ok());
  ASSERT_TRUE(txn->RollbackToSavepoint(inner).ok());
  ASSERT_TRUE(txn->Put(Family::kData, K("d"), "1").ok());
  txn->EndStatement();
  EXPECT_EQ(Scan(*txn), "a=1 b=1 d=1");
}

// As SAVEPOINT of two names in turn does: each forgets the one below the other.
TEST_F(SavepointsTest, ForgottenOnesDoNotPileUp) {
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "start", "1").ok());
  SavepointId names[2] = {txn->SetSavepoint(), txn->SetSavepoint()};
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(txn->ForgetSavepoint(names[i % 2]).ok());
    names[i % 2] = txn->SetSavepoint();
    txn->StartStatement();
    EXPECT_EQ(txn->savepoint_count(), 3u);
    ASSERT_TRUE(txn->Put(Family::kData, K("a"), std::to_string(i)).ok());
    txn->EndStatement();
    ASSERT_EQ(txn->savepoint_count(), 2u);
  }
  EXPECT_EQ(Scan(*txn), "a=99 start=1");
  ASSERT_TRUE(txn->RollbackToSavepoint(names[1]).ok());
  EXPECT_EQ(Scan(*txn), "a=98 start=1");
  ASSERT_TRUE(txn->RollbackToSavepoint(names[0]).ok());
  EXPECT_EQ(Scan(*txn), "a=97 start=1");
  ASSERT_TRUE(txn->ReleaseSavepoint(names[0]).ok());
  ASSERT_TRUE(Write(*txn, "b", "1").ok());
  EXPECT_EQ(txn->savepoint_count(), 0u);
  EXPECT_EQ(Scan(*txn), "a=97 b=1 start=1");
}

// What a forgotten one has left in the batch below another is nothing to go back to, once that other has been undone.
TEST_F(SavepointsTest, TheOneBelowAForgottenOneIsGoneBackTo) {
  for (const bool released : {false, true}) {
    auto txn = Begin();
    ASSERT_TRUE(Write(*txn, "0", "1").ok());
    const SavepointId a = txn->SetSavepoint();
    ASSERT_TRUE(Write(*txn, "1", "1").ok());
    const SavepointId x = txn->SetSavepoint();
    ASSERT_TRUE(Write(*txn, "2", "1").ok());
    const SavepointId b = txn->SetSavepoint();
    ASSERT_TRUE(Write(*txn, "3", "1").ok());
    ASSERT_TRUE(txn->ForgetSavepoint(x).ok());
    (void)txn->SetSavepoint();
    ASSERT_TRUE(txn->RollbackToSavepoint(b).ok());
    EXPECT_EQ(Scan(*txn), "0=1 1=1 2=1");
    if (released) { ASSERT_TRUE(txn->ReleaseSavepoint(b).ok()); }
    ASSERT_TRUE(txn->RollbackToSavepoint(a).ok());
    EXPECT_EQ(Scan(*txn), "0=1");
  }
}

TEST_F(SavepointsTest, AFailedStatementLeavesNothingBehindForgottenOnes) {
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "0", "1").ok());
  txn->StartStatement();
  ASSERT_TRUE(txn->Put(Family::kData, K("1"), "1").ok());
  const SavepointId x = txn->SetSavepoint();
  ASSERT_TRUE(txn->Put(Family::kData, K("2"), "1").ok());
  const SavepointId y = txn->SetSavepoint();
  ASSERT_TRUE(txn->Put(Family::kData, K("3"), "1").ok());
  ASSERT_TRUE(txn->ForgetSavepoint(x).ok());
  (void)txn->SetSavepoint();
  ASSERT_TRUE(txn->RollbackToSavepoint(y).ok());
  ASSERT_TRUE(txn->RollbackStatement().ok());
  EXPECT_EQ(Scan(*txn), "0=1");
}

// A transaction in which everything is a plain copy.
struct Model {
  using Rows = std::map<std::string, std::string>;
  Rows rows;
  std::vector<std::pair<SavepointId, Rows>> savepoints;
  SavepointId statement = 0;
  Rows statement_rows;

  std::string Text() const {
    std::string text;
    for (const auto& [name, value] : rows) {
      if (!text.empty()) text += ' ';
      text += name + "=" + value;
    }
    return text;
  }
};

class SavepointsModelTest : public SavepointsTest {
 protected:
  // Takes one random step in both.
  void Step(Transaction& txn, Model& model, std::mt19937& random) {
    const std::string name(1, static_cast<char>('a' + random() % 8));
    const std::string value = std::to_string(random() % 1000);
    const size_t count = model.savepoints.size();
    switch (random() % 12) {
      case 4:
        if (count == 0) return;
        return ForgetOne(txn, model, random() % count);
      case 5:
        return WithoutChanges(txn, model, random);
      case 0:
        model.savepoints.emplace_back(txn.SetSavepoint(), model.rows);
        return;
      case 1:
        if (count == 0) return;
        return Undo(txn, model, random() % count);
      case 2:
        if (count == 0) return;
        return Forget(txn, model, random() % count);
      case 3: {
        const Model::Rows before = model.rows;
        txn.StartStatement();
        Change(txn, model, name, value);
        Change(txn, model, "z", value);
        ASSERT_TRUE(txn.RollbackStatement().ok());
        model.rows = before;
        return;
      }
      default:
        txn.StartStatement();
        if (random() % 8 != 0) Change(txn, model, name, random() % 4 == 0 ? "" : value);
        txn.EndStatement();
    }
  }

  // Several steps of savepoints alone.
  void WithoutChanges(Transaction& txn, Model& model, std::mt19937& random) {
    for (unsigned left = 2 + random() % 4; left > 0 && !model.savepoints.empty() && !HasFatalFailure(); --left) {
      const size_t newest = model.savepoints.size() - 1;
      const size_t at = newest - random() % std::min<size_t>(newest + 1, 4);
      switch (random() % 4) {
        case 0: Forget(txn, model, at); break;
        case 1: model.savepoints.emplace_back(txn.SetSavepoint(), model.rows); break;
        case 2: ForgetOne(txn, model, at); break;
        default: Undo(txn, model, at);
      }
    }
  }

  static void Change(Transaction& txn, Model& model, const std::string& name, const std::string& value) {
    if (value.empty()) {
      ASSERT_TRUE(txn.Delete(Family::kData, K(name)).ok());
      model.rows.erase(name);
    } else {
      ASSERT_TRUE(txn.Put(Family::kData, K(name), value).ok());
      model.rows[name] = value;
    }
    txn.AddTableCounters(TableId(1), {1, 0});
  }

  static void Undo(Transaction& txn, Model& model, size_t at) {
    ASSERT_TRUE(txn.RollbackToSavepoint(model.savepoints[at].first).ok());
    model.rows = model.savepoints[at].second;
    model.savepoints.resize(at + 1);
  }

  static void Forget(Transaction& txn, Model& model, size_t at) {
    ASSERT_TRUE(txn.ReleaseSavepoint(model.savepoints[at].first).ok());
    model.savepoints.resize(at);
  }

  // As a savepoint of the same name does.
  static void ForgetOne(Transaction& txn, Model& model, size_t at) {
    ASSERT_TRUE(txn.ForgetSavepoint(model.savepoints[at].first).ok());
    model.savepoints.erase(model.savepoints.begin() + static_cast<ptrdiff_t>(at));
  }
};

TEST_F(SavepointsModelTest, RandomHistoriesAgree) {
  auto txn = manager->NewTransaction();
  Model::Rows committed;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Model model;
    model.rows = committed;
    txn->Begin(Isolation::kRepeatableRead);
    for (int step = 0; step < 40; ++step) {
      Step(*txn, model, random);
      ASSERT_FALSE(HasFatalFailure());
      ASSERT_EQ(txn->savepoint_count(), model.savepoints.size());
      if (step % 8 != 0) continue;
      ASSERT_EQ(Scan(*txn), model.Text());
    }
    ASSERT_EQ(Scan(*txn), model.Text());
    if (random() % 4 == 0) {
      ASSERT_TRUE(txn->Rollback().ok());
    } else {
      ASSERT_TRUE(txn->Commit(Durability::kOs).ok());
      committed = model.rows;
    }
  }
}

}  // namespace
}  // namespace cairn::txn

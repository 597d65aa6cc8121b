// SPDX-License-Identifier: GPL-2.0-only
// Random changes to random tables against a model: what is committed is, byte for byte, each
// row's key and value and its index entries, and nothing else.
#include "dml/row_writer.h"

#include "dml/row_writer_testing.h"

namespace cairn::dml {
namespace {

using catalog::IndexKind;
using catalog::testing::AddEntriesOf;
using catalog::testing::CommittedEntries;
using catalog::testing::Entries;
using catalog::testing::MakeAccess;
using catalog::testing::MakeDef;
using catalog::testing::MakeIndex;
using codec::ColumnSet;
using codec::testing::Randomly;
using codec::testing::TestRecord;
using Code = Status::Code;
using store::Durability;
using txn::kNoWait;
using txn::Transaction;

struct ModelRow {
  TestRecord record;
  uint64_t hidden_row_id = 0;
};
using Model = std::map<std::string, ModelRow>;  // by primary key

// A table of random shape and what it should hold.
class RandomTable {
 public:
  explicit RandomTable(uint64_t seed)
      : random(seed), layout(random.Layout(1 + random.Below(6))), access(MakeAccess(RandomDef(), layout)) {}

  std::string PrimaryKeyOf(const ModelRow& row) const {
    ByteBuffer key;
    access->primary().EncodePrimaryKey(row.record.data(), row.hidden_row_id, &key);
    return key.ToString();
  }

  // Which index an insert, or an update of the row `without`, should find a duplicate in, and
  // the primary key of the row in the way; -1: none.
  int DuplicateOf(const ModelRow& row, const std::string& without, std::string* in_the_way) const {
    const std::string primary_key = PrimaryKeyOf(row);
    if (primary_key != without && model.contains(primary_key)) {
      *in_the_way = primary_key;
      return 0;
    }
    for (size_t index = 1; index < access->indexes().size(); ++index) {
      const codec::IndexCodec& codec = access->indexes()[index];
      if (!codec.unique() || codec.HasNullPart(row.record.data())) continue;
      for (const auto& [other_key, other] : model) {
        if (other_key == without || codec.HasNullPart(other.record.data())) continue;
        if (TupleOf(codec, other) != TupleOf(codec, row)) continue;
        *in_the_way = other_key;
        return static_cast<int>(index);
      }
    }
    return -1;
  }

  Entries Expected() const {
    Entries entries;
    for (const auto& [key, row] : model) AddEntriesOf(*access, row.record.data(), row.hidden_row_id, &entries);
    return entries;
  }

  ModelRow NewRow() {
    ModelRow row{TestRecord(layout), access->primary().has_hidden_row_id() ? access->table().TakeRowId() : 0};
    random.Fill(layout, &row.record);
    return row;
  }
  Model::iterator AnyRow() { return std::next(model.begin(), static_cast<long>(random.Below(model.size()))); }

  Randomly random;
  const codec::RecordLayout layout;
  const std::shared_ptr<catalog::TableAccess> access;
  Model model;

 private:
  static std::string TupleOf(const codec::IndexCodec& codec, const ModelRow& row) {
    ByteBuffer tuple;
    codec.EncodeTupleFromRecord(row.record.data(), codec.own_part_count(), &tuple);
    return tuple.ToString();
  }

  catalog::TableDef RandomDef() {
    const auto primary = random.Parts(layout, 3, true);
    std::vector<catalog::IndexDef> indexes;
    indexes.push_back(MakeIndex(primary.empty() ? IndexKind::kHiddenPrimary : IndexKind::kPrimary, "PRIMARY", primary, 1));
    for (uint64_t count = random.Below(5); count != 0; --count) {
      const auto parts = random.Parts(layout, 3, false);
      const IndexKind kind = random.OneIn(2) ? IndexKind::kUnique : IndexKind::kSecondary;
      const uint32_t id = static_cast<uint32_t>(indexes.size() + 1);
      if (!parts.empty()) indexes.push_back(MakeIndex(kind, "k" + std::to_string(id), parts, id));
    }
    return MakeDef("test/t", layout, std::move(indexes));
  }
};

class RowWriterTest : public ::testing::Test, public txn::TxnFixture {
 protected:
  void SetUp() override { OpenAll(); }

  void Bind(Transaction& transaction, const catalog::TableAccess& access) {
    transaction.StartStatement();
    writer.Bind(&transaction, &access, kNoWait);
  }

  void ExpectDuplicate(int index, const std::string& in_the_way, const Status& status) {
    if (index < 0) {
      ASSERT_TRUE(status.ok()) << status.ToString();
      return;
    }
    ASSERT_TRUE(status.Is(Code::kDuplicateKey)) << status.ToString();
    EXPECT_EQ(writer.duplicate_index(), static_cast<size_t>(index));
    EXPECT_EQ(writer.duplicate_primary_key(), in_the_way);
  }

  void InsertOne(RandomTable& table) {
    const ModelRow row = table.NewRow();
    std::string in_the_way;
    const int index = table.DuplicateOf(row, "", &in_the_way);
    ExpectDuplicate(index, in_the_way, writer.Insert({row.record.data(), row.hidden_row_id}));
    if (index < 0) table.model.emplace(table.PrimaryKeyOf(row), row);
  }

  void UpdateOne(RandomTable& table) {
    const auto at = table.AnyRow();
    ModelRow changed = at->second;
    ColumnSet touched(table.layout.columns.size());
    for (size_t column = 0; column < table.layout.columns.size(); ++column) {
      if (table.random.OneIn(2)) continue;
      touched.Add(column);
      table.random.FillColumn(table.layout, column, &changed.record);
    }
    std::string in_the_way;
    const int index = table.DuplicateOf(changed, at->first, &in_the_way);
    ExpectDuplicate(index, in_the_way,
                    writer.Update({at->second.record.data(), at->second.hidden_row_id},
                                  {changed.record.data(), changed.hidden_row_id}, touched));
    if (index >= 0) return;
    table.model.erase(at);
    table.model.emplace(table.PrimaryKeyOf(changed), changed);
  }

  void DeleteOne(RandomTable& table) {
    const auto at = table.AnyRow();
    const Status status = writer.Delete({at->second.record.data(), at->second.hidden_row_id});
    ASSERT_TRUE(status.ok()) << status.ToString();
    table.model.erase(at);
  }

  void ChangeOne(RandomTable& table) {
    const uint64_t what = table.random.Below(5);
    if (what < 2 || table.model.empty()) return InsertOne(table);
    if (what < 4) return UpdateOne(table);
    DeleteOne(table);
  }

  // Some statements, some of them undone, then commit or rollback.
  void RunTransaction(RandomTable& table) {
    auto transaction = Begin();
    const Model before = table.model;
    for (uint64_t statements = 1 + table.random.Below(6); statements != 0; --statements) {
      const Model before_statement = table.model;
      Bind(*transaction, *table.access);
      for (uint64_t changes = table.random.Below(6); changes != 0; --changes) {
        ASSERT_NO_FATAL_FAILURE(ChangeOne(table));
      }
      if (table.random.OneIn(4)) {
        ASSERT_TRUE(transaction->RollbackStatement().ok());
        table.model = before_statement;
      } else {
        transaction->EndStatement();
      }
    }
    if (table.random.OneIn(6)) {
      ASSERT_TRUE(transaction->Rollback().ok());
      table.model = before;
    } else {
      ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
    }
  }

  void RunTable(uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomTable table(seed);
    for (int round = 0; round < 12; ++round) {
      ASSERT_NO_FATAL_FAILURE(RunTransaction(table));
      if (table.random.OneIn(4)) {
        ASSERT_TRUE(store->FlushMemtables().ok());
      }
      ASSERT_EQ(CommittedEntries(*store, table.access->def()), table.Expected()) << "round " << round;
      ASSERT_EQ(static_cast<size_t>(live[TableId(1)].row_count), table.model.size());
    }
    ASSERT_TRUE(store->CompactRange(store::Family::kData, {}, {}).ok());
    ASSERT_EQ(CommittedEntries(*store, table.access->def()), table.Expected()) << "compacted";
    // One store serves all tables: the next one has the same index ids.
    Empty(table);
    EXPECT_EQ(CommittedEntries(*store, table.access->def()), Entries());
    EXPECT_EQ(manager->locks().lock_count(), 0u);
  }

  void Empty(RandomTable& table) {
    auto transaction = Begin();
    Bind(*transaction, *table.access);
    while (!table.model.empty()) ASSERT_NO_FATAL_FAILURE(DeleteOne(table));
    ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
    EXPECT_EQ(live[TableId(1)].row_count, 0);
  }

  RowWriter writer;
};

TEST_F(RowWriterTest, RandomChangesKeepRowsAndEntriesTogether) {
  for (uint64_t seed = 0; seed < 150; ++seed) ASSERT_NO_FATAL_FAILURE(RunTable(seed));
}

TEST_F(SmallTableTest, ADuplicateChangesNothing) {
  const TestRecord one = Row(1, 10, "a"), two = Row(2, 20, "b");
  CommitRows({one, two});
  auto transaction = Begin();
  EXPECT_TRUE(Insert(*transaction, Row(1, 30, "x")).Is(Code::kDuplicateKey));
  EXPECT_EQ(writer.duplicate_index(), 0u);
  EXPECT_TRUE(Insert(*transaction, Row(3, 20, "x")).Is(Code::kDuplicateKey));
  EXPECT_EQ(writer.duplicate_index(), 1u);
  EXPECT_TRUE(Update(*transaction, one, Row(2, 10, "x"), {0, 2}).Is(Code::kDuplicateKey));
  EXPECT_EQ(writer.duplicate_index(), 0u);
  EXPECT_TRUE(Update(*transaction, one, Row(9, 20, "x"), {0, 1, 2}).Is(Code::kDuplicateKey));
  EXPECT_EQ(writer.duplicate_index(), 1u);
  EXPECT_FALSE(transaction->HasWrites());
  EXPECT_EQ(transaction->PendingTableCounters(TableId(1)).row_count, 0);
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_EQ(Committed(), EntriesOf({one, two}));
}

TEST_F(SmallTableTest, WhoChangesTheRowInTheWayIsGivenItOnce) {
  const TestRecord one = Row(1, 10, "a"), two = Row(2, 20, "b"), own = Row(3, 30, "c");
  CommitRows({one, two});
  auto transaction = Begin();
  Bind(*transaction);
  const auto is_given = [&](const TestRecord& inserted, const TestRecord& row) {
    EXPECT_TRUE(writer.Insert({inserted.data()}).Is(Code::kDuplicateKey));
    ByteView value;
    if (!writer.TakeDuplicate(PrimaryKey(row), &value)) return false;
    ByteBuffer expected;
    access->rows().Encode(row.data(), &expected);
    EXPECT_EQ(value, expected.view());
    EXPECT_FALSE(writer.TakeDuplicate(PrimaryKey(row), &value));
    return true;
  };
  // Not if nobody has said that it is to be changed: it may be locked shared.
  EXPECT_FALSE(is_given(Row(1, 40, "x"), one));
  writer.SetChangesDuplicates();
  EXPECT_TRUE(is_given(Row(1, 40, "x"), one));
  EXPECT_TRUE(manager->locks().Holds(*transaction, PrimaryKey(one), txn::LockMode::kExclusive));
  EXPECT_TRUE(is_given(Row(1, 40, "y"), one));
  EXPECT_FALSE(is_given(Row(1, 40, "x"), two));
  // Not met by its primary key, of which nothing but the entry was read.
  EXPECT_FALSE(is_given(Row(4, 20, "x"), two));
  ASSERT_TRUE(writer.Insert({own.data()}).ok());
  EXPECT_TRUE(is_given(Row(3, 40, "x"), own));
}

TEST_F(SmallTableTest, TheRowInTheWayIsNotGivenAfterAnyChange) {
  const TestRecord one = Row(1, 10, "a"), two = Row(2, 20, "b"), changed = Row(2, 20, "c"), other = Row(9, 90, "z");
  CommitRows({one, two});
  auto transaction = Begin();
  const auto is_given_after = [&](const auto& change) {
    Bind(*transaction);
    writer.SetChangesDuplicates();
    EXPECT_TRUE(writer.Insert({Row(1, 30, "x").data()}).Is(Code::kDuplicateKey));
    change();
    ByteView value;
    return writer.TakeDuplicate(PrimaryKey(one), &value);
  };
  EXPECT_TRUE(is_given_after([] {}));
  // By somebody else in the transaction: a table may be used twice in it.
  EXPECT_FALSE(is_given_after([&] { EXPECT_TRUE(transaction->Put(store::Family::kData, PrimaryKey(other), "x").ok()); }));
  const txn::SavepointId savepoint = transaction->SetSavepoint();
  ASSERT_TRUE(transaction->Delete(store::Family::kData, PrimaryKey(other)).ok());
  EXPECT_FALSE(is_given_after([&] { EXPECT_TRUE(transaction->RollbackToSavepoint(savepoint).ok()); }));
  ColumnSet touched(3);
  touched.Add(2);
  EXPECT_FALSE(is_given_after([&] { EXPECT_TRUE(writer.Update({two.data()}, {changed.data()}, touched).ok()); }));
  EXPECT_FALSE(is_given_after([&] { EXPECT_TRUE(writer.Delete({changed.data()}).ok()); }));
  // Another call, also one that has come to nothing.
  EXPECT_FALSE(is_given_after([&] { EXPECT_TRUE(writer.Insert({Row(5, 10, "x").data()}).Is(Code::kDuplicateKey)); }));
  EXPECT_FALSE(is_given_after([&] { Bind(*transaction); }));
  EXPECT_FALSE(is_given_after([&] { writer.Reset(); }));
  EXPECT_FALSE(is_given_after([&] {
    EXPECT_TRUE(transaction->Rollback().ok());
    transaction->Begin(txn::Isolation::kRepeatableRead);
  }));
}

TEST_F(SmallTableTest, NullsInAUniqueIndexNeverCollide) {
  const TestRecord one = Row(1, -1, "a"), two = Row(2, -1, "a"), three = Row(3, 7, "a");
  CommitRows({one, two, three});
  auto transaction = Begin();
  ASSERT_TRUE(Update(*transaction, three, Row(3, -1, "a"), {1}).ok());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_EQ(Committed(), EntriesOf({one, two, Row(3, -1, "a")}));
}

TEST_F(SmallTableTest, APrimaryKeyMovesWithAllEntries) {
  CommitRows({Row(1, 10, "a"), Row(2, 20, "b")});
  auto transaction = Begin();
  ASSERT_TRUE(Update(*transaction, Row(1, 10, "a"), Row(5, 10, "a"), {0}).ok());
  // The old key is free again within the transaction.
  ASSERT_TRUE(Update(*transaction, Row(2, 20, "b"), Row(1, 20, "b"), {0}).ok());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_EQ(Committed(), EntriesOf({Row(5, 10, "a"), Row(1, 20, "b")}));
  EXPECT_EQ(live[TableId(1)].row_count, 2);
}

// What statistics depend on: rows come, go, and have other keys.
TEST_F(SmallTableTest, ChangesOfKeysAreCounted) {
  CommitRows({Row(1, 10, "a"), Row(2, 20, "b")});
  EXPECT_EQ(live_changed_rows[TableId(1)], 2u);
  auto transaction = Begin();
  ASSERT_TRUE(Update(*transaction, Row(1, 10, "a"), Row(1, 10, "c"), {2}).ok());
  ASSERT_TRUE(Update(*transaction, Row(2, 20, "b"), Row(2, 30, "d"), {1, 2}).ok());
  // Nothing but the spelling is another: the key is as it was.
  ASSERT_TRUE(Update(*transaction, Row(1, 10, "c"), Row(1, 10, "C"), {2}).ok());
  ASSERT_TRUE(Update(*transaction, Row(1, 10, "C"), Row(3, 10, "C"), {0}).ok());
  ASSERT_TRUE(writer.Delete({Row(2, 30, "d").data()}).ok());
  ASSERT_TRUE(Insert(*transaction, Row(4, 40, "e")).ok());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_EQ(live_changed_rows[TableId(1)], 7u);
  EXPECT_EQ(live[TableId(1)].row_count, 2);
}

TEST_F(SmallTableTest, AnotherSpellingOfAnEqualValueReplacesTheEntry) {
  CommitRows({Row(1, 10, "abc")});
  auto transaction = Begin();
  ASSERT_TRUE(Update(*transaction, Row(1, 10, "abc"), Row(1, 10, "ABC"), {2}).ok());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_NE(EntriesOf({Row(1, 10, "abc")}), EntriesOf({Row(1, 10, "ABC")}));
  EXPECT_EQ(Committed(), EntriesOf({Row(1, 10, "ABC")}));
}

TEST_F(SmallTableTest, SavepointsUndoRowsEntriesAndCounters) {
  CommitRows({Row(1, 10, "a")});
  auto transaction = Begin();
  ASSERT_TRUE(Insert(*transaction, Row(2, 20, "b")).ok());
  transaction->EndStatement();
  const txn::SavepointId savepoint = transaction->SetSavepoint();
  ASSERT_TRUE(Insert(*transaction, Row(3, 30, "c")).ok());
  ASSERT_TRUE(Update(*transaction, Row(1, 10, "a"), Row(4, 40, "d"), {0, 1, 2}).ok());
  ASSERT_TRUE(writer.Delete({Row(2, 20, "b").data()}).ok());
  transaction->EndStatement();
  ASSERT_TRUE(transaction->RollbackToSavepoint(savepoint).ok());
  // What was undone is free again.
  ASSERT_TRUE(Insert(*transaction, Row(4, 30, "e")).ok());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_EQ(Committed(), EntriesOf({Row(1, 10, "a"), Row(2, 20, "b"), Row(4, 30, "e")}));
  EXPECT_EQ(live[TableId(1)].row_count, 3);
}

}  // namespace
}  // namespace cairn::dml

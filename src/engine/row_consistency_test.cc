// SPDX-License-Identifier: GPL-2.0-only
// Random changes through the engine's layers, with power losses: CHECK TABLE finds nothing, scans of
// all indexes give the same rows, and the row count is right.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/index_bounds.h"
#include "catalog/catalog.h"
#include "catalog/testing.h"
#include "dml/row_writer.h"
#include "scan/index_scan.h"
#include "scan/table_check.h"
#include "txn/txn_testing.h"

namespace cairn::engine {
namespace {

using catalog::IndexKind;
using catalog::testing::MakeDef;
using catalog::testing::MakeIndex;
using codec::testing::Randomly;
using codec::testing::TestRecord;
using Code = Status::Code;
using store::Durability;
using txn::kNoWait;
using txn::Transaction;

class RowConsistencyTest : public ::testing::Test, public store::StoreFixture {
 protected:
  void OpenAll() {
    Open();
    ASSERT_TRUE(catalog::Catalog::Open(store.get(), &catalog).ok());
    txn::TransactionHooks hooks;
    hooks.counter_key = [](TableId table, ByteBuffer* key) { key->Append(catalog::CountersKey(table)); };
    hooks.on_commit = [this](TableId table, const store::TableCounters& change, uint64_t changed_rows) {
      catalog->OnCommit(table, change, changed_rows);
    };
    manager = std::make_unique<txn::TransactionManager>(*store, txn::PointLocks::Options{}, hooks);
  }
  void Use(const std::string& name, const codec::RecordLayout& layout) {
    std::shared_ptr<catalog::Table> table;
    ASSERT_TRUE(catalog->Find(name, &table).ok());
    ASSERT_TRUE(catalog::TableAccess::Make(table, layout, &access).ok());
  }
  void LosePower() {
    writer.Reset();
    access.reset();
    manager.reset();
    catalog.reset();
    Crash();
    OpenAll();
  }
  void TearDown() override {
    access.reset();
    manager.reset();
  }

  // A table whose rows hold all of its columns.
  static catalog::TableDef RandomTable(Randomly& random, codec::RecordLayout* layout) {
    *layout = random.Layout(1 + random.Below(6));
    for (codec::ColumnLayout& column : layout->columns) column.stored = true;
    const auto primary = random.Parts(*layout, 2, true);
    std::vector<catalog::IndexDef> indexes = {
        MakeIndex(primary.empty() ? IndexKind::kHiddenPrimary : IndexKind::kPrimary, "PRIMARY", primary)};
    for (uint64_t count = random.Below(4); count != 0; --count) {
      const auto parts = random.Parts(*layout, 3, false);
      const IndexKind kind = random.OneIn(3) ? IndexKind::kUnique : IndexKind::kSecondary;
      if (!parts.empty()) indexes.push_back(MakeIndex(kind, "k" + std::to_string(count), parts));
    }
    return MakeDef("d/t", *layout, std::move(indexes));
  }

  // The primary keys that a walk over an index gives, sorted.
  std::vector<std::string> KeysBy(Transaction& transaction, size_t index, const scan::ReadMode& mode) {
    scan::RowReader reader;
    scan::IndexScan walk;
    scan::FoundRow row;
    reader.Bind(store.get(), &transaction, access.get(), mode);
    walk.Open(&reader, {.index = index});
    const IndexBounds bounds(access->indexes()[index].id());
    std::vector<std::string> keys;
    Status status = walk.First(bounds.lower(), bounds.upper(), &row);
    for (; status.ok(); status = walk.Next(&row)) keys.emplace_back(row.row.primary_key);
    EXPECT_TRUE(status.Is(Code::kNotFound)) << status.ToString();
    walk.Close();
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  // Reads a row back by its primary key, so that what is changed is what was stored.
  void Load(Transaction& transaction, const std::string& key, TestRecord* record, uint64_t* row_id, std::string* value) {
    scan::RowReader reader;
    scan::StoredRow row;
    reader.Bind(store.get(), &transaction, access.get(), {.locking = true, .skip_locked = false, .lock = kNoWait});
    ASSERT_TRUE(reader.ByPrimaryKey(key, &row).ok());
    *value = row.value;
    const auto plan = access->rows().Plan(codec::ColumnSet::All(access->layout().columns.size()));
    ASSERT_TRUE(access->rows().Decode(plan, key, *value, record->data()).ok());
    if (access->primary().has_hidden_row_id()) {
      ASSERT_TRUE(access->primary().HiddenRowIdOf(key, row_id).ok());
    }
  }

  void InsertOne(Randomly& random) {
    TestRecord record(access->layout());
    random.Fill(access->layout(), &record);
    const Status status = writer.Insert({record.data(), access->table().TakeRowId()});
    ASSERT_TRUE(status.ok() || status.Is(Code::kDuplicateKey)) << status.ToString();
  }
  void ChangeOne(Transaction& transaction, Randomly& random) {
    const auto keys = KeysBy(transaction, 0, scan::ReadMode{.locking = true, .skip_locked = false, .lock = kNoWait});
    if (keys.empty() || random.OneIn(3)) return InsertOne(random);
    TestRecord old_record(access->layout());
    uint64_t row_id = 0;
    std::string value;
    ASSERT_NO_FATAL_FAILURE(Load(transaction, keys[random.Below(keys.size())], &old_record, &row_id, &value));
    if (random.OneIn(3)) {
      ASSERT_TRUE(writer.Delete({old_record.data(), row_id}).ok());
      return;
    }
    TestRecord record = old_record;
    codec::ColumnSet touched(access->layout().columns.size());
    const size_t column = random.Below(access->layout().columns.size());
    random.FillColumn(access->layout(), column, &record);
    touched.Add(column);
    const Status status = writer.Update({old_record.data(), row_id}, {record.data(), row_id}, touched);
    ASSERT_TRUE(status.ok() || status.Is(Code::kDuplicateKey)) << status.ToString();
  }

  void RunTransaction(Randomly& random) {
    auto transaction = manager->NewTransaction();
    transaction->Begin(txn::Isolation::kRepeatableRead);
    for (uint64_t statements = 1 + random.Below(4); statements != 0; --statements) {
      transaction->StartStatement();
      writer.Bind(transaction.get(), access.get(), kNoWait);
      for (uint64_t changes = random.Below(5); changes != 0; --changes) {
        ASSERT_NO_FATAL_FAILURE(ChangeOne(*transaction, random));
      }
      if (random.OneIn(4)) {
        ASSERT_TRUE(transaction->RollbackStatement().ok());
      } else {
        transaction->EndStatement();
      }
    }
    const Durability durability = random.OneIn(2) ? Durability::kSync : Durability::kOs;
    ASSERT_TRUE((random.OneIn(5) ? transaction->Rollback() : transaction->Commit(durability)).ok());
  }

  void ExpectConsistent() {
    scan::CheckResult result;
    const Status status = scan::CheckTable(*store, *access, {}, &result);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(result.problem_count, 0u) << result.problems[0];
    EXPECT_EQ(access->table().row_count(), result.rows);
    auto transaction = manager->NewTransaction();
    transaction->Begin(txn::Isolation::kRepeatableRead);
    transaction->StartStatement();
    const auto keys = KeysBy(*transaction, 0, scan::ReadMode::Consistent());
    EXPECT_EQ(keys.size(), result.rows);
    for (size_t index = 1; index < access->indexes().size(); ++index) {
      EXPECT_EQ(KeysBy(*transaction, index, scan::ReadMode::Consistent()), keys);
    }
    ASSERT_TRUE(transaction->Rollback().ok());
  }

  void RunTable(uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Randomly random(seed);
    codec::RecordLayout layout;
    std::shared_ptr<catalog::Table> table;
    ASSERT_TRUE(catalog->Create(RandomTable(random, &layout), 0, &table).ok());
    ASSERT_NO_FATAL_FAILURE(Use("d/t", layout));
    for (int round = 0; round < 10; ++round) {
      ASSERT_NO_FATAL_FAILURE(RunTransaction(random));
      if (random.OneIn(4)) {
        ASSERT_NO_FATAL_FAILURE(LosePower());
        ASSERT_NO_FATAL_FAILURE(Use("d/t", layout));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectConsistent());
    }
    ASSERT_TRUE(catalog->Drop("d/t").ok());
  }

  std::unique_ptr<catalog::Catalog> catalog;
  std::unique_ptr<txn::TransactionManager> manager;
  std::shared_ptr<catalog::TableAccess> access;
  dml::RowWriter writer;
};

TEST_F(RowConsistencyTest, RandomTablesStayConsistentThroughPowerLosses) {
  OpenAll();
  for (uint64_t seed = 0; seed < 20; ++seed) ASSERT_NO_FATAL_FAILURE(RunTable(seed));
}

}  // namespace
}  // namespace cairn::engine

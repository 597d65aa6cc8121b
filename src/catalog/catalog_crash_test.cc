// SPDX-License-Identifier: GPL-2.0-only
// Random dictionary changes against a model, with power losses, refused writes and restarts: each
// change has happened wholly or not at all.
#include <set>

#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/dictionary_keys.h"
#include "catalog/testing.h"
#include "store/store_testing.h"

namespace cairn::catalog {
namespace {

using Code = Status::Code;
using codec::testing::Randomly;
using store::Durability;

struct ModelTable {
  TableDef def;
  int64_t row_count = 0;
  uint64_t auto_increment_next = 0;
};

struct Model {
  std::map<std::string, ModelTable> tables;
  std::set<uint32_t> dropped;  // ids of indexes to reclaim

  void DropIndexesOf(const TableDef& def) {
    for (const IndexDef& index : def.indexes) dropped.insert(index.id.value);
  }
};

class CatalogCrashTest : public ::testing::Test, public store::StoreFixture {
 protected:
  void OpenBoth() {
    Open();
    const Status status = Catalog::Open(store.get(), &catalog);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void TearDown() override { catalog.reset(); }

  static std::string AnyName(Randomly& random) {
    constexpr const char* kNames[] = {"a/t", "a/u", "ab/t", "b/t", "b/#sql-1"};
    return kNames[random.Below(std::size(kNames))];
  }

  void CreateOne(Randomly& random, Model* model) {
    const std::string name = AnyName(random);
    const codec::RecordLayout layout = random.Layout(1 + random.Below(4));
    const auto primary = random.Parts(layout, 2, true);
    std::vector<IndexDef> indexes = {
        testing::MakeIndex(primary.empty() ? IndexKind::kHiddenPrimary : IndexKind::kPrimary, "PRIMARY", primary)};
    const auto parts = random.Parts(layout, 2, false);
    if (!parts.empty()) indexes.push_back(testing::MakeIndex(IndexKind::kUnique, "k", parts));
    const uint64_t next = random.Below(3);
    std::shared_ptr<Table> table;
    const Status status = catalog->Create(testing::MakeDef(name, layout, std::move(indexes)), next, &table);
    if (model->tables.contains(name)) {
      ASSERT_TRUE(status.Is(Code::kAlreadyExists)) << status.ToString();
      return;
    }
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (const IndexDef& index : table->def().indexes) {
      EXPECT_TRUE(used_ids_.insert(index.id.value).second) << "index id " << index.id.value << " again";
    }
    EXPECT_TRUE(used_table_ids_.insert(table->def().id.value).second) << "table id again";
    model->tables[name] = {.def = table->def(), .row_count = 0, .auto_increment_next = next};
  }

  void RenameOne(Randomly& random, Model* model) {
    const std::string from = AnyName(random), to = AnyName(random);
    const Status status = catalog->Rename(from, to);
    if (!model->tables.contains(from)) {
      ASSERT_TRUE(status.Is(Code::kNotFound)) << status.ToString();
    } else if (model->tables.contains(to)) {
      ASSERT_TRUE(status.Is(Code::kAlreadyExists)) << status.ToString();
    } else {
      ASSERT_TRUE(status.ok()) << status.ToString();
      auto node = model->tables.extract(from);
      node.key() = node.mapped().def.name = to;
      model->tables.insert(std::move(node));
    }
  }

  void DropOne(Randomly& random, Model* model) {
    const std::string name = AnyName(random);
    const Status status = catalog->Drop(name);
    if (!model->tables.contains(name)) {
      ASSERT_TRUE(status.Is(Code::kNotFound)) << status.ToString();
      return;
    }
    ASSERT_TRUE(status.ok()) << status.ToString();
    model->DropIndexesOf(model->tables[name].def);
    model->tables.erase(name);
  }

  void TruncateOne(Randomly& random, Model* model) {
    const std::string name = AnyName(random);
    std::shared_ptr<Table> table;
    const Status status = catalog->Truncate(name, &table);
    if (!model->tables.contains(name)) {
      ASSERT_TRUE(status.Is(Code::kNotFound)) << status.ToString();
      return;
    }
    ASSERT_TRUE(status.ok()) << status.ToString();
    model->DropIndexesOf(model->tables[name].def);
    for (const IndexDef& index : table->def().indexes) {
      EXPECT_TRUE(used_ids_.insert(index.id.value).second) << "index id " << index.id.value << " again";
    }
    model->tables[name] = {.def = table->def(), .row_count = 0, .auto_increment_next = 0};
  }

  // What a committing transaction does to the counters.
  void CommitRowsTo(Randomly& random, Model* model) {
    std::shared_ptr<Table> table;
    const std::string name = AnyName(random);
    const Status status = catalog->Find(name, &table);
    ASSERT_EQ(status.ok(), model->tables.contains(name)) << status.ToString();
    if (!status.ok()) return;
    const store::TableCounters change{.row_count = static_cast<int64_t>(random.Below(5)),
                                      .auto_increment_next = random.Below(100)};
    store::Batch batch(*store);
    batch.MergeCounters(CountersKey(table->def().id), change);
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    catalog->OnCommit(table->def().id, change, 0);
    ModelTable& known = model->tables[name];
    known.row_count += change.row_count;
    known.auto_increment_next = std::max(known.auto_increment_next, change.auto_increment_next);
  }

  void ChangeOne(Randomly& random, Model* model) {
    switch (random.Below(6)) {
      case 0:
      case 1: return CreateOne(random, model);
      case 2: return RenameOne(random, model);
      case 3: return DropOne(random, model);
      case 4: return TruncateOne(random, model);
      default: return CommitRowsTo(random, model);
    }
  }

  // What the dictionary holds, as a model; counters as the live objects have them.
  Model Actual() {
    Model model;
    std::vector<std::string> names;
    EXPECT_TRUE(catalog->TableNames("", &names).ok());
    for (const std::string& name : names) {
      std::shared_ptr<Table> table;
      EXPECT_TRUE(catalog->Find(name, &table).ok());
      model.tables[name] = {.def = table->def(), .row_count = static_cast<int64_t>(table->row_count()),
                            .auto_increment_next = table->auto_increment_next()};
    }
    std::vector<IndexId> dropped;
    EXPECT_TRUE(catalog->DroppedIndexes(&dropped).ok());
    for (const IndexId id : dropped) model.dropped.insert(id.value);
    return model;
  }
  static std::string TextOf(const Model& model) {
    std::string text;
    for (const auto& [name, table] : model.tables) {
      ByteBuffer bytes;
      EncodeTableDef(table.def, &bytes);
      text += name + " " + bytes.ToString() + " " + std::to_string(table.row_count) + " " +
              std::to_string(table.auto_increment_next) + "\n";
    }
    for (const uint32_t id : model.dropped) text += std::to_string(id) + " ";
    return text;
  }

  std::unique_ptr<Catalog> catalog;
  std::set<uint32_t> used_ids_;
  std::set<uint64_t> used_table_ids_;
};

TEST_F(CatalogCrashTest, RandomChangesSurvivePowerLossesAndRestarts) {
  OpenBoth();
  Model model;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Randomly random(seed);
    for (uint64_t changes = 1 + random.Below(8); changes != 0; --changes) {
      ASSERT_NO_FATAL_FAILURE(ChangeOne(random, &model));
    }
    ASSERT_EQ(TextOf(Actual()), TextOf(model)) << "live";
    catalog.reset();
    random.OneIn(2) ? Crash() : Kill();
    ASSERT_NO_FATAL_FAILURE(OpenBoth());
    ASSERT_EQ(TextOf(Actual()), TextOf(model)) << "reopened";
  }
}

// A change whose write fails has an unknown outcome until the next start: then it is there or it is not.
TEST_F(CatalogCrashTest, AFailedWriteLeavesTheOldStateOrTheNewOne) {
  using Change = Status (*)(Catalog&);
  const Change changes[] = {
      [](Catalog& c) { return c.Rename("a/t", "b/t"); },
      [](Catalog& c) { return c.Drop("a/t"); },
      [](Catalog& c) {
        std::shared_ptr<Table> table;
        return c.Truncate("a/t", &table);
      },
  };
  for (const Change& change : changes) {
    SCOPED_TRACE(&change - changes);
    OpenBoth();
    Randomly random(7);
    Model model;
    while (!model.tables.contains("a/t")) ASSERT_NO_FATAL_FAILURE(CreateOne(random, &model));
    const std::string before = TextOf(Actual());
    env.FailWrites(".log", 1);
    EXPECT_FALSE(change(*catalog).ok());
    env.Heal();
    catalog.reset();
    Crash();
    OpenBoth();
    const std::string restarted = TextOf(Actual());
    if (restarted == before) {
      const Status status = change(*catalog);
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    EXPECT_NE(TextOf(Actual()), before);
    for (const auto& [name, table] : Actual().tables) EXPECT_TRUE(catalog->Drop(name).ok());
    catalog.reset();
    store.reset();
  }
}

// Of free space: less than the reserve, and enough for the log.
constexpr uint64_t kLittleBytes = uint64_t{32} << 20;

// A full disk refuses new tables but lets old ones be dropped.
TEST_F(CatalogCrashTest, AFullDiskStillLetsTablesGo) {
  OpenBoth();
  Randomly random(3);
  Model model;
  while (!model.tables.contains("a/t")) ASSERT_NO_FATAL_FAILURE(CreateOne(random, &model));
  const std::string before = TextOf(Actual());
  env.SetFreeBytes(kLittleBytes);
  store->CheckFreeSpace();
  TableDef def = model.tables["a/t"].def;
  def.name = "z/new";
  std::shared_ptr<Table> table;
  EXPECT_TRUE(catalog->Create(def, 0, &table).Is(Code::kNoSpace));
  EXPECT_EQ(TextOf(Actual()), before);
  env.SetFreeBytes(0);
  EXPECT_TRUE(catalog->Drop("a/t").Is(Code::kNoSpace)) << "the log could not be written";
  EXPECT_EQ(TextOf(Actual()), before);
  env.SetFreeBytes(kLittleBytes);
  EXPECT_TRUE(catalog->Drop("a/t").ok());
}

// Nor does it keep indexes from going; one that has been built waits for the room.
TEST_F(CatalogCrashTest, AFullDiskStillLetsIndexesGo) {
  OpenBoth();
  Randomly random(3);
  const IndexDef primary = testing::MakeIndex(IndexKind::kHiddenPrimary, "", {});
  const IndexDef secondary = testing::MakeIndex(IndexKind::kSecondary, "k", {{.column = 0}});
  std::shared_ptr<Table> table;
  ASSERT_TRUE(catalog->Create(testing::MakeDef("a/t", random.Layout(1), {primary, secondary}), 0, &table).ok());
  const TableDef old = table->def();
  std::vector<IndexId> built;
  ASSERT_TRUE(catalog->TakeIdsForBuild({&secondary, 1}, &built).ok());
  env.SetFreeBytes(kLittleBytes);
  store->CheckFreeSpace();
  TableDef def = old;
  def.indexes[1].id = built[0];
  EXPECT_TRUE(catalog->ReplaceIndexes({{"a/t", def}}).Is(Code::kNoSpace));
  ASSERT_TRUE(catalog->Find("a/t", &table).ok());
  EXPECT_EQ(table->def(), old);
  def.indexes.pop_back();
  const Status status = catalog->ReplaceIndexes({{"a/t", def}});
  EXPECT_TRUE(status.ok()) << status.ToString();
  ASSERT_TRUE(catalog->Find("a/t", &table).ok());
  EXPECT_EQ(table->def().indexes.size(), 1u);
}

// A name whose definition is damaged is taken: renaming onto it would lose its indexes for good.
TEST_F(CatalogCrashTest, ADamagedTableIsNotReplacedByARename) {
  OpenBoth();
  Randomly random(3);
  Model model;
  while (model.tables.size() < 2) ASSERT_NO_FATAL_FAILURE(CreateOne(random, &model));
  const std::string from = model.tables.begin()->first;
  const auto& [to, damaged] = *model.tables.rbegin();
  store::Batch batch(*store);
  batch.Put(store::Family::kDictionary, TableKey(RecordKind::kDefinition, damaged.def.id), "\1nonsense");
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  EXPECT_TRUE(catalog->Rename(from, to).Is(Code::kCorruption));
  std::shared_ptr<Table> table;
  EXPECT_TRUE(catalog->Find(from, &table).ok());
  EXPECT_TRUE(catalog->Create(model.tables[from].def, 0, &table).Is(Code::kAlreadyExists));
}

TEST_F(CatalogCrashTest, TheAutoIncrementCounterIsSetAndSavedWithoutTheRows) {
  OpenBoth();
  Randomly random(3);
  Model model;
  while (!model.tables.contains("a/t")) ASSERT_NO_FATAL_FAILURE(CreateOne(random, &model));
  const auto reopened = [&] {
    catalog.reset();
    Crash();
    OpenBoth();
    std::shared_ptr<Table> table;
    EXPECT_TRUE(catalog->Find("a/t", &table).ok());
    return table;
  };
  store::Batch batch(*store);
  batch.MergeCounters(CountersKey(model.tables["a/t"].def.id), {.row_count = 8, .auto_increment_next = 50});
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  auto table = reopened();
  EXPECT_EQ(table->auto_increment_next(), 50u);
  ASSERT_TRUE(catalog->SetAutoIncrementNext(*table, 9).ok());  // also downwards
  EXPECT_EQ(table->auto_increment_next(), 9u);
  table = reopened();
  EXPECT_EQ(table->auto_increment_next(), 9u);
  EXPECT_EQ(table->row_count(), 8u);
  table->RaiseAutoIncrementNext(77);
  table = reopened();
  EXPECT_EQ(table->auto_increment_next(), 9u);
  table->RaiseAutoIncrementNext(77);
  ASSERT_TRUE(catalog->SaveCounters().ok());
  table = reopened();
  EXPECT_EQ(table->auto_increment_next(), 77u);
  EXPECT_EQ(table->row_count(), 8u);
  EXPECT_EQ(catalog->TableNameOf(table->def().indexes[0].id), "a/t");
  EXPECT_EQ(catalog->TableNameOf(IndexId(9999)), "");
}

}  // namespace
}  // namespace cairn::catalog

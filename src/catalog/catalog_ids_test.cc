// SPDX-License-Identifier: GPL-2.0-only
// No index gets the number of another that has rows, whatever became of the dictionary and however many there have been; nor a row another's.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/index_bounds.h"
#include "catalog/catalog.h"
#include "catalog/dictionary_keys.h"
#include "catalog/testing.h"
#include "store/store_testing.h"

namespace cairn::catalog {
namespace {

using Code = Status::Code;
using store::Durability;
using store::Family;

class CatalogIdsTest : public ::testing::Test, public store::StoreFixture {
 protected:
  void SetUp() override { OpenBoth(); }
  void TearDown() override { catalog.reset(); }

  void OpenBoth() {
    Open();
    lines = std::make_unique<store::LogLines>();
    const Status status = Catalog::Open(store.get(), &catalog, lines.get());
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // With a primary and a secondary index.
  static TableDef Def(const std::string& name) {
    TableDef def;
    def.name = name;
    def.columns.push_back({.column_id = 1, .name = "a", .type = 1, .data_bytes_max = 4});
    def.indexes.push_back({.id = {}, .name = "PRIMARY", .kind = IndexKind::kPrimary, .parts = {{.column = 0}}});
    def.indexes.push_back({.id = {}, .name = "k", .kind = IndexKind::kSecondary, .parts = {{.column = 0}}});
    return def;
  }
  TableDef Create(const std::string& name) {
    std::shared_ptr<Table> table;
    EXPECT_TRUE(catalog->Create(Def(name), 0, &table).ok());
    return table->def();
  }
  // As if so many had been given out.
  void GiveOut(uint64_t next_table_id, uint32_t next_index_id) {
    ByteBuffer bytes;
    bytes.AppendVarint(next_table_id);
    bytes.AppendVarint(next_index_id);
    store::Batch batch(*store);
    batch.Put(Family::kDictionary, KindKey(RecordKind::kNextIds), bytes.view());
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    Restart();
  }
  void Restart() {
    catalog.reset();
    store.reset();
    OpenBoth();
  }
  static bool HasNoneLeft(const Status& status) {
    return status.Is(Code::kInvalidArgument) && status.message().find("has given out all numbers") != ByteView::npos;
  }
  static uint32_t Number(IndexId index) { return index.value & ~kOnlyWalkedBit; }
  Status PutEntry(IndexId index) { return Put(std::string(IndexBounds(index).lower()) + "key", "value"); }
  bool Warned() { return lines->text().find("the dictionary is older than the rows") != std::string::npos; }
  // Of the data family all is in files; what only the logs have is gone.
  void EmptyLogs() {
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    catalog.reset();
    Kill();
    for (const std::string& path : env.Files("/db", ".log")) env.WriteFile(path, "");
  }

  std::unique_ptr<store::LogLines> lines;  // of the latest start
  std::unique_ptr<Catalog> catalog;
};

TEST_F(CatalogIdsTest, AnUnknownIndexKeepsItsNumber) {
  for (const size_t which : {size_t{0}, size_t{1}}) {
    SCOPED_TRACE(which);
    const std::string name = "a/t" + std::to_string(which);
    Create(name);
    ASSERT_TRUE(store->FlushMemtables().ok());
    const TableDef lost = Create("a/lost");
    for (int more = 0; more < 3; ++more) Create("a/lost" + std::to_string(more));
    const TableDef last = Create("a/last");
    ASSERT_TRUE(PutEntry(lost.indexes[which].id).ok());
    ASSERT_TRUE(PutEntry(last.indexes[which].id).ok());
    ASSERT_NO_FATAL_FAILURE(EmptyLogs());
    OpenBoth();
    EXPECT_TRUE(Warned()) << lines->text();
    std::shared_ptr<Table> table;
    EXPECT_TRUE(catalog->Find("a/last", &table).Is(Code::kNotFound));
    EXPECT_TRUE(catalog->Find(name, &table).ok());
    const TableDef added = Create("a/new" + std::to_string(which));
    EXPECT_GT(Number(added.indexes[0].id), Number(last.indexes[which].id));
    EXPECT_TRUE(testing::CommittedEntries(*store, added).empty());
    // From here on the dictionary knows better.
    catalog.reset();
    Crash();
    OpenBoth();
    EXPECT_EQ(lines->text(), "");
    EXPECT_TRUE(testing::CommittedEntries(*store, Create("a/newest" + std::to_string(which))).empty());
  }
}

TEST_F(CatalogIdsTest, KnownIndexesAreNoneOfThese) {
  const TableDef kept = Create("a/kept"), dropped = Create("a/dropped"), emptied = Create("a/emptied");
  for (const TableDef* def : {&kept, &dropped, &emptied}) {
    for (const IndexDef& index : def->indexes) ASSERT_TRUE(PutEntry(index.id).ok());
  }
  std::vector<IndexId> building;
  ASSERT_TRUE(catalog->TakeIdsForBuild(kept.indexes, &building).ok());
  for (const IndexId id : building) ASSERT_TRUE(PutEntry(id).ok());
  ASSERT_TRUE(catalog->Drop("a/dropped").ok());
  std::shared_ptr<Table> table;
  ASSERT_TRUE(catalog->Truncate("a/emptied", &table).ok());
  for (const IndexDef& index : table->def().indexes) ASSERT_TRUE(PutEntry(index.id).ok());
  for (const bool flushes : {false, true}) {
    if (flushes) {
      ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    }
    catalog.reset();
    Crash();
    OpenBoth();
    EXPECT_EQ(lines->text(), "");
  }
}

TEST_F(CatalogIdsTest, AfterTheLastNumberNoIndexIsMade) {
  const TableDef kept = Create("a/kept");
  GiveOut(100, kIndexNumbersEnd - 7);
  EXPECT_NE(lines->text().find(" 7 are left"), std::string::npos) << lines->text();
  std::shared_ptr<Table> table;
  ASSERT_TRUE(catalog->Truncate("a/kept", &table).ok());
  std::vector<IndexId> building;
  ASSERT_TRUE(catalog->TakeIdsForBuild({&kept.indexes.back(), 1}, &building).ok());
  const TableDef last = Create("a/last");
  EXPECT_EQ(Number(last.indexes.back().id), kIndexNumbersEnd - 2);
  // One is left, of two that are wanted.
  for (int pass = 0; pass < 2; ++pass) {
    std::shared_ptr<Table> refused;
    EXPECT_TRUE(HasNoneLeft(catalog->Create(Def("a/refused"), 0, &refused)));
    EXPECT_TRUE(HasNoneLeft(catalog->Truncate("a/last", &refused)));
    EXPECT_TRUE(HasNoneLeft(catalog->TakeIdsForBuild({&kept.indexes.back(), 1}, &building)));
    EXPECT_TRUE(building.empty());
    Restart();
    EXPECT_TRUE(catalog->Find("a/refused", &refused).Is(Code::kNotFound));
    ASSERT_TRUE(catalog->Find("a/last", &table).ok());
    EXPECT_EQ(table->def().indexes.back().id, last.indexes.back().id);
  }
  TableDef small = Def("a/small");
  small.indexes.pop_back();
  ASSERT_TRUE(catalog->Create(small, 0, &table).ok());
  // Others begin where it ends.
  const IndexBounds bounds(table->def().indexes.front().id), greatest(IndexId(table->def().indexes.front().id.value | kOnlyWalkedBit));
  EXPECT_LT(bounds.lower(), bounds.upper());
  EXPECT_LT(greatest.lower(), greatest.upper());
  small.name = "a/smaller";
  EXPECT_TRUE(HasNoneLeft(catalog->Create(small, 0, &table)));
  EXPECT_TRUE(catalog->Drop("a/small").ok());
  EXPECT_TRUE(catalog->Drop("a/last").ok());
}

// A store in which an earlier program has gone on beyond the last one.
TEST_F(CatalogIdsTest, NumbersBeyondTheLastAreNotGivenEither) {
  for (const uint32_t next : {kIndexNumbersEnd, kOnlyWalkedBit, kOnlyWalkedBit + 1, UINT32_MAX}) {
    GiveOut(100, next);
    EXPECT_NE(lines->text().find(" 0 are left"), std::string::npos) << lines->text();
    std::shared_ptr<Table> table;
    EXPECT_TRUE(HasNoneLeft(catalog->Create(Def("a/t"), 0, &table)));
  }
}

TEST_F(CatalogIdsTest, TablesHaveALastNumberToo) {
  GiveOut(UINT64_MAX - 1, 100);
  Create("a/last");
  std::shared_ptr<Table> table;
  EXPECT_TRUE(HasNoneLeft(catalog->Create(Def("a/t"), 0, &table)));
}

TEST_F(CatalogIdsTest, HalfOfTheNumbersIsWarnedOfOnce) {
  GiveOut(100, kIndexNumbersEnd / 2 - 3);
  Create("a/one");
  EXPECT_EQ(lines->text(), "");
  Create("a/two");
  const std::string warned = lines->text();
  EXPECT_NE(warned.find(" are left"), std::string::npos) << warned;
  Create("a/three");
  EXPECT_EQ(lines->text(), warned);
  Restart();
  EXPECT_NE(lines->text().find(" are left"), std::string::npos) << lines->text();
}

// As of a queue, while somebody's view keeps compactions from dropping anything.
TEST_F(CatalogIdsTest, RowsThatWereRemovedAreNotWalkedOverForTheNextRowId) {
  constexpr uint64_t kRows = 5000;
  options.expert_family_options = "block_based_table_factory={block_size=256}";
  Restart();
  TableDef queue = Def("a/queue");
  queue.indexes.front() = {.id = {}, .name = "PRIMARY", .kind = IndexKind::kHiddenPrimary, .parts = {}};
  std::shared_ptr<Table> table;
  ASSERT_TRUE(catalog->Create(queue, 0, &table).ok());
  const std::string index(IndexBounds(table->def().indexes.front().id).lower());
  for (const bool removes : {false, true}) {
    store::Batch batch(*store);
    for (uint64_t row_id = 1; row_id <= kRows; ++row_id) {
      std::string key = index + std::string(8, '\0');
      StoreBe64(key.data() + index.size(), row_id);
      if (!removes) batch.Put(Family::kData, key, "row");
      if (removes && row_id != 1) batch.Delete(Family::kData, key);
    }
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  Restart();
  const auto blocks = [this] {
    uint64_t count = 0;
    for (const store::NamedNumber& number : store->Statistics()) {
      if (number.name == std::string("block_cache_data_hit") || number.name == std::string("block_cache_data_miss")) count += number.value;
    }
    return count;
  };
  const uint64_t before = blocks();
  ASSERT_TRUE(catalog->Find("a/queue", &table).ok());
  EXPECT_EQ(table->next_row_id(), kRows + 1);
  EXPECT_LT(blocks() - before, 10u);
}

}  // namespace
}  // namespace cairn::catalog

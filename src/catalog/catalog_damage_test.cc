// SPDX-License-Identifier: GPL-2.0-only
// Damage of a table's records is the table's: no other has it, and it can be got rid of.
#include <gtest/gtest.h>

#include "base/record_envelope.h"
#include "catalog/catalog_batch.h"
#include "catalog/catalog_testing.h"

namespace cairn::catalog {
namespace {

using Code = Status::Code;
using Names = std::vector<std::string>;
using store::Durability;
using store::Family;

class CatalogDamageTest : public ::testing::Test, public testing::CatalogFixture {
 protected:
  Status Restart() {
    catalog.reset();
    Reopen();
    return Catalog::Open(store.get(), &catalog, &log);
  }
  static TableDef Def(const std::string& name, bool temporary = false) {
    TableDef def;
    def.name = name;
    def.temporary = temporary;
    def.columns.push_back({.column_id = 1, .name = "a", .type = 1, .data_bytes_max = 4});
    def.indexes.push_back({.id = {}, .name = "PRIMARY", .kind = IndexKind::kPrimary, .parts = {{.column = 0}}});
    return def;
  }
  TableDef Create(const std::string& name, bool temporary = false, const std::vector<ForeignKeyDef>& keys = {}) {
    std::shared_ptr<Table> table;
    const Status status = catalog->Create(Def(name, temporary), 0, &table, keys);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return status.ok() ? table->def() : TableDef();
  }
  Status Find(const std::string& name) {
    std::shared_ptr<Table> table;
    return catalog->Find(name, &table);
  }
  Names All() {
    Names names;
    EXPECT_TRUE(catalog->TableNames({}, &names).ok());
    return names;
  }
  std::vector<IndexId> Dropped() {
    std::vector<IndexId> indexes;
    EXPECT_TRUE(catalog->DroppedIndexes(&indexes).ok());
    return indexes;
  }
  void Write(const std::string& key, const std::string& value) {
    store::Batch batch(*store);
    batch.Put(Family::kDictionary, key, value);
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  }
  std::string Record(const std::string& key) { return Get(key, nullptr, Family::kDictionary); }
  // Of a record with a checksum.
  void FlipBit(const std::string& key, size_t byte, unsigned bit) {
    std::string bytes = Record(key);
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
    Write(key, bytes);
  }
  void FlipBit(const std::string& key) { FlipBit(key, Record(key).size() / 2, 0); }
  static std::string DefinitionKey(const TableDef& def) { return TableKey(RecordKind::kDefinition, def.id); }
  bool Says(const std::string& line) { return log.text().find(line) != std::string::npos; }
};

TEST_F(CatalogDamageTest, AStartNamesTheTableAndGoesOn) {
  OpenBoth();
  const TableDef bad = Create("d/bad");
  const TableDef first = Create("d/first");
  Create("d/good");
  Create("tmp/x", true);
  FlipBit(DefinitionKey(bad));
  FlipBit(DefinitionKey(first), 0, 2);  // version 1 becomes 5
  const Status status = Restart();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(All(), (Names{"d/bad", "d/first", "d/good"}));
  EXPECT_TRUE(Find("d/good").ok());
  for (const TableDef& def : {bad, first}) {
    EXPECT_TRUE(Says("table " + def.name + " (number " + std::to_string(def.id.value) + ")")) << log.text();
    const Status found = Find(def.name);
    EXPECT_TRUE(found.Is(Code::kCorruption)) << found.ToString();
    EXPECT_NE(found.message().find("table " + def.name), ByteView::npos) << found.ToString();
    EXPECT_TRUE(catalog->Drop(def.name).ok());
  }
  EXPECT_EQ(All(), (Names{"d/good"}));
}

TEST_F(CatalogDamageTest, ATableCanBeDroppedAndMadeAnew) {
  OpenBoth();
  const ForeignKeyDef key{.name = "k", .child = "d/bad", .parent = "d/p", .child_columns = {"a"}, .parent_columns = {"a"}};
  const TableDef bad = Create("d/bad", false, {key});
  FlipBit(DefinitionKey(bad));
  ASSERT_TRUE(Restart().ok());
  ASSERT_EQ(catalog->foreign_keys()->OfChild("d/bad").size(), 1u);
  std::shared_ptr<Table> table;
  EXPECT_TRUE(catalog->Create(Def("d/bad"), 0, &table).Is(Code::kCorruption));
  const Status status = catalog->Drop("d/bad");
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(Says("a table is dropped, but not the space of its indexes returned")) << log.text();
  EXPECT_TRUE(catalog->foreign_keys()->OfChild("d/bad").empty());
  EXPECT_EQ(Record(DefinitionKey(bad)) + Record(CountersKey(bad.id)), "--");
  const std::string said = log.text();
  ASSERT_TRUE(Restart().ok());
  EXPECT_EQ(log.text(), said);
  EXPECT_EQ(All(), Names());
  const TableDef made = Create("d/bad");
  EXPECT_GT(made.id, bad.id);
  EXPECT_GT(made.indexes[0].id.value, bad.indexes[0].id.value);
  EXPECT_TRUE(Dropped().empty());
}

TEST_F(CatalogDamageTest, WhatANameLeadsToNeedNotBeThere) {
  OpenBoth();
  const TableDef lacking = Create("d/lacking");
  Create("d/malformed");
  store::Batch batch(*store);
  batch.Delete(Family::kDictionary, DefinitionKey(lacking));
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  Write(NameKey("d/malformed"), "x");
  ASSERT_TRUE(Restart().ok());
  for (const std::string& name : All()) {
    EXPECT_TRUE(Find(name).Is(Code::kCorruption)) << name;
    EXPECT_TRUE(catalog->Drop(name).ok()) << name;
  }
  EXPECT_EQ(All(), Names());
}

// A name's record has no checksum.
TEST_F(CatalogDamageTest, ANameThatLeadsToAnotherTableTakesNothingFromThat) {
  OpenBoth();
  const TableDef good = Create("d/good");
  Create("d/bad", false, {{.name = "k", .child = "d/bad", .parent = "d/p", .child_columns = {"a"}, .parent_columns = {"a"}}});
  Write(NameKey("d/bad"), Record(NameKey("d/good")));
  ASSERT_TRUE(Restart().ok());
  const Status found = Find("d/bad");
  EXPECT_TRUE(found.Is(Code::kCorruption)) << found.ToString();
  EXPECT_NE(found.message().find("the dictionary's name d/bad leads to table d/good"), ByteView::npos) << found.ToString();
  EXPECT_TRUE(catalog->Rename("d/bad", "d/other").Is(Code::kCorruption));
  const std::string records = Record(NameKey("d/good")) + Record(DefinitionKey(good)) + Record(CountersKey(good.id));
  const Status status = catalog->Drop("d/bad");
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Record(NameKey("d/good")) + Record(DefinitionKey(good)) + Record(CountersKey(good.id)), records);
  EXPECT_TRUE(catalog->foreign_keys()->OfChild("d/bad").empty());
  EXPECT_TRUE(Dropped().empty());
  EXPECT_TRUE(Find("d/bad").Is(Code::kNotFound));
  EXPECT_TRUE(Find("d/good").ok());
  Create("d/bad");
  ASSERT_TRUE(Restart().ok());
  EXPECT_EQ(All(), (Names{"d/bad", "d/good"}));
  EXPECT_TRUE(Find("d/bad").ok());
  EXPECT_TRUE(Find("d/good").ok());
}

TEST_F(CatalogDamageTest, PartitionsAreDroppedTogether) {
  OpenBoth();
  const TableDef good = Create("d/t#P#p0");
  FlipBit(DefinitionKey(Create("d/t#P#p1")));
  ASSERT_TRUE(Restart().ok());
  ASSERT_TRUE(catalog->DropPartitionsOf("d/t").ok());
  EXPECT_EQ(All(), Names());
  EXPECT_EQ(Dropped(), (std::vector<IndexId>{good.indexes[0].id}));
}

TEST_F(CatalogDamageTest, ADamagedBlockOfDefinitionsKeepsNobodyFromStarting) {
  options.expert_family_options =
      "compression_per_level=kNoCompression;bottommost_compression=kNoCompression;block_based_table_factory={block_size=256}";
  OpenBoth();
  for (int i = 0; i < 100; ++i) Create("d/t" + std::to_string(i));
  ASSERT_TRUE(store->FlushMemtables().ok());
  catalog.reset();
  store.reset();
  // Names take two thousand bytes, then come six thousand of definitions.
  ASSERT_TRUE(env.FlipBit("/db", ".sst", 5000));
  const Status status = Restart();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(Says("temporary tables of an earlier process may be left: corruption")) << log.text();
  const Names names = All();
  ASSERT_EQ(names.size(), 100u);
  size_t damaged = 0;
  for (const std::string& name : names) {
    if (Find(name).ok()) continue;
    ++damaged;
    EXPECT_TRUE(catalog->Drop(name).ok()) << name;
  }
  EXPECT_GT(damaged, 0u);
  EXPECT_LT(damaged, 20u);
  EXPECT_EQ(All().size(), names.size() - damaged);
}

TEST_F(CatalogDamageTest, ANewerDefinitionIsRefusedByName) {
  OpenBoth();
  const TableDef newer = Create("d/newer");
  ByteBuffer bytes;
  bytes.AppendU8(9);
  SealRecord(0, &bytes);
  Write(DefinitionKey(newer), bytes.ToString());
  const Status status = Restart();
  EXPECT_TRUE(status.Is(Code::kFormatTooNew)) << status.ToString();
  EXPECT_NE(status.message().find("table d/newer"), ByteView::npos) << status.ToString();
}

// Without it rows would go unchecked.
TEST_F(CatalogDamageTest, AForeignKeyIsRefusedByName) {
  OpenBoth();
  Create("d/c", false, {{.name = "of_c", .child = "d/c", .parent = "d/p", .child_columns = {"a"}, .parent_columns = {"a"}}});
  FlipBit(ForeignKeyKey("d/c", "of_c"));
  const Status status = Restart();
  EXPECT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
  EXPECT_NE(status.message().find("foreign key of_c of d/c"), ByteView::npos) << status.ToString();
}

TEST_F(CatalogDamageTest, AMalformedRecordOfADroppedIndexHidesNoOther) {
  OpenBoth();
  const TableDef def = Create("d/t");
  ASSERT_TRUE(catalog->Drop("d/t").ok());
  Write(KindKey(RecordKind::kDroppedIndex) + "!", "");
  const Status status = Restart();
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::vector<IndexId> dropped;
  EXPECT_TRUE(catalog->DroppedIndexes(&dropped).Is(Code::kCorruption));
  EXPECT_EQ(dropped, (std::vector<IndexId>{def.indexes[0].id}));
}

}  // namespace
}  // namespace cairn::catalog

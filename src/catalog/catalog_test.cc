// SPDX-License-Identifier: GPL-2.0-only
// The dictionary through changes, crashes and damage.
#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <set>

#include "base/endian.h"
#include "catalog/column_history.h"
#include "catalog/dictionary_keys.h"
#include "store/store_testing.h"

namespace cairn::catalog {
namespace {

using Code = Status::Code;
using store::Durability;
using store::Family;

class CatalogTest : public ::testing::Test, public store::StoreFixture {
 protected:
  void SetUp() override { OpenBoth(); }

  void OpenBoth() {
    Open();
    const Status status = Catalog::Open(store.get(), &catalog);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // Power is lost and comes back.
  void LosePower() {
    catalog.reset();
    Crash();
    OpenBoth();
  }

  static TableDef Def(const std::string& name, IndexKind primary = IndexKind::kPrimary) {
    TableDef def;
    def.name = name;
    def.columns.push_back({.column_id = 1, .name = "a", .type = 1, .data_bytes_max = 4});
    def.columns.push_back({.column_id = 2, .name = "b", .type = 1, .nullable = true, .data_bytes_max = 4});
    def.indexes.push_back({.id = {}, .name = "PRIMARY", .kind = primary, .parts = {}});
    if (primary == IndexKind::kPrimary) def.indexes[0].parts.push_back({.column = 0});
    def.indexes.push_back({.id = {}, .name = "b", .kind = IndexKind::kSecondary, .parts = {{.column = 1}}});
    return def;
  }
  std::shared_ptr<Table> Create(const TableDef& def, uint64_t auto_increment_next = 0) {
    std::shared_ptr<Table> table;
    const Status status = catalog->Create(def, auto_increment_next, &table);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return table;
  }
  std::shared_ptr<Table> Find(const std::string& name) {
    std::shared_ptr<Table> table;
    return catalog->Find(name, &table).ok() ? table : nullptr;
  }
  std::vector<std::string> Names(const std::string& prefix = "") {
    std::vector<std::string> names;
    EXPECT_TRUE(catalog->TableNames(prefix, &names).ok());
    return names;
  }
  std::vector<IndexId> Dropped() {
    std::vector<IndexId> indexes;
    EXPECT_TRUE(catalog->DroppedIndexes(&indexes).ok());
    return indexes;
  }

  std::unique_ptr<Catalog> catalog;
};

TEST_F(CatalogTest, TablesSurvivePowerLossAsTheyWere) {
  const TableDef def = Create(Def("d/one"), 7)->def();
  LosePower();
  const auto table = Find("d/one");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->def(), def);
  EXPECT_EQ(table->auto_increment_next(), 7u);
  EXPECT_EQ(table->row_count(), 0u);
  EXPECT_EQ(Find("d/two"), nullptr);
}

TEST_F(CatalogTest, ANameIsTakenOnce) {
  Create(Def("d/one"));
  std::shared_ptr<Table> table;
  EXPECT_TRUE(catalog->Create(Def("d/one"), 0, &table).Is(Code::kAlreadyExists));
  Create(Def("d/two"));
  EXPECT_TRUE(catalog->Rename("d/one", "d/two").Is(Code::kAlreadyExists));
  EXPECT_TRUE(catalog->Rename("d/none", "d/new").Is(Code::kNotFound));
  EXPECT_TRUE(catalog->Drop("d/none").Is(Code::kNotFound));
}

TEST_F(CatalogTest, IdsAreNeverReused) {
  const TableDef first = Create(Def("d/one"))->def();
  ASSERT_TRUE(catalog->Drop("d/one").ok());
  LosePower();
  const TableDef second = Create(Def("d/one"))->def();
  EXPECT_GT(second.id, first.id);
  EXPECT_GT(second.indexes[0].id.value, first.indexes[1].id.value & ~kOnlyWalkedBit);
}

TEST_F(CatalogTest, OnlyIndexesThatAreNotUniqueAreOnlyWalked) {
  TableDef def = Def("d/one");
  def.indexes.push_back({.id = {}, .name = "u", .kind = IndexKind::kUnique, .parts = {{.column = 1}}});
  const TableDef made = Create(def)->def();
  EXPECT_FALSE(IsOnlyWalked(made.indexes[0].id));
  EXPECT_TRUE(IsOnlyWalked(made.indexes[1].id));
  EXPECT_FALSE(IsOnlyWalked(made.indexes[2].id));
  std::vector<IndexId> ids;
  ASSERT_TRUE(catalog->TakeIdsForBuild(std::span(made.indexes).subspan(1), &ids).ok());
  ASSERT_EQ(ids.size(), 4U);
  EXPECT_TRUE(IsOnlyWalked(ids[0]));
  for (size_t i = 1; i < ids.size(); ++i) EXPECT_FALSE(IsOnlyWalked(ids[i]));
}

TEST_F(CatalogTest, DroppingLeavesIndexesToReclaim) {
  const TableDef def = Create(Def("d/one"))->def();
  ASSERT_TRUE(catalog->Drop("d/one").ok());
  LosePower();
  EXPECT_EQ(Find("d/one"), nullptr);
  EXPECT_EQ(Get(CountersKey(def.id), nullptr, Family::kDictionary), "-");
  EXPECT_EQ(Dropped(), (std::vector<IndexId>{def.indexes[0].id, def.indexes[1].id}));
  ASSERT_TRUE(catalog->ForgetDropped(def.indexes[0].id).ok());
  EXPECT_EQ(Dropped(), (std::vector<IndexId>{def.indexes[1].id}));
}

// The reclaimer asks after each drop, and others wait for the dictionary meanwhile.
TEST_F(CatalogTest, WhatWasForgottenIsNotWalkedOver) {
  TableDef def = Def("tmp/x");
  def.temporary = true;
  for (int i = 0; i < 200; ++i) {
    Create(def);
    ASSERT_TRUE(catalog->Drop("tmp/x").ok());
    for (const IndexId index : Dropped()) ASSERT_TRUE(catalog->ForgetDropped(index).ok());
  }
  const TableDef last = Create(def)->def();
  ASSERT_TRUE(catalog->Drop("tmp/x").ok());
  const auto steps = [this] { return Number("number_db_seek") + Number("number_iter_skip"); };
  const uint64_t before = steps();
  EXPECT_EQ(Dropped(), (std::vector<IndexId>{last.indexes[0].id, last.indexes[1].id}));
  EXPECT_EQ(steps(), before);
}

// A table without a primary key, whose greatest row id is kept as well.
TEST_F(CatalogTest, NothingIsKeptOfWhatIsForgotten) {
  const TableDef def = Def("d/one", IndexKind::kHiddenPrimary);
  Create(Def("d/stays"));
  const size_t before = catalog->RememberedIndexes();
  for (int i = 0; i < 3; ++i) {
    const TableDef made = Create(def)->def();
    ASSERT_TRUE(made.HasHiddenPrimaryKey());
    ASSERT_TRUE(catalog->Drop("d/one").ok());
    EXPECT_GT(catalog->RememberedIndexes(), before);
    for (const IndexDef& index : made.indexes) ASSERT_TRUE(catalog->ForgetDropped(index.id).ok());
    EXPECT_EQ(catalog->RememberedIndexes(), before);
  }
}

TEST_F(CatalogTest, RenamingKeepsTheDataAndTheCounter) {
  const auto before = Create(Def("d/one"), 5);
  before->RaiseAutoIncrementNext(90);
  ASSERT_TRUE(catalog->Rename("d/one", "e/two").ok());
  LosePower();
  const auto after = Find("e/two");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->def().indexes, before->def().indexes);
  EXPECT_EQ(after->auto_increment_next(), 90u);
  EXPECT_EQ(Find("d/one"), nullptr);
  EXPECT_EQ(Dropped().size(), 0u);
}

TEST_F(CatalogTest, TruncatingGivesNewIndexesAndForgetsTheCounters) {
  const TableDef before = Create(Def("d/one"), 5)->def();
  store::Batch batch(*store);
  batch.MergeCounters(CountersKey(before.id), {.row_count = 3, .auto_increment_next = 8});
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  std::shared_ptr<Table> table;
  ASSERT_TRUE(catalog->Truncate("d/one", &table).ok());
  EXPECT_EQ(table->row_count(), 0u);
  LosePower();
  const auto after = Find("d/one");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->def().id, before.id);
  EXPECT_NE(after->def().indexes[0].id, before.indexes[0].id);
  EXPECT_EQ(after->auto_increment_next(), 0u);
  EXPECT_EQ(after->row_count(), 0u);
  EXPECT_EQ(Dropped().size(), 2u);
}

TEST_F(CatalogTest, TruncatingForgetsWhatRecoveredTransactionsHadTaken) {
  const TableDef before = Create(Def("d/one"), 5)->def();
  LosePower();
  TableId named{0};
  ASSERT_TRUE(catalog->NoteRecoveredCounters(CountersKey(before.id), {.row_count = 1, .auto_increment_next = 1001}, &named));
  EXPECT_EQ(Find("d/one")->auto_increment_next(), 1001u);
  std::shared_ptr<Table> table;
  ASSERT_TRUE(catalog->Truncate("d/one", &table).ok());
  EXPECT_EQ(table->auto_increment_next(), 0u);
}

TEST_F(CatalogTest, TemporaryTablesAreGoneAfterARestart) {
  TableDef temporary = Def("tmp/x");
  temporary.temporary = true;
  Create(temporary);
  Create(Def("d/one"));
  EXPECT_EQ(Names(), (std::vector<std::string>{"d/one", "tmp/x"}));
  catalog.reset();
  Kill();
  OpenBoth();
  EXPECT_EQ(Names(), (std::vector<std::string>{"d/one"}));
  EXPECT_EQ(Dropped().size(), 2u);
}

TEST_F(CatalogTest, NamesAreListedByDatabase) {
  for (const char* name : {"b/x", "a/y", "a/x", "ab/x"}) Create(Def(name));
  EXPECT_EQ(Names("a/"), (std::vector<std::string>{"a/x", "a/y"}));
  EXPECT_EQ(Names().size(), 4u);
}

TEST_F(CatalogTest, RedefiningTakesNamesOnly) {
  Create(Def("d/one"));
  TableDef renamed = Def("d/one");
  renamed.columns[0].name = "z";
  ASSERT_TRUE(catalog->Redefine({renamed}).ok());
  EXPECT_EQ(Find("d/one")->def().columns[0].name, "z");
  TableDef wider = renamed;
  wider.columns[0].data_bytes_max = 8;
  EXPECT_TRUE(catalog->Redefine({wider}).Is(Code::kInvalidArgument));
}

TEST_F(CatalogTest, AVarcharMayGetLongerAndKeepsItsIndexes) {
  TableDef def = Def("d/one");
  def.columns[1] = {.column_id = 2, .name = "b", .type = 5, .nullable = true, .data_bytes_max = 9, .length_bytes = 1};
  const TableDef old = Create(def)->def();
  TableDef longer = def;
  longer.columns[1].data_bytes_max = 300;
  longer.columns[1].length_bytes = 2;
  ASSERT_TRUE(catalog->Redefine({longer}).ok());
  LosePower();
  const TableDef found = Find("d/one")->def();
  EXPECT_EQ(found.columns, longer.columns);
  EXPECT_EQ(found.indexes, old.indexes);
  EXPECT_EQ(found.schema_version, 1u);
  EXPECT_TRUE(found.earlier_versions.empty());

  TableDef prefix = longer, text = longer, collated = longer, not_null = longer;
  prefix.indexes[1].parts[0].prefix_bytes = 9;
  text.columns[1].type = 6;
  collated.columns[1].collation_id = 8;
  not_null.columns[1].nullable = false;
  for (const TableDef& wrong : {def, prefix, text, collated, not_null}) {
    EXPECT_TRUE(catalog->Redefine({wrong}).Is(Code::kInvalidArgument));
  }
}

TEST_F(CatalogTest, IndexesMayChangeNamesAndPlaces) {
  const auto secondary = [](const char* name, std::vector<KeyPartDef> parts) {
    return IndexDef{.id = {}, .name = name, .kind = IndexKind::kSecondary, .parts = std::move(parts)};
  };
  TableDef def = Def("d/one");
  def.indexes.push_back(secondary("ab", {{.column = 0}, {.column = 1}}));
  def.indexes.push_back(secondary("b2", {{.column = 1}}));
  const std::vector<IndexDef> old = Create(def)->def().indexes;
  def.indexes = {def.indexes[0], secondary("x", {{.column = 1}}), secondary("y", {{.column = 1}}),
                 secondary("b", {{.column = 0}, {.column = 1}})};
  ASSERT_TRUE(catalog->Redefine({def}).ok());
  LosePower();
  const std::vector<IndexDef> moved = Find("d/one")->def().indexes;
  EXPECT_EQ(moved[0], old[0]);
  EXPECT_EQ(moved[3].name, "b");
  EXPECT_EQ(moved[3].id, old[2].id);
  EXPECT_EQ((std::set{moved[1].id.value, moved[2].id.value}), (std::set{old[1].id.value, old[3].id.value}));

  TableDef fewer = def, more = def, other = def;
  fewer.indexes.pop_back();
  more.indexes.push_back(secondary("z", {{.column = 1}}));
  other.indexes[1].parts[0].descending = true;
  for (const TableDef& wrong : {fewer, more, other}) EXPECT_TRUE(catalog->Redefine({wrong}).Is(Code::kInvalidArgument));
}

TEST_F(CatalogTest, ColumnsComeGoAndMoveAndLeaveTheirVersions) {
  Create(Def("d/one"));
  TableDef second = Def("d/one");
  second.columns.insert(second.columns.begin(), {.name = "n", .type = 5, .data_bytes_max = 9, .length_bytes = 1,
                                                 .initial = InitialKind::kValue, .initial_value = "x"});
  for (IndexDef& index : second.indexes) {
    for (KeyPartDef& part : index.parts) ++part.column;
  }
  ASSERT_TRUE(catalog->Redefine({second}).ok());
  LosePower();
  const TableDef with_n = Find("d/one")->def();
  EXPECT_EQ(with_n.columns[0].column_id, 3u);
  EXPECT_EQ(with_n.schema_version, 2u);
  EXPECT_EQ(with_n.earlier_versions, (std::vector<std::vector<uint32_t>>{{1, 2}}));

  // The first column goes, another comes: it has a new id. What is only renamed makes no version.
  TableDef third = with_n;
  third.columns[0] = {.name = "m", .type = 1, .nullable = true, .data_bytes_max = 4, .initial = InitialKind::kNull};
  ASSERT_TRUE(catalog->Redefine({third}).ok());
  const TableDef with_m = Find("d/one")->def();
  EXPECT_EQ(with_m.columns[0].column_id, 4u);
  EXPECT_EQ(with_m.greatest_dropped_column_id, 3u);
  ASSERT_EQ(with_m.dropped_columns.size(), 1u);
  EXPECT_EQ(with_m.dropped_columns[0].name, "n");
  EXPECT_EQ(with_m.earlier_versions, (std::vector<std::vector<uint32_t>>{{1, 2}, {3, 1, 2}}));
  TableDef renamed = with_m;
  renamed.columns[0].name = "z";
  ASSERT_TRUE(catalog->Redefine({renamed}).ok());
  EXPECT_EQ(Find("d/one")->def().schema_version, 3u);

  std::shared_ptr<Table> emptied;
  ASSERT_TRUE(catalog->Truncate("d/one", &emptied).ok());
  EXPECT_TRUE(emptied->def().earlier_versions.empty() && emptied->def().dropped_columns.empty());
  EXPECT_EQ(emptied->def().columns[0].initial, InitialKind::kNone);
  EXPECT_EQ(emptied->def().greatest_dropped_column_id, 3u);
}

TEST_F(CatalogTest, TablesAreRedefinedTogetherOrNotAtAll) {
  Create(Def("d/one"));
  Create(Def("d/two"));
  TableDef one = Def("d/one"), two = Def("d/two");
  one.columns[1].name = two.columns[1].name = "z";
  two.columns[1].data_bytes_max = 8;
  EXPECT_TRUE(catalog->Redefine({one, two}).Is(Code::kInvalidArgument));
  EXPECT_EQ(Find("d/one")->def().columns[1].name, "b");
  two.columns[1].data_bytes_max = 4;
  ASSERT_TRUE(catalog->Redefine({one, two}).ok());
  LosePower();
  EXPECT_EQ(Find("d/one")->def().columns[1].name, "z");
  EXPECT_EQ(Find("d/two")->def().columns[1].name, "z");
}

// The same table with its two columns in the other order.
TableDef Swapped(TableDef def) {
  std::swap(def.columns[0], def.columns[1]);
  for (IndexDef& index : def.indexes) {
    for (KeyPartDef& part : index.parts) part.column = static_cast<uint16_t>(1 - part.column);
  }
  return def;
}

TEST_F(CatalogTest, ATableHasOnlySoManyVersions) {
  TableDef def = Create(Def("d/one"))->def();
  for (size_t version = 0; version < kEarlierVersionsMax; ++version) {
    TableDef next = Swapped(def);
    ASSERT_TRUE(Succeed(def, &next).ok()) << version;
    def = next;
  }
  TableDef next = Swapped(def);
  EXPECT_TRUE(Succeed(def, &next).Is(Code::kNotSupported));
}

// TRUNCATE forgets the versions, but not how many there have been.
TEST_F(CatalogTest, NumbersOfVersionsAndColumnsAreNotGivenTwice) {
  TableDef def = Create(Def("d/one"))->def();
  def.schema_version = UINT32_MAX - 1;
  TableDef last = Swapped(def), next = Swapped(last);
  ASSERT_TRUE(Succeed(def, &last).ok());
  EXPECT_EQ(last.schema_version, UINT32_MAX);
  ForgetEarlierVersions(&last);
  EXPECT_TRUE(Succeed(last, &next).Is(Code::kNotSupported));
  def = Create(Def("d/two"))->def();
  def.greatest_dropped_column_id = UINT32_MAX - 2;
  next = def;
  next.columns.push_back({.column_id = 0, .name = "c", .type = 1, .nullable = true, .data_bytes_max = 4, .initial = InitialKind::kNull});
  TableDef beyond = next;
  ASSERT_TRUE(Succeed(def, &next).ok());
  EXPECT_EQ(next.columns.back().column_id, UINT32_MAX - 1);
  beyond.columns.push_back(beyond.columns.back());
  EXPECT_TRUE(Succeed(def, &beyond).Is(Code::kNotSupported));
}

TEST_F(CatalogTest, ViewsTooOldForATableStayTooOldWhenItIsRedefinedOrRenamed) {
  Create(Def("d/#sql-alter-1-2"));
  ASSERT_TRUE(catalog->Rename("d/#sql-alter-1-2", "d/one").ok());
  const uint64_t since = Find("d/one")->visible_since();
  EXPECT_NE(since, 0u);
  TableDef renamed = Def("d/one");
  renamed.columns[0].name = "z";
  ASSERT_TRUE(catalog->Redefine({renamed}).ok());
  EXPECT_EQ(Find("d/one")->visible_since(), since);
  ASSERT_TRUE(catalog->Rename("d/one", "d/two").ok());
  EXPECT_EQ(Find("d/two")->visible_since(), since);
}

TEST_F(CatalogTest, ATableThatOnlyRestsUnderAnotherNameIsAsOldAsItWas) {
  Create(Def("d/one"));
  const uint64_t since = Find("d/one")->visible_since();
  Create(Def("d/two"));
  std::string is_at = "d/one";
  for (const char* name : {"d/#sql-backup-1-2", "d/one", "d/#sql-exchange-1-2", "d/t#P#p0"}) {
    ASSERT_TRUE(catalog->Rename(is_at, name).ok());
    EXPECT_EQ(Find(name)->visible_since(), since) << name;
    is_at = name;
  }
}

// Rows come into it while views are taken, until it gets its name.
TEST_F(CatalogTest, ViewsFromBeforeAPartitionHasItsRowsAreTooOldForIt) {
  Create(Def("d/t#P#p0#TMP#"));
  store::Batch batch(*store);
  batch.Put(store::Family::kData, "row", "1");
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  const uint64_t view = store->LatestSequence();
  ASSERT_TRUE(catalog->Rename("d/t#P#p0#TMP#", "d/t#P#p0").ok());
  EXPECT_GT(Find("d/t#P#p0")->visible_since(), view);
}

// Whoever asked for it would take back what others see already.
TEST_F(CatalogTest, ARenameThatHasHappenedDoesNotFailForWhatCannotBeRead) {
  std::vector<std::string> damaged;
  for (const char* name : {"d/#sql-alter-1-2", "d/t#P#p0", "d/t#P#p1"}) {
    const IndexId rows = Create(Def(name, IndexKind::kHiddenPrimary))->def().indexes.front().id;
    damaged.emplace_back(13, '\xff');
    StoreBe32(damaged.back().data(), rows.value);
    ASSERT_TRUE(Put(damaged.back(), "1").ok());
  }
  const uint64_t view = store->LatestSequence();
  ASSERT_TRUE(Put("row", "1").ok());
  EXPECT_TRUE(catalog->Rename("d/#sql-alter-1-2", "d/s").ok());
  EXPECT_TRUE(catalog->RenamePartitions({{"d/t#P#p0", "d/u#P#p0"}, {"d/t#P#p1", "d/u#P#p1"}}).ok());
  EXPECT_EQ(Names(), (std::vector<std::string>{"d/s", "d/u#P#p0", "d/u#P#p1"}));
  std::shared_ptr<Table> table;
  EXPECT_TRUE(catalog->Find("d/s", &table).Is(Code::kCorruption));
  for (const std::string& key : damaged) ASSERT_TRUE(Delete(key).ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());  // nothing is left of them
  for (const std::string& name : Names()) EXPECT_NE(Find(name), nullptr) << name;
  EXPECT_GT(Find("d/s")->visible_since(), view);
}

TEST_F(CatalogTest, ALiveTableLearnsOfCommitsAndAReloadedOneReadsThem) {
  const auto table = Create(Def("d/one"));
  const store::TableCounters change{.row_count = 4, .auto_increment_next = 12};
  store::Batch batch(*store);
  batch.MergeCounters(CountersKey(table->def().id), change);
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  catalog->OnCommit(table->def().id, change, 6);
  catalog->OnCommit(TableId(999), change, 6);
  EXPECT_EQ(table->row_count(), 4u);
  EXPECT_EQ(table->changed_rows(), 6u);
  EXPECT_EQ(table->auto_increment_next(), 12u);
  LosePower();
  EXPECT_EQ(Find("d/one")->row_count(), 4u);
}

TEST_F(CatalogTest, HiddenRowIdsGoOnAfterTheLastRowAndAfterPreparedOnes) {
  const auto key_of = [](const Table& table, uint64_t row_id) {
    std::string key(12, '\0');
    StoreBe32(key.data(), table.def().indexes[0].id.value);
    StoreBe64(key.data() + 4, row_id);
    return key;
  };
  const auto table = Create(Def("d/one", IndexKind::kHiddenPrimary));
  EXPECT_EQ(table->TakeRowId(), 1u);
  ASSERT_TRUE(Put(key_of(*table, 5), "row").ok());
  LosePower();
  EXPECT_EQ(Find("d/one")->TakeRowId(), 6u);
  LosePower();
  catalog->NoteRecoveredKey(key_of(*table, 8));
  catalog->NoteRecoveredKey("short");
  EXPECT_EQ(Find("d/one")->TakeRowId(), 9u);
}

TEST_F(CatalogTest, LoadsKeepEarlierProgramsOut) {
  const std::string key = KindKey(RecordKind::kFormat);
  EXPECT_EQ(Get(key, nullptr, Family::kDictionary), "\x01");
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(catalog->AllowLoads().ok());
    EXPECT_EQ(Get(key, nullptr, Family::kDictionary), "\x03");
    catalog.reset();
    ASSERT_TRUE(Catalog::Open(store.get(), &catalog).ok());
  }
}

TEST_F(CatalogTest, ANewerFormatIsRefused) {
  EXPECT_TRUE(Catalog::CheckFormat(*store).ok());
  store::Batch batch(*store);
  batch.Put(Family::kDictionary, KindKey(RecordKind::kFormat), "\x63");
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  EXPECT_TRUE(Catalog::CheckFormat(*store).Is(Code::kFormatTooNew));
  EXPECT_TRUE(Catalog::Open(store.get(), &catalog).Is(Code::kFormatTooNew));
}

}  // namespace
}  // namespace cairn::catalog

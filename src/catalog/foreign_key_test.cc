// SPDX-License-Identifier: GPL-2.0-only
// Foreign keys as bytes, by name, and through changes of the dictionary.
#include "catalog/foreign_key.h"

#include <gtest/gtest.h>

#include <set>

#include "base/record_envelope.h"
#include "catalog/catalog_testing.h"
#include "catalog/foreign_key_change.h"
#include "catalog/foreign_key_fit.h"
#include "catalog/foreign_key_set.h"

namespace cairn::catalog {
namespace {

using Code = Status::Code;

ForeignKeyDef Key(const std::string& name, const std::string& child, const std::string& parent) {
  return {.name = name, .child = child, .parent = parent, .child_columns = {"b"}, .parent_columns = {"a"},
          .on_delete = ForeignAction::kCascade, .on_update = ForeignAction::kSetNull};
}

TEST(ForeignKeyBytes, VectorOfTheFormat) {
  ByteBuffer bytes;
  EncodeForeignKey(Key("k", "d/c", "d/p"), &bytes);
  std::string body = bytes.ToString().substr(0, bytes.size() - 4);
  EXPECT_EQ(body, std::string("\x01\x01k\x03" "d/c\x03" "d/p\x02\x03\x01\x01" "b\x01" "a"));
  ForeignKeyDef back;
  ASSERT_TRUE(DecodeForeignKey(bytes.view(), &back).ok());
  EXPECT_EQ(back, Key("k", "d/c", "d/p"));
}

TEST(ForeignKeyBytes, DamageIsSeen) {
  ByteBuffer bytes;
  EncodeForeignKey(Key("some_name", "d/child", "d/parent"), &bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes.ToString();
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ForeignKeyDef back;
    EXPECT_TRUE(DecodeForeignKey(damaged, &back).Is(Code::kCorruption)) << bit;
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    ForeignKeyDef back;
    EXPECT_FALSE(DecodeForeignKey(bytes.view().substr(0, size), &back).ok()) << size;
  }
}

TEST(ForeignKeyBytes, ALaterVersionIsTooNewWhateverFollows) {
  ByteBuffer bytes;
  bytes.AppendU8(2);
  SealRecord(0, &bytes);
  ForeignKeyDef back;
  EXPECT_TRUE(DecodeForeignKey(bytes.view(), &back).Is(Code::kFormatTooNew));
}

// Each RENAME and ALTER asks, for each of its tables, while everybody waits for the dictionary.
TEST(ForeignKeyChanges, KeysOfOtherTablesAreNotEvenLookedAt) {
  std::vector<ForeignKeyPtr> keys;
  const auto add = [&keys](const std::string& name, const std::string& child, const std::string& parent) {
    keys.push_back(std::make_shared<const ForeignKeyDef>(Key(name, child, parent)));
  };
  for (int i = 0; i < 100; ++i) add("other" + std::to_string(i), "d/other" + std::to_string(i), "d/q");
  add("own", "d/t", "d/q");
  add("to", "d/c", "d/t");
  add("self", "d/t", "d/t");
  add("of_copy", "d/#sql-alter-1-2", "d/t");
  add("of_copy_to_other", "d/#sql-alter-1-2", "d/q");
  add("of_copy_to_itself", "d/#sql-alter-1-2", "d/#sql-alter-1-2");
  const auto set = std::make_shared<const ForeignKeySet>(keys);
  // The names of those that are looked at; all of these become others.
  const auto edited = [&set](const std::string& table) {
    std::multiset<std::string> names;
    ForeignKeyChange change(set);
    change.Edit(table, [&names](const ForeignKeyDef& key) {
      names.insert(key.name);
      ForeignKeyDef other = key;
      other.name += "_edited";
      return other;
    });
    EXPECT_EQ(change.added().size(), names.size());
    EXPECT_EQ(change.removed().size(), names.size());
    EXPECT_EQ(change.After()->All().size(), set->All().size());
    return names;
  };
  using Names = std::multiset<std::string>;
  EXPECT_EQ(edited("d/t"), (Names{"own", "to", "self", "of_copy"}));
  EXPECT_EQ(edited("d/#sql-alter-1-2"), (Names{"of_copy", "of_copy_to_other", "of_copy_to_itself"}));
  EXPECT_EQ(edited("d/other7"), (Names{"other7"}));
  EXPECT_EQ(edited("d/q").size(), 102u);
  EXPECT_EQ(edited("d/t#P#p0"), Names());
  EXPECT_EQ(edited("d/none"), Names());
}

class ForeignKeyCatalogTest : public ::testing::Test, public testing::CatalogFixture {
 protected:
  void SetUp() override { OpenBoth(); }
  static TableDef Def(const std::string& name) {
    TableDef def;
    def.name = name;
    def.columns.push_back({.column_id = 1, .name = "a", .type = 0, .data_bytes_max = 4});
    def.columns.push_back({.column_id = 2, .name = "b", .type = 0, .nullable = true, .data_bytes_max = 4});
    def.indexes.push_back({.id = {}, .name = "PRIMARY", .kind = IndexKind::kPrimary, .parts = {{.column = 0}}});
    def.indexes.push_back({.id = {}, .name = "b", .kind = IndexKind::kSecondary, .parts = {{.column = 1}}});
    return def;
  }
  void Create(const std::string& name, const std::vector<ForeignKeyDef>& keys = {}, const std::string& original = {}) {
    std::shared_ptr<Table> table;
    const Status status = catalog->Create(Def(name), 0, &table, keys, original);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  std::shared_ptr<Table> Find(const std::string& name) {
    std::shared_ptr<Table> table;
    EXPECT_TRUE(catalog->Find(name, &table).ok());
    return table;
  }
  std::string Children(const std::string& parent) {
    std::string text;
    for (const ForeignKeyPtr& key : catalog->foreign_keys()->OfParent(parent)) text += key->child + ":" + key->name + " ";
    return text;
  }
};

TEST_F(ForeignKeyCatalogTest, KeysSurvivePowerLossAndGoWithTheirTable) {
  Create("d/p");
  Create("d/c", {Key("k", "d/c", "d/p"), Key("l", "d/c", "d/p")});
  EXPECT_EQ(Children("d/p"), "d/c:k d/c:l ");
  LosePower();
  EXPECT_EQ(Children("d/p"), "d/c:k d/c:l ");
  ASSERT_TRUE(catalog->Drop("d/c").ok());
  EXPECT_EQ(Children("d/p"), "");
  LosePower();
  EXPECT_TRUE(catalog->foreign_keys()->empty());
}

TEST_F(ForeignKeyCatalogTest, NamesAreUniqueInADatabase) {
  Create("d/p");
  Create("d/c", {Key("k", "d/c", "d/p")});
  std::shared_ptr<Table> table;
  EXPECT_TRUE(catalog->Create(Def("d/e"), 0, &table, {Key("K", "d/e", "d/p")}).Is(Code::kDuplicateKey));
  EXPECT_FALSE(catalog->Find("d/e", &table).ok());
  Create("other/e", {Key("k", "other/e", "d/p")});
}

TEST_F(ForeignKeyCatalogTest, KeysFollowRenames) {
  Create("d/p");
  Create("d/c", {Key("c_ibfk_1", "d/c", "d/p")});
  ASSERT_TRUE(catalog->Rename("d/p", "d/q").ok());
  ASSERT_TRUE(catalog->Rename("d/c", "d/e").ok());
  LosePower();
  EXPECT_EQ(Children("d/p"), "");
  EXPECT_EQ(Children("d/q"), "d/e:e_ibfk_1 ");
}

// A table that ALTER fills has its keys already, though nobody is held by them: the parent may get its name meanwhile.
TEST_F(ForeignKeyCatalogTest, KeysOfACopyFollowTheirParent) {
  Create("d/p");
  Create("d/#sql-alter-1-2", {Key("k", "d/#sql-alter-1-2", "d/p")});
  EXPECT_EQ(Children("d/p"), "");
  ASSERT_TRUE(catalog->Rename("d/p", "d/q").ok());
  ASSERT_TRUE(catalog->Rename("d/#sql-alter-1-2", "d/c").ok());
  LosePower();
  EXPECT_EQ(Children("d/q"), "d/c:k ");
}

// Tables are encoded as names of files, constraints are not.
TEST_F(ForeignKeyCatalogTest, MadeUpNamesFollowAsTheyAreShown) {
  Create("d/p");
  Create("d/c@002d1", {Key("c-1_ibfk_1", "d/c@002d1", "d/p"), Key("c@002d1_ibfk_2", "d/c@002d1", "d/p")});
  ASSERT_TRUE(catalog->Rename("d/c@002d1", "d/e@002d2", {}, {.before = "c-1", .after = "e-2"}).ok());
  EXPECT_EQ(Children("d/p"), "d/e@002d2:c@002d1_ibfk_2 d/e@002d2:e-2_ibfk_1 ");
}

// SHOW CREATE TABLE would tell what no server reads.
TEST_F(ForeignKeyCatalogTest, AMadeUpNameThatWouldBeTooLongStays) {
  std::string two_bytes_each;
  for (int i = 0; i < 57; ++i) two_bytes_each += "\xC3\xA9";
  Create("d/p");
  Create("d/c", {Key("c_ibfk_1", "d/c", "d/p"), Key("c_ibfk_12", "d/c", "d/p")});
  ASSERT_TRUE(catalog->Rename("d/c", "d/e", {}, {.before = "c", .after = two_bytes_each}).ok());
  EXPECT_EQ(Children("d/p"), "d/e:c_ibfk_12 d/e:" + two_bytes_each + "_ibfk_1 ");
}

TEST_F(ForeignKeyCatalogTest, AMadeUpNameThatIsTakenKeepsATableWhereItIs) {
  Create("d/p");
  Create("d/c", {Key("c_ibfk_1", "d/c", "d/p")});
  Create("d/x", {Key("e_ibfk_1", "d/x", "d/p")});
  const Status status = catalog->Rename("d/c", "d/e");
  EXPECT_TRUE(status.Is(Code::kDuplicateKey));
  EXPECT_EQ(status.message(), "e_ibfk_1");
  EXPECT_EQ(Children("d/p"), "d/c:c_ibfk_1 d/x:e_ibfk_1 ");
}

// The dictionary would have one of them in the other's place.
TEST_F(ForeignKeyCatalogTest, AMadeUpNameThatIsTakenByTheTableItselfKeepsItWhereItIs) {
  Create("d/p");
  Create("d/c", {Key("c_ibfk_1", "d/c", "d/p"), Key("c_ibfk_2", "d/c", "d/p"), Key("E_ibfk_2", "d/c", "d/p")});
  const Status status = catalog->Rename("d/c", "d/e");
  EXPECT_TRUE(status.Is(Code::kDuplicateKey));
  LosePower();
  EXPECT_EQ(Children("d/p"), "d/c:E_ibfk_2 d/c:c_ibfk_1 d/c:c_ibfk_2 ");
  // Nor is it filled under such names; under a name of the server's it may rest.
  Create("d/#sql-alter-1", {Key("c_ibfk_1", "d/#sql-alter-1", "d/p"), Key("e_ibfk_1", "d/#sql-alter-1", "d/p")}, "d/c");
  EXPECT_TRUE(catalog->Rename("d/#sql-alter-1", "d/e", "d/c").Is(Code::kDuplicateKey));
  std::shared_ptr<Table> table;
  EXPECT_TRUE(catalog->Create(Def("d/f"), 0, &table, {Key("k", "d/f", "d/p"), Key("K", "d/f", "d/p")}).Is(Code::kDuplicateKey));
  ASSERT_TRUE(catalog->Rename("d/c", "d/#sql-backup-1", "d/c").ok());
  ASSERT_TRUE(catalog->Rename("d/#sql-backup-1", "d/c", "d/c").ok());
  LosePower();
  EXPECT_EQ(Children("d/p"), "d/c:E_ibfk_2 d/c:c_ibfk_1 d/c:c_ibfk_2 ");
}

TEST_F(ForeignKeyCatalogTest, ACopyOfAlterTakesTheTablesPlace) {
  Create("d/p");
  Create("d/c", {Key("k", "d/c", "d/p")});
  Create("d/#sql-1", {Key("k", "d/#sql-1", "d/p")}, "d/c");
  EXPECT_EQ(Children("d/p"), "d/c:k ");
  ASSERT_TRUE(catalog->Rename("d/c", "d/#sql-2").ok());
  ASSERT_TRUE(catalog->Rename("d/#sql-1", "d/c").ok());
  ASSERT_TRUE(catalog->Drop("d/#sql-2").ok());
  // The parent by a copy: who refers to it means its name.
  Create("d/#sql-3");
  ASSERT_TRUE(catalog->Rename("d/p", "d/#sql-4").ok());
  ASSERT_TRUE(catalog->Rename("d/#sql-3", "d/p").ok());
  ASSERT_TRUE(catalog->Drop("d/#sql-4").ok());
  LosePower();
  EXPECT_EQ(Children("d/p"), "d/c:k ");
}

// What recovery finds when the server was killed while a parent was dropped: the drop was refused, unless a copy was to take its place
// or nothing had filled it yet.
TEST_F(ForeignKeyCatalogTest, RecoveryDropsAParentOnlyForItsCopyOrAnUnfinishedCreation) {
  const auto may_drop = [this](const std::string& name) {
    bool may = false;
    EXPECT_TRUE(catalog->MayDropReferenced(name, &may).ok());
    return may;
  };
  Create("d/p");
  Create("d/c", {Key("k", "d/c", "d/p")});
  EXPECT_FALSE(may_drop("d/p"));
  // Tables that only rest under names of the server's, and copies of others, replace nobody.
  Create("d/#sql-backup-1-2");
  Create("d/#sqlx-1-2");
  Create("d/other");
  Create("d/#sql-alter-1-2", {}, "d/other");
  Create("d/#sql-alter-1-4", {}, "d/of another engine");
  EXPECT_FALSE(may_drop("d/p"));
  Create("d/#sql-alter-1-3", {}, "d/p");
  LosePower();
  EXPECT_TRUE(may_drop("d/p"));
  ASSERT_TRUE(catalog->Drop("d/#sql-alter-1-3").ok());
  EXPECT_FALSE(may_drop("d/p"));
  // One that takes the place of a table is no copy any more, and one that is there when all has been recovered is only left.
  Create("d/#sql-alter-1-5", {}, "d/p");
  ASSERT_TRUE(catalog->Rename("d/#sql-alter-1-5", "d/left").ok());
  EXPECT_FALSE(may_drop("d/p"));
  Create("d/#sql-alter-1-6", {}, "d/p");
  EXPECT_TRUE(may_drop("d/p"));
  ASSERT_TRUE(catalog->EndRecovery().ok());
  LosePower();
  EXPECT_FALSE(may_drop("d/p"));

  Create("d/waits", {Key("k2", "d/waits", "d/filled")});
  std::shared_ptr<Table> table;
  ASSERT_TRUE(catalog->Create(Def("d/filled"), 0, &table, {}, {}, Creation::kEndsWithStatement).ok());
  LosePower();
  EXPECT_TRUE(may_drop("d/filled"));
  store::Batch batch(*store);
  batch.Delete(store::Family::kDictionary, CreationKey(Find("d/filled")->def().id));
  ASSERT_TRUE(store->Write(batch, store::Durability::kSync).ok());
  LosePower();
  EXPECT_FALSE(may_drop("d/filled"));

  // Where nothing was recovered, as the server's log has nothing of the statement any more, it has ended.
  Create("d/waits too", {Key("k3", "d/waits too", "d/empty")});
  ASSERT_TRUE(catalog->Create(Def("d/empty"), 7, &table, {}, {}, Creation::kEndsWithStatement).ok());
  EXPECT_EQ(table->auto_increment_next(), 7u);
  ASSERT_TRUE(catalog->SaveCounters().ok());
  EXPECT_TRUE(may_drop("d/empty"));
  // So it has where it has rows, whatever became of its transaction.
  for (const int rows : {1, -1}) {
    store::Batch counted(*store);
    counted.MergeCounters(CountersKey(table->def().id), {.row_count = rows, .auto_increment_next = 0});
    ASSERT_TRUE(store->Write(counted, store::Durability::kSync).ok());
    EXPECT_EQ(may_drop("d/empty"), rows < 0);
  }
  ASSERT_TRUE(catalog->EndRecovery().ok());
  LosePower();
  EXPECT_FALSE(may_drop("d/empty"));
  EXPECT_EQ(Find("d/empty")->auto_increment_next(), 7u);
}

// An earlier program had no counters until a creation had ended.
TEST_F(ForeignKeyCatalogTest, ATableWithoutCountersIsOneWithoutNumbers) {
  Create("d/c", {Key("k", "d/c", "d/p")});
  Create("d/p");
  store::Batch batch(*store);
  batch.Delete(store::Family::kDictionary, CountersKey(Find("d/p")->def().id));
  ASSERT_TRUE(store->Write(batch, store::Durability::kSync).ok());
  LosePower();
  bool may_drop = true;
  EXPECT_TRUE(catalog->MayDropReferenced("d/p", &may_drop).ok());
  EXPECT_FALSE(may_drop);
  ASSERT_TRUE(catalog->EndRecovery().ok());
  EXPECT_EQ(Find("d/p")->auto_increment_next(), 0u);
  ASSERT_TRUE(catalog->SetAutoIncrementNext(*Find("d/p"), 5).ok());
  LosePower();
  EXPECT_EQ(Find("d/p")->auto_increment_next(), 5u);
}

TEST(ForeignKeyFit, IndexesThatBeginWithTheColumns) {
  TableDef def;
  for (const char* name : {"a", "b", "c"}) {
    def.columns.push_back({.column_id = static_cast<uint32_t>(def.columns.size() + 1), .name = name, .type = 0, .data_bytes_max = 4});
  }
  def.indexes.push_back({.id = {}, .name = "PRIMARY", .kind = IndexKind::kPrimary, .parts = {{.column = 0}}});
  def.indexes.push_back({.id = {}, .name = "b", .kind = IndexKind::kSecondary, .parts = {{.column = 1}}});
  def.indexes.push_back({.id = {}, .name = "c", .kind = IndexKind::kSecondary, .parts = {{.column = 2, .prefix_bytes = 2}}});
  ForeignKeyPlace place;
  size_t wrong;
  EXPECT_EQ(PlaceForeignKey(def, {"a"}, &place, &wrong), ForeignKeyFault::kNone);
  EXPECT_EQ(place.index, 0u);
  EXPECT_EQ(PlaceForeignKey(def, {"b"}, &place, &wrong), ForeignKeyFault::kNone);
  EXPECT_EQ(place.index, 1u);
  // Its entries end with the primary key.
  EXPECT_EQ(PlaceForeignKey(def, {"b", "a"}, &place, &wrong), ForeignKeyFault::kNone);
  EXPECT_EQ(PlaceForeignKey(def, {"a", "b"}, &place, &wrong), ForeignKeyFault::kNoIndex);
  EXPECT_EQ(PlaceForeignKey(def, {"c"}, &place, &wrong), ForeignKeyFault::kOnlyPrefix);
  EXPECT_EQ(PlaceForeignKey(def, {"x"}, &place, &wrong), ForeignKeyFault::kNoColumn);
}

}  // namespace
}  // namespace cairn::catalog

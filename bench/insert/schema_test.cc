// SPDX-License-Identifier: GPL-2.0-only
// The statements that make tables and indexes, and the file of totals between steps.
#include "schema.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "statements.h"
#include "table_totals.h"

namespace cairn::bench::insert {
namespace {

TEST(Schema, HasTheColumnsOfItsGeneration) {
  EXPECT_EQ(CreateTableText("pi1", kIb2024, {.table_options = "ROW_FORMAT=DYNAMIC"}),
            "CREATE TABLE pi1 (transactionid BIGINT NOT NULL AUTO_INCREMENT, dateandtime DATETIME, cashregisterid INT"
            " NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price INT NOT NULL, data VARCHAR(4000),"
            " PRIMARY KEY (transactionid)) ENGINE=CAIRN DEFAULT CHARSET=latin1 ROW_FORMAT=DYNAMIC");
  const std::string of_2016 = CreateTableText("pi1", kIb2016, {.secondary_indexes = true});
  EXPECT_NE(of_2016.find("transactionid INT NOT NULL"), std::string::npos);
  EXPECT_NE(of_2016.find("price FLOAT NOT NULL"), std::string::npos);
  EXPECT_NE(of_2016.find("INDEX pi1_marketsegment (price, customerid), INDEX pi1_registersegment (cashregisterid,"
                         " price, customerid), INDEX pi1_pdc (price, dateandtime, customerid)"),
            std::string::npos);
}

TEST(Schema, PartitionsEndWithOneForTheRest) {
  const std::string text = CreateTableText("pi1", kIb2024, {.partitions = 3, .rows_per_partition = 100});
  EXPECT_NE(text.find("PARTITION BY RANGE (transactionid) (PARTITION p1 VALUES LESS THAN (101), PARTITION p2 VALUES"
                      " LESS THAN (201), PARTITION p3 VALUES LESS THAN MAXVALUE)"),
            std::string::npos)
      << text;
}

TEST(Schema, IndexesAreAddedTogetherOrInTurn) {
  EXPECT_EQ(CreateIndexTexts("pi2", kIb2024, /*one_statement=*/true),
            (std::vector<std::string>{
                "ALTER TABLE pi2 ADD INDEX pi2_marketsegment (productid, customerid, price), ADD INDEX"
                " pi2_registersegment (cashregisterid, customerid, price), ADD INDEX pi2_pdc (price, dateandtime,"
                " customerid)"}));
  const std::vector<std::string> in_turn = CreateIndexTexts("pi2", kIb2024, /*one_statement=*/false);
  ASSERT_EQ(in_turn.size(), 3u);
  EXPECT_EQ(in_turn[2], "ALTER TABLE pi2 ADD INDEX pi2_pdc (price, dateandtime, customerid)");
}

TEST(Schema, TableNamesDiffer) {
  const std::vector<std::string> names = TableNames(12);
  EXPECT_EQ(names.front(), "pi1");
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 12u);
}

TEST(RangeQuery, IsOrderedByTheWholeIndex) {
  const IndexFacts& registers = kIb2024.indexes[1];
  EXPECT_EQ(RangeQueryBegin("pi1", registers) + "7" + RangeQueryEnd(registers),
            "SELECT cashregisterid, customerid, price FROM pi1 FORCE INDEX (pi1_registersegment) WHERE cashregisterid"
            " > 7 ORDER BY cashregisterid, customerid, price LIMIT 10");
}

// A file that goes away with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) : path_(testing::TempDir() + "insertbench_totals") {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST(TableTotals, SurviveAFile) {
  const TemporaryFile file("");
  const TableTotals totals = {{"pi1", {10, 3}}, {"pi2", {0, 0}}};
  WriteTotals(totals, file.path());
  EXPECT_EQ(ReadTotals(file.path()), totals);
}

TEST(TableTotals, RefuseWhatIsNoSuchFile) {
  for (const char* text : {"pi1 10\n", "pi1 10 3 4\n", "pi1 3 10\n", "pi1 1 0\npi1 1 0\n", "{}\n"}) {
    const TemporaryFile file(text);
    EXPECT_THROW(ReadTotals(file.path()), std::runtime_error) << text;
  }
  EXPECT_THROW(ReadTotals("/nonexistent/totals"), std::runtime_error);
  EXPECT_THROW(WriteTotals({}, "/nonexistent/totals"), std::runtime_error);
}

}  // namespace
}  // namespace cairn::bench::insert

// SPDX-License-Identifier: GPL-2.0-only
// Checks the tables: their rows against what was inserted and deleted, their indexes against each other.
#include "validator.h"

#include <set>

#include "schema.h"
#include "threads.h"

namespace cairn::bench::insert {
namespace {

// What one index says of its table. Equal rows give equal facts, in any order.
struct IndexContents {
  uint64_t rows = 0;
  std::string min_id, max_id;
  std::vector<std::string> checksums;  // one for each set of columns asked for
};

// Thread rule: one thread.
class TableChecker {
 public:
  TableChecker(Connection* connection, const Generation& generation, std::string table, ValidateReport* report)
      : connection_(*connection), generation_(generation), table_(std::move(table)), report_(*report) {}

  void Check(const Totals& totals) {
    std::vector<std::string_view> all_columns;
    for (const IndexFacts& index : generation_.indexes) all_columns.push_back(index.columns);
    const IndexContents primary = Read("PRIMARY", all_columns);
    report_.rows += primary.rows;
    const uint64_t expected = totals.inserted - totals.deleted;
    if (primary.rows != expected) {
      AddProblem("has " + std::to_string(primary.rows) + " rows, but " + std::to_string(totals.inserted) +
                 " were inserted and " + std::to_string(totals.deleted) + " deleted");
    }
    CompareEnds(primary);
    const std::set<std::string> present = PresentIndexes();
    for (size_t i = 0; i < generation_.indexes.size(); ++i) {
      const std::string name = IndexName(table_, generation_.indexes[i]);
      if (!present.contains(name)) continue;
      ++report_.indexes;
      Compare(primary, primary.checksums[i], name, Read(name, {generation_.indexes[i].columns}));
    }
  }

 private:
  void AddProblem(const std::string& text) { report_.problems.push_back(table_ + " " + text); }

  IndexContents Read(const std::string& index, const std::vector<std::string_view>& column_sets) {
    std::string sql = "SELECT COUNT(*), MIN(transactionid), MAX(transactionid)";
    for (const std::string_view columns : column_sets) {
      sql += ", BIT_XOR(CRC32(CONCAT_WS(',', transactionid, " + std::string(columns) + ")))";
    }
    sql += " FROM " + table_ + " FORCE INDEX (" + index + ")";
    IndexContents contents;
    connection_.Query(sql, [&](Connection::Row row) {
      contents.rows = ParseNumber(row[0]);
      contents.min_id = row[1];
      contents.max_id = row[2];
      contents.checksums.assign(row.begin() + 3, row.end());
    });
    return contents;
  }

  // A server looks only at the ends of the index for these, which a scan does not.
  void CompareEnds(const IndexContents& primary) {
    connection_.Query("SELECT MIN(transactionid), MAX(transactionid) FROM " + table_, [&](Connection::Row row) {
      if (row[0] == primary.min_id && row[1] == primary.max_id) return;
      AddProblem("has ids from " + primary.min_id + " to " + primary.max_id + " in a scan, but from " +
                 std::string(row[0]) + " to " + std::string(row[1]) + " at its ends");
    });
  }

  std::set<std::string> PresentIndexes() {
    std::set<std::string> names;
    connection_.Query("SHOW INDEX FROM " + table_, [&](Connection::Row row) { names.emplace(row[2]); });
    return names;
  }

  void Compare(const IndexContents& primary, const std::string& checksum, const std::string& name,
               const IndexContents& index) {
    if (index.rows != primary.rows) {
      AddProblem("has " + std::to_string(primary.rows) + " rows, but " + std::to_string(index.rows) + " entries in " +
                 name);
    }
    if (index.min_id != primary.min_id || index.max_id != primary.max_id) {
      AddProblem("has ids from " + primary.min_id + " to " + primary.max_id + ", but " + name + " from " +
                 index.min_id + " to " + index.max_id);
    }
    if (index.checksums[0] != checksum) AddProblem("has other values than " + name);
  }

  Connection& connection_;
  const Generation& generation_;
  const std::string table_;
  ValidateReport& report_;
};

}  // namespace

ValidateReport Validate(const ConnectionOptions& options, const Generation& generation, const TableTotals& totals,
                        StopFlag* stop) {
  ValidateReport report;
  const auto start = Clock::now();
  const auto check_all = [&] {
    Connection connection(options, Connection::Commit::kAutomatic);
    for (const auto& [table, each] : totals) {
      if (stop->stopped()) return;
      TableChecker(&connection, generation, table, &report).Check(each);
    }
  };
  report.error = RunThreads({check_all}, stop);
  report.seconds = SecondsSince(start);
  return report;
}

}  // namespace cairn::bench::insert

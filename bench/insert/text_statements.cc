// SPDX-License-Identifier: GPL-2.0-only
// What a client says to its table, as SQL text.
#include "schema.h"
#include "sql_text.h"
#include "statements.h"

namespace cairn::bench::insert {
namespace {

class TextStatements final : public Statements {
 public:
  TextStatements(const ConnectionOptions& options, const std::string& table, const Generation& generation)
      : Statements(options, table), generation_(generation), sql_(&connection_) {}

  void Insert(std::string_view datetime, std::span<const RowValues> rows) override {
    sql_.Clear() << "INSERT INTO " << table_ << kInsertColumns;
    std::string_view separator;
    for (const RowValues& row : rows) {
      sql_ << separator << "('" << datetime << "', " << row.cashregisterid << ", " << row.customerid << ", "
           << row.productid << ", " << Price(row.price) << ", " << Literal{row.data} << ")";
      separator = ", ";
    }
    sql_.Execute();
  }

  uint64_t Delete(uint64_t first_id, uint64_t rows) override {
    sql_.Clear() << "DELETE FROM " << table_ << " WHERE transactionid >= " << first_id
                 << " ORDER BY transactionid LIMIT " << rows;
    return sql_.Execute().affected_rows;
  }

  uint64_t Range(size_t index, uint64_t start) override {
    const IndexFacts& facts = generation_.indexes[index];
    sql_.Clear() << RangeQueryBegin(table_, facts);
    if (facts.start == RangeStart::kPrice) {
      sql_ << Price(start);
    } else {
      sql_ << start;
    }
    sql_ << RangeQueryEnd(facts);
    return sql_.Query([](Connection::Row) {});
  }

  uint64_t Points(std::span<const uint64_t> ids) override {
    sql_.Clear() << "SELECT transactionid, productid, data FROM " << table_ << " WHERE transactionid IN (";
    std::string_view separator;
    for (const uint64_t id : ids) {
      sql_ << separator << id;
      separator = ", ";
    }
    sql_ << ")";
    return sql_.Query([](Connection::Row) {});
  }

 private:
  const std::string& Price(uint64_t price) {
    price_.clear();
    AppendPrice(price, generation_.price_scale, &price_);
    return price_;
  }

  const Generation& generation_;
  SqlText sql_;
  std::string price_;
};

}  // namespace

std::string RangeQueryBegin(const std::string& table, const IndexFacts& index) {
  return "SELECT " + std::string(index.columns) + " FROM " + table + " FORCE INDEX (" + IndexName(table, index) +
         ") WHERE " + std::string(index.start_column) + " " + std::string(index.comparison) + " ";
}

std::string RangeQueryEnd(const IndexFacts& index) {
  return " ORDER BY " + std::string(index.columns) + " LIMIT " + std::to_string(Statements::kRangeRows);
}

std::unique_ptr<Statements> MakeTextStatements(const ConnectionOptions& options, const std::string& table,
                                               const Generation& generation) {
  return std::make_unique<TextStatements>(options, table, generation);
}

}  // namespace cairn::bench::insert

// SPDX-License-Identifier: GPL-2.0-only
// What a client says to its table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "connection.h"
#include "generation.h"
#include "row_values.h"

namespace cairn::bench::insert {

// Every call may throw SqlError.
//
// Thread rule: one thread, with a connection of its own.
class Statements {
 public:
  static constexpr uint64_t kRangeRows = 10;

  virtual ~Statements() = default;

  // One INSERT of several rows, all with the same `datetime` ("2026-01-02 03:04:05").
  virtual void Insert(std::string_view datetime, std::span<const RowValues> rows) = 0;

  // Deletes up to `rows` rows with ids of at least `first_id`, in the order of the id. Returns how many.
  virtual uint64_t Delete(uint64_t first_id, uint64_t rows) = 0;

  // Reads the first rows of an index at a start, from the index alone. Returns how many.
  virtual uint64_t Range(size_t index, uint64_t start) = 0;

  // Reads rows by id. Returns how many there were.
  virtual uint64_t Points(std::span<const uint64_t> ids) = 0;

  // 0 when the table is empty.
  uint64_t MinId() { return ParseNumber(connection_.QueryValue("SELECT MIN(transactionid) FROM " + table_)); }
  uint64_t MaxId() { return ParseNumber(connection_.QueryValue("SELECT MAX(transactionid) FROM " + table_)); }

  Connection& connection() { return connection_; }
  const std::string& table() const { return table_; }

 protected:
  Statements(const ConnectionOptions& options, std::string table)
      : connection_(options, Connection::Commit::kAutomatic), table_(std::move(table)) {}

  Connection connection_;
  const std::string table_;
};

// The generation must outlive the object.
std::unique_ptr<Statements> MakeTextStatements(const ConnectionOptions& options, const std::string& table,
                                               const Generation& generation);
std::unique_ptr<Statements> MakePreparedStatements(const ConnectionOptions& options, const std::string& table,
                                                   const Generation& generation);

// The text of a range query whose start follows directly, before its end.
std::string RangeQueryBegin(const std::string& table, const IndexFacts& index);
std::string RangeQueryEnd(const IndexFacts& index);

inline constexpr std::string_view kInsertColumns =
    " (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ";

}  // namespace cairn::bench::insert

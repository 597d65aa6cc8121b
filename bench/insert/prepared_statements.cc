// SPDX-License-Identifier: GPL-2.0-only
// What a client says to its table, as prepared statements.
#include <map>

#include "prepared_statement.h"
#include "schema.h"
#include "statements.h"

namespace cairn::bench::insert {
namespace {

std::string Repeated(std::string_view text, size_t count) {
  std::string repeated;
  for (size_t i = 0; i < count; ++i) repeated.append(i == 0 ? "" : ", ").append(text);
  return repeated;
}

class PreparedStatements final : public Statements {
 public:
  PreparedStatements(const ConnectionOptions& options, const std::string& table, const Generation& generation)
      : Statements(options, table), generation_(generation) {}

  void Insert(std::string_view datetime, std::span<const RowValues> rows) override {
    parameters_.clear();
    prices_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const RowValues& row = rows[i];
      prices_[i].clear();
      AppendPrice(row.price, generation_.price_scale, &prices_[i]);
      parameters_.insert(parameters_.end(), {datetime, row.cashregisterid, row.customerid, row.productid,
                                             std::string_view(prices_[i]), std::string_view(row.data)});
    }
    Prepared(&inserts_, rows.size(), [&] {
      return "INSERT INTO " + table_ + std::string(kInsertColumns) + Repeated("(?, ?, ?, ?, ?, ?)", rows.size());
    }).Execute(std::span<const Parameter>(parameters_));
  }

  uint64_t Delete(uint64_t first_id, uint64_t rows) override {
    return Prepared(&deletes_, 0, [&] {
             return "DELETE FROM " + table_ + " WHERE transactionid >= ? ORDER BY transactionid LIMIT ?";
           }).Execute({first_id, rows}).affected_rows;
  }

  uint64_t Range(size_t index, uint64_t start) override {
    const IndexFacts& facts = generation_.indexes[index];
    std::string price;
    AppendPrice(start, generation_.price_scale, &price);
    const Parameter parameter = facts.start == RangeStart::kPrice ? Parameter(std::string_view(price)) : start;
    return Prepared(&ranges_, index, [&] {
             return RangeQueryBegin(table_, facts) + "?" + RangeQueryEnd(facts);
           }).Query({parameter}, [] {});
  }

  uint64_t Points(std::span<const uint64_t> ids) override {
    return Prepared(&points_, ids.size(), [&] {
             return "SELECT transactionid, productid, data FROM " + table_ + " WHERE transactionid IN (" +
                    Repeated("?", ids.size()) + ")";
           }).Query(std::vector<Parameter>(ids.begin(), ids.end()), [] {});
  }

 private:
  using Cache = std::map<size_t, PreparedStatement>;

  template <typename MakeText>
  PreparedStatement& Prepared(Cache* cache, size_t key, MakeText&& make_text) {
    const auto found = cache->find(key);
    if (found != cache->end()) return found->second;
    return cache->try_emplace(key, &connection_, make_text()).first->second;
  }

  const Generation& generation_;
  Cache inserts_;  // by the number of rows
  Cache deletes_;  // one
  Cache ranges_;   // by index
  Cache points_;   // by the number of ids
  std::vector<Parameter> parameters_;
  std::vector<std::string> prices_;
};

}  // namespace

std::unique_ptr<Statements> MakePreparedStatements(const ConnectionOptions& options, const std::string& table,
                                                   const Generation& generation) {
  return std::make_unique<PreparedStatements>(options, table, generation);
}

}  // namespace cairn::bench::insert

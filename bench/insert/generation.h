// SPDX-License-Identifier: GPL-2.0-only
// The two generations of the Insert Benchmark: columns, indexes, and what is asked of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cairn::bench::insert {

inline constexpr uint64_t kCashRegisters = 1000;
inline constexpr uint64_t kProducts = 10'000;
inline constexpr uint64_t kCustomers = 100'000;
inline constexpr uint64_t kPrices2024 = 500;

// What a range query starts from.
enum class RangeStart { kProduct, kCashRegister, kPrice };

struct IndexFacts {
  std::string_view name;  // the table's name goes before it, as in pi1_pdc
  std::string_view columns;
  RangeStart start;               // the first column
  std::string_view start_column;  // its name
  std::string_view comparison;    // of the range query with its start
};

struct Generation {
  std::string_view name;
  std::string_view id_type;
  std::string_view price_type;
  uint64_t price_scale;  // prices are integers divided by this
  uint64_t rows_per_report;
  std::array<IndexFacts, 3> indexes;
};

// 2009 to December 2023; the published results of 2016 and 2017.
inline constexpr Generation kIb2016 = {
    .name = "ib2016",
    .id_type = "INT",
    .price_type = "FLOAT",
    .price_scale = 100,
    .rows_per_report = 100'000,
    .indexes = {{{"marketsegment", "price, customerid", RangeStart::kPrice, "price", ">="},
                 {"registersegment", "cashregisterid, price, customerid", RangeStart::kCashRegister,
                  "cashregisterid", ">"},
                 {"pdc", "price, dateandtime, customerid", RangeStart::kPrice, "price", ">="}}}};

inline constexpr Generation kIb2024 = {
    .name = "ib2024",
    .id_type = "BIGINT",
    .price_type = "INT",
    .price_scale = 1,
    .rows_per_report = 100'000,
    .indexes = {{{"marketsegment", "productid, customerid, price", RangeStart::kProduct, "productid", ">="},
                 {"registersegment", "cashregisterid, customerid, price", RangeStart::kCashRegister,
                  "cashregisterid", ">"},
                 {"pdc", "price, dateandtime, customerid", RangeStart::kPrice, "price", ">="}}}};

}  // namespace cairn::bench::insert

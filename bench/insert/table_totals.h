// SPDX-License-Identifier: GPL-2.0-only
// How many rows each table got and lost since it was made, kept in a file from one step to the next.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace cairn::bench::insert {

struct Totals {
  uint64_t inserted = 0;
  uint64_t deleted = 0;

  bool operator==(const Totals&) const = default;
};

using TableTotals = std::map<std::string, Totals>;

// Lines of a table's name, rows inserted and rows deleted. Both throw std::runtime_error: when the file
// cannot be read or is not one, and when it cannot be written.
TableTotals ReadTotals(const std::string& path);
void WriteTotals(const TableTotals& totals, const std::string& path);

}  // namespace cairn::bench::insert

// SPDX-License-Identifier: GPL-2.0-only
// How many rows each table got and lost since it was made, kept in a file from one step to the next.
#include "table_totals.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cairn::bench::insert {

TableTotals ReadTotals(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path + ": run the load step first");
  TableTotals totals;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string table;
    Totals each;
    if (!(fields >> table >> each.inserted >> each.deleted) || !(fields >> std::ws).eof() ||
        each.deleted > each.inserted || !totals.emplace(table, each).second) {
      throw std::runtime_error(path + " is not a list of tables and their rows: '" + line + "'");
    }
  }
  return totals;
}

void WriteTotals(const TableTotals& totals, const std::string& path) {
  std::ofstream file(path, std::ios::trunc);
  for (const auto& [table, each] : totals) file << table << ' ' << each.inserted << ' ' << each.deleted << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace cairn::bench::insert

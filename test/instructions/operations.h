// SPDX-License-Identifier: GPL-2.0-only
// What is counted: each operation does its work a given number of times.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace cairn::instructions {

class Database;

struct Operation {
  const char* name;
  const char* unit;  // what one of the times is
  uint64_t few;      // the number of times of the first count; that of the second is kMany times as many
  // Works `count` times, at the places from `first` on; runs of one operation never share a place.
  std::function<void(uint64_t first, uint64_t count)> run;
};

// The second count's times are so many of the first's.
constexpr uint64_t kMany = 3;

// Those that read, and those that write, in the order they must run in. `database` must outlive them.
std::vector<Operation> Reads(Database* database);
// Ranges of which some rows were changed, in memtables or in level 0: Database::ChangeRows(), and Flush().
std::vector<Operation> ReadsOfMemtable(Database* database);
std::vector<Operation> ReadsOfLevel0(Database* database);
std::vector<Operation> Writes(Database* database);
// Blocks of files, without a database.
std::vector<Operation> ReadsOfBlocks();

}  // namespace cairn::instructions

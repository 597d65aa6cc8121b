// SPDX-License-Identifier: GPL-2.0-only
// CHECK TABLE: rows and index entries agree, in both directions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "catalog/table_access.h"
#include "store/store.h"

namespace cairn::scan {

struct CheckOptions {
  bool extended = true;  // false: rows and entries are read and counted, but not looked up in each other
  // Computes what rows do not store (virtual columns) in a record whose stored columns are filled.
  std::function<void(uint8_t* record)> complete_record;
  // Asked now and then; true ends the check with kInterrupted.
  std::function<bool()> interrupted;
  // The same for where many entries are passed over that are not to be seen, as their rows are removed: once another thread has set it.
  // It must outlive the check. Null: never.
  const std::atomic<bool>* interrupt_flag = nullptr;
};

struct CheckResult {
  uint64_t rows = 0;
  std::vector<std::string> problems;  // the first few of each kind, in words
  uint64_t problem_count = 0;
};

// Reads a whole table as of one moment: each row decodes and has exactly its entry in every secondary
// index, each entry decodes and leads to a row that has it.
// Thread rule: any thread; takes no locks.
Status CheckTable(store::Store& store, const catalog::TableAccess& table, const CheckOptions& options,
                  CheckResult* result);

}  // namespace cairn::scan

// SPDX-License-Identifier: GPL-2.0-only
// Runs each operation under callgrind, which counts only while it is asked to: two counts of different
// numbers of times, so that their difference has nothing of what a run costs once. The group `instructions`
// of `./cairn test` reads what it prints and the dumps it asks for.
#include <cstdio>
#include <string>
#include <vector>

#include <sys/utsname.h>
#include <valgrind/callgrind.h>

#include "database.h"
#include "operations.h"

namespace cairn::instructions {
namespace {

// The keys of blocks in the cache are drawn anew for each store, and where some often used ones collide in its hash
// table is worth a percent. The reader takes the median of these.
constexpr int kStores = 5;

// Its dump is named "operation/count/store".
void CountRun(const Operation& operation, uint64_t first, uint64_t count, int store) {
  const std::string name =
      std::string(operation.name) + "/" + std::to_string(count) + "/" + std::to_string(store);
  CALLGRIND_ZERO_STATS;
  CALLGRIND_TOGGLE_COLLECT;
  operation.run(first, count);
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_DUMP_STATS_AT(name.c_str());
}

// A run before the counted ones brings blocks into the cache and buffers to their size.
void CountOperation(const Operation& operation, int store) {
  const uint64_t few = operation.few, many = kMany * operation.few;
  operation.run(0, many);
  CountRun(operation, many, few, store);
  CountRun(operation, many + few, many, store);
  if (store == 0) std::printf("operation %s %s %lu %lu\n", operation.name, operation.unit, few, many);
}

void CountOperations(const std::vector<Operation>& operations, int store) {
  for (const Operation& operation : operations) CountOperation(operation, store);
}

void CountStore(int store) {
  Database database;
  CountOperations(Reads(&database), store);
  database.ChangeRows();
  CountOperations(ReadsOfMemtable(&database), store);
  database.Flush();
  CountOperations(ReadsOfLevel0(&database), store);
  database.Compact();
  CountOperations(Writes(&database), store);
  CountOperations(ReadsOfBlocks(), store);
}

}  // namespace
}  // namespace cairn::instructions

int main() {
  utsname machine;
  uname(&machine);
  std::printf("compiler %s\narchitecture %s\nstores %d\n", __VERSION__, machine.machine,
              cairn::instructions::kStores);
  for (int store = 0; store < cairn::instructions::kStores; ++store) cairn::instructions::CountStore(store);
  return 0;
}

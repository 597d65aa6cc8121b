// SPDX-License-Identifier: GPL-2.0-only
// What is said of an entry or a batch that does not fit.
#include "store/entry_limits.h"

#include <string>

namespace cairn::store {

Status EntryTooLarge(uint64_t key_bytes, uint64_t value_bytes) {
  return Status(Status::Code::kTooLarge, "a row, or an entry of an index, of " + std::to_string(key_bytes + value_bytes) +
                                             " bytes; at most " + std::to_string(kEntryBytesMax) + " can be stored");
}

Status BatchTooLarge() {
  return Status(Status::Code::kTooLarge,
                "a transaction has " + std::to_string(kBatchChangesMax) + " changes of rows and entries of indexes, and can have no more");
}

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// Reading of a block that the block cache does not have.
#include "store/held_block.h"

namespace cairn::store {

bool HeldBlock::Read(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read, const rocks::BlockHandle& handle) {
  auto block = std::make_unique<rocks::DataBlockIter>();
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserApproximateSize};
  if (!ReadDataBlock(table, read, handle, &lookup, block.get(), &entries_)) return false;
  read_ = std::move(block);
  return true;
}

}  // namespace cairn::store

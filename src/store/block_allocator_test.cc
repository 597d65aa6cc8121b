// SPDX-License-Identifier: GPL-2.0-only
// Blocks of any size, by RocksDB's interface.
#include "store/block_allocator.h"

#include <cstring>

#include <gtest/gtest.h>

namespace cairn::store {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr size_t kSizes[] = {0, 1, 100, 3071, 3072, 8192, 8197, 65536, 65600, 65601, 100'000, 3'000'000};

void TakeAndGiveBack(rocks::MemoryAllocator* allocator) {
  for (const size_t size : kSizes) {
    auto* const block = static_cast<char*>(allocator->Allocate(size));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 16, 0U);
    memset(block, 1, size);
    EXPECT_GE(allocator->UsableSize(block, size), size);
    EXPECT_LE(allocator->UsableSize(block, size), size + size / 8 + 1100);
    allocator->Deallocate(block);
  }
  allocator->Deallocate(nullptr);
}

TEST(BlockAllocatorTest, ServesAllSizes) { TakeAndGiveBack(NewBlockAllocator(16 * kMiB).get()); }

TEST(BlockAllocatorTest, ServesAllSizesWithoutSlots) {
  TakeAndGiveBack(NewBlockAllocator(uint64_t{1} << 61).get());  // more addresses than there are
}

// What the cache counts of a block is what it takes.
TEST(BlockAllocatorTest, TellsWhatABlockTakes) {
  const auto allocator = NewBlockAllocator(16 * kMiB);
  void* const slot = allocator->Allocate(8192);
  EXPECT_EQ(allocator->UsableSize(slot, 8192), 8192U + 64);
  allocator->Deallocate(slot);
  void* const mapped = allocator->Allocate(100'000);
  EXPECT_EQ(allocator->UsableSize(mapped, 100'000), 102'400U);
  allocator->Deallocate(mapped);
}

}  // namespace
}  // namespace cairn::store

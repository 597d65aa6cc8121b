// SPDX-License-Identifier: GPL-2.0-only
// Pieces keep what is in them, by several threads; memory comes back.
#include "store/slab_allocator.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cairn::store {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kRegionBytes = kMiB;
constexpr size_t kBlockBytes = 8 << 10;

struct Piece {
  char* bytes = nullptr;
  size_t size = 0;
};

// Null: not served.
Piece Take(SlabAllocator* slots, size_t size) {
  Piece piece{static_cast<char*>(slots->Allocate(size)), size};
  if (piece.bytes != nullptr) memset(piece.bytes, static_cast<int>(size * 31 % 251), size);
  return piece;
}

bool IsWhole(const Piece& piece) {
  return piece.bytes[0] == static_cast<char>(piece.size * 31 % 251) &&
         memcmp(piece.bytes, piece.bytes + 1, piece.size - 1) == 0;  // each byte is as the one before
}

TEST(SlabAllocatorTest, ServesEachSizeWithLittleMore) {
  SlabAllocator slots(128 * kMiB, kMiB);
  EXPECT_EQ(slots.Allocate(SlabAllocator::kBytesMin - 1), nullptr);
  EXPECT_EQ(slots.Allocate(SlabAllocator::kBytesMax + 1), nullptr);
  EXPECT_EQ(slots.Allocate(SIZE_MAX), nullptr);
  for (size_t size = SlabAllocator::kBytesMin; size <= SlabAllocator::kBytesMax; ++size) {
    void* const piece = slots.Allocate(size);
    ASSERT_NE(piece, nullptr) << size;
    ASSERT_TRUE(slots.Owns(piece));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(piece) % 64, 0U);
    ASSERT_GE(slots.SlotBytes(piece), size);
    ASSERT_LE(slots.SlotBytes(piece), std::max<size_t>(size + size / 8, 4 << 10) + 64) << size;
    slots.Free(piece);
  }
  EXPECT_EQ(slots.usage().used_bytes, 0U);
}

TEST(SlabAllocatorTest, BlocksFillTheirSlots) {
  SlabAllocator slots(16 * kMiB, kMiB);
  for (const size_t block : {4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10}) {
    void* const piece = slots.Allocate(block + 5);
    EXPECT_EQ(slots.SlotBytes(piece), block + 64U);
    slots.Free(piece);
  }
}

TEST(SlabAllocatorTest, OwnsNothingOfOthers) {
  SlabAllocator slots(16 * kMiB, kMiB);
  SlabAllocator others(16 * kMiB, kMiB);
  int here = 0;
  void* const piece = others.Allocate(kBlockBytes);
  EXPECT_FALSE(slots.Owns(&here));
  EXPECT_FALSE(slots.Owns(nullptr));
  EXPECT_FALSE(slots.Owns(piece));
  others.Free(piece);
}

TEST(SlabAllocatorTest, ServesNothingWithoutAddresses) {
  SlabAllocator slots(uint64_t{1} << 62, kMiB);
  EXPECT_EQ(slots.Allocate(kBlockBytes), nullptr);
  EXPECT_FALSE(slots.Owns(&slots));
  EXPECT_FALSE(slots.Owns(nullptr));
}

TEST(SlabAllocatorTest, ServesAgainWhatWasFreedOnceAllIsUsed) {
  SlabAllocator slots(2 * kRegionBytes, kMiB);
  std::vector<Piece> pieces;
  while (true) {
    const Piece piece = Take(&slots, kBlockBytes);
    if (piece.bytes == nullptr) break;
    pieces.push_back(piece);
  }
  EXPECT_EQ(pieces.size(), 2 * (kRegionBytes / (kBlockBytes + 64)));
  // Another class has no region, until one of this is empty.
  EXPECT_EQ(slots.Allocate(2 * kBlockBytes), nullptr);
  for (const Piece& piece : pieces) {
    EXPECT_TRUE(IsWhole(piece));
    slots.Free(piece.bytes);
  }
  void* const other = slots.Allocate(2 * kBlockBytes);
  ASSERT_NE(other, nullptr);
  slots.Free(other);
}

TEST(SlabAllocatorTest, WhatIsFreeStaysBelowTheSlack) {
  constexpr uint64_t kSlackBytes = 4 * kMiB;
  SlabAllocator slots(256 * kMiB, kSlackBytes);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < 64 * kMiB / kBlockBytes; ++i) pieces.push_back(Take(&slots, kBlockBytes));
  std::mt19937_64 random(1);
  std::shuffle(pieces.begin(), pieces.end(), random);
  while (pieces.size() > 100) {
    slots.Free(pieces.back().bytes);
    pieces.pop_back();
    ASSERT_LE(slots.usage().idle_bytes, kSlackBytes);
  }
  for (const Piece& piece : pieces) EXPECT_TRUE(IsWhole(piece));
  // What was given back serves again.
  for (size_t i = 0; i < 64 * kMiB / kBlockBytes; ++i) pieces.push_back(Take(&slots, kBlockBytes));
  for (const Piece& piece : pieces) {
    ASSERT_TRUE(IsWhole(piece));
    slots.Free(piece.bytes);
  }
  EXPECT_EQ(slots.usage().used_bytes, 0U);
  EXPECT_LE(slots.usage().idle_bytes, kSlackBytes);
}

// One piece of each of many classes: each has a region, of which only what is used is in memory.
TEST(SlabAllocatorTest, AClassOfFewPiecesTakesNoMoreThanThem) {
  SlabAllocator slots(256 * kMiB, kMiB);
  uint64_t bytes = 0;
  std::vector<Piece> pieces;
  for (size_t size = SlabAllocator::kBytesMin; size <= SlabAllocator::kBytesMax; size += 512) {
    pieces.push_back(Take(&slots, size));
    bytes += slots.SlotBytes(pieces.back().bytes);
  }
  EXPECT_EQ(slots.usage().used_bytes, bytes);
  EXPECT_EQ(slots.usage().idle_bytes, 0U);
  for (const Piece& piece : pieces) slots.Free(piece.bytes);
}

// By one thread: random sizes, many of them about a block's; now and then far fewer at a time.
class Worker {
 public:
  Worker(SlabAllocator* slots, unsigned seed) : slots_(slots), random_(seed) {}

  // Every so many turns a piece is swapped for another's.
  void Run(int turns, std::mutex* mutex, std::vector<Piece>* shared) {
    for (int turn = 0; turn < turns; ++turn) {
      const size_t most = turn / 2500 % 2 == 0 ? 1500 : 50;
      if (pieces_.size() < most && random_() % 4 != 0) {
        const size_t size = random_() % 3 == 0 ? 1000 + random_() % 70000 : 7400 + random_() % 800;
        if (const Piece piece = Take(slots_, size); piece.bytes != nullptr) pieces_.push_back(piece);
      } else if (!pieces_.empty()) {
        Piece& picked = pieces_[random_() % pieces_.size()];
        if (random_() % 8 == 0) {
          const std::lock_guard lock(*mutex);
          std::swap((*shared)[random_() % shared->size()], picked);
        }
        Drop(std::exchange(picked, pieces_.back()));
        pieces_.pop_back();
      }
    }
    while (!pieces_.empty()) {
      Drop(pieces_.back());
      pieces_.pop_back();
    }
  }

  void Drop(const Piece& piece) {
    if (piece.bytes == nullptr) return;
    if (!IsWhole(piece)) ++broken_;
    slots_->Free(piece.bytes);
  }

  int broken() const { return broken_; }

 private:
  SlabAllocator* const slots_;
  std::mt19937_64 random_;
  std::vector<Piece> pieces_;
  int broken_ = 0;
};

TEST(SlabAllocatorTest, PiecesOfManyThreadsKeepWhatIsInThem) {
  constexpr unsigned kThreads = 4;
  SlabAllocator slots(192 * kMiB, kMiB);
  std::mutex mutex;
  std::vector<Piece> shared(100);
  std::vector<Worker> workers;
  for (unsigned i = 0; i < kThreads; ++i) workers.emplace_back(&slots, i);
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&] { worker.Run(20000, &mutex, &shared); });
  for (std::thread& thread : threads) thread.join();
  for (const Piece& piece : shared) workers[0].Drop(piece);
  for (const Worker& worker : workers) EXPECT_EQ(worker.broken(), 0);
  EXPECT_EQ(slots.usage().used_bytes, 0U);
  EXPECT_LE(slots.usage().idle_bytes, kMiB);
}

TEST(SlabAllocatorDeathTest, PiecesAreFreedOnce) {
  SlabAllocator slots(16 * kMiB, kMiB);
  char* const piece = static_cast<char*>(slots.Allocate(kBlockBytes));
  EXPECT_DEATH(slots.Free(piece + 64), "");
  slots.Free(piece);
  EXPECT_DEATH(slots.Free(piece), "");
}

#ifdef __SANITIZE_ADDRESS__
TEST(SlabAllocatorDeathTest, TheSanitizerFindsWhatIsUsedAfterItWasFreedAndPastItsEnd) {
  SlabAllocator slots(16 * kMiB, kMiB);
  auto* const piece = static_cast<volatile char*>(slots.Allocate(kBlockBytes));
  EXPECT_DEATH(piece[kBlockBytes] = 1, "use-after-poison");
  slots.Free(const_cast<char*>(piece));
  EXPECT_DEATH(piece[0] = 1, "use-after-poison");
}
#endif

}  // namespace
}  // namespace cairn::store

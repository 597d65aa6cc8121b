// SPDX-License-Identifier: GPL-2.0-only
// Memory for many pieces of about the same size that live long: slots of a few sizes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace cairn::store {

// A slab allocator (J. Bonwick, "The Slab Allocator: An Object-Caching Kernel Memory Allocator", 1994): what one piece leaves
// serves any other of its size class, whichever thread asks (docs/decisions/0040-slabs-for-blocks.md).
//
// 1. One range of addresses is reserved at the start and divided into regions of 1 MiB. What is known of a region lies in a table
//    beside the range: free memory is neither read nor written, and may leave the process.
// 2. A region in use belongs to one size class and is divided into slots of its size. A piece takes a slot of the fullest region
//    that has one, so that others empty. An empty region goes back to all classes, and its memory to the kernel, unless it is
//    the only one of its class with room.
// 3. A slot is backed when it may be in memory: since it was first used. A free one that is backed is used before those that are not.
// 4. Of what is free and backed no more than `slack_bytes` is kept: beyond it, whole pages in free slots of the emptiest regions
//    go back to the kernel. (A page on which a slot in use begins or ends stays.)
//
// Thread rule: any thread. Each class has a mutex, held for some bits and links, and for a call of the system for each run of free
// slots (256 at most) while a region's pages are given back.
class SlabAllocator final {
 public:
  // What is served. From 4 KiB on, at most an eighth of a slot stays unused.
  static constexpr size_t kBytesMin = 3 << 10;
  static constexpr size_t kBytesMax = (64 << 10) + 64;

  struct Usage {
    uint64_t used_bytes = 0;  // slots in use
    uint64_t idle_bytes = 0;  // slots that are free and backed
  };

  // Reserves `reserved_bytes` of addresses, which take no memory (a ten-thousandth for the table). Once all are in use nothing more is
  // served; nothing at all where the system refuses them.
  SlabAllocator(uint64_t reserved_bytes, uint64_t slack_bytes);
  SlabAllocator(const SlabAllocator&) = delete;
  SlabAllocator& operator=(const SlabAllocator&) = delete;
  // Pieces still in use become invalid.
  ~SlabAllocator();

  // Null: a size that is not served, or no memory. Aligned to 64 bytes.
  void* Allocate(size_t bytes);
  // Precondition: Owns(piece). Ends the process when it is not in use.
  void Free(void* piece);
  // Whether it comes from here. Any pointer.
  bool Owns(const void* piece) const {
    return reinterpret_cast<uintptr_t>(piece) - base_ < region_count_ * kRegionBytes;
  }
  // What the piece takes. Precondition: Owns(piece), and it is in use.
  size_t SlotBytes(const void* piece) const;

  Usage usage() const;

 private:
  static constexpr size_t kRegionBytes = size_t{1} << 20;

  struct Region;
  struct SizeClass;

  Region& RegionOf(const void* piece) const;
  char* BytesOf(const Region& region) const;
  Region* Open(SizeClass* of);
  void Close(SizeClass* of, Region* region);
  void AddIdle(SizeClass* of, int64_t slots);
  void Trim();
  void GiveBackFree(SizeClass* of, Region* region);

  const uint64_t slack_bytes_;
  uintptr_t base_ = 0;
  size_t region_count_ = 0;  // 0: no addresses
  std::unique_ptr<Region[]> regions_;
  std::unique_ptr<SizeClass[]> classes_;
  std::atomic<uint64_t> idle_bytes_{0};  // of all classes

  // Order: trim_mutex_, a class's mutex, pool_mutex_.
  std::mutex trim_mutex_;
  std::mutex pool_mutex_;
  std::vector<Region*> pool_;  // regions of no class that have been used
  size_t fresh_ = 0;           // from here on they have not
};

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// Slots, mappings or the heap, by size.
#include "store/block_allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "store/slab_allocator.h"

namespace cairn::store {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Before each piece that is not a slot.
struct alignas(16) Header {
  size_t bytes;    // all that it takes, this included
  bool is_mapped;  // else of the heap
};
static_assert(sizeof(Header) == 16);

Header* HeaderOf(void* piece) { return static_cast<Header*>(piece) - 1; }

// Null: the system refuses.
void* Map(size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

void* AllocateBesideSlots(size_t bytes) {
  bytes += sizeof(Header);
  if (bytes > SlabAllocator::kBytesMax) {
    static const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    const size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (void* const mapped = Map(whole)) return new (mapped) Header{whole, true} + 1;
  }
  return new (::operator new(bytes)) Header{bytes, false} + 1;
}

class BlockAllocator final : public rocks::MemoryAllocator {
 public:
  // The cache may hold more than its capacity for a while, and blocks of compactions are in no cache.
  explicit BlockAllocator(uint64_t cache_bytes)
      : slots_(2 * cache_bytes + 64 * kMiB, std::max(cache_bytes / 16, 2 * kMiB)) {}

  const char* Name() const override { return "cairn.BlockAllocator"; }

  void* Allocate(size_t bytes) override {
    void* const slot = slots_.Allocate(bytes);
    return slot != nullptr ? slot : AllocateBesideSlots(bytes);
  }

  void Deallocate(void* piece) override {
    if (slots_.Owns(piece)) return slots_.Free(piece);
    if (piece == nullptr) return;
    Header* const header = HeaderOf(piece);
    if (header->is_mapped) {
      munmap(header, header->bytes);
    } else {
      ::operator delete(header);
    }
  }

  size_t UsableSize(void* piece, size_t /*bytes*/) const override {
    return slots_.Owns(piece) ? slots_.SlotBytes(piece) : HeaderOf(piece)->bytes;
  }

 private:
  SlabAllocator slots_;
};

}  // namespace

std::shared_ptr<rocks::MemoryAllocator> NewBlockAllocator(uint64_t cache_bytes) {
  return std::make_shared<BlockAllocator>(cache_bytes);
}

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// By mmap(2) and madvise(2).
#include "store/slab_allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
// Of AddressSanitizer's public interface.
extern "C" void __asan_poison_memory_region(const volatile void* address, size_t size);
extern "C" void __asan_unpoison_memory_region(const volatile void* address, size_t size);
#endif

namespace cairn::store {
namespace {

// Whether a sanitizer lets the program touch it.
void Allow([[maybe_unused]] const void* bytes, [[maybe_unused]] size_t size) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(bytes, size);
#endif
}
void Forbid([[maybe_unused]] const void* bytes, [[maybe_unused]] size_t size) {
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(bytes, size);
#endif
}

constexpr size_t kClasses = 33;
constexpr size_t kStepsPerDoubling = 8;
constexpr size_t kSmallestRound = 4 << 10;
// Blocks are filled up to a round size, and may have a trailer. Nor should all slots begin in the same set of a processor's cache.
constexpr size_t kBeyondRound = 64;
constexpr size_t kSlotsMax = 256;

constexpr size_t SlotBytesOf(size_t size_class) {
  const size_t step = size_class + kStepsPerDoubling - 1;  // the smallest ends a doubling
  return ((kStepsPerDoubling + step % kStepsPerDoubling + 1) << (step / kStepsPerDoubling + 8)) + kBeyondRound;
}

// The smallest class with slots for so many bytes.
constexpr size_t ClassFor(size_t bytes) {
  const size_t last = std::max(bytes, kSmallestRound + kBeyondRound) - kBeyondRound - 1;
  const size_t doubling = static_cast<size_t>(std::bit_width(last)) - 4;  // as a step's width, of which `last` is 8 to 15
  return (doubling - 8) * kStepsPerDoubling + (last >> doubling) - 2 * kStepsPerDoubling + 1;
}

// One bit for each slot of a region.
class SlotSet {
 public:
  bool Has(size_t slot) const { return (words_[slot / 64] >> (slot % 64) & 1) != 0; }
  void Add(size_t slot) { words_[slot / 64] |= uint64_t{1} << (slot % 64); }
  void Remove(size_t slot) { words_[slot / 64] &= ~(uint64_t{1} << (slot % 64)); }
  // The first that is not in `other`. Precondition: there is one.
  size_t FirstNotIn(const SlotSet& other) const {
    size_t at = 0;
    while ((words_[at] & ~other.words_[at]) == 0) ++at;
    return at * 64 + static_cast<size_t>(std::countr_zero(words_[at] & ~other.words_[at]));
  }
  // The first that is absent. Precondition: there is one.
  size_t FirstAbsent() const {
    size_t at = 0;
    while (~words_[at] == 0) ++at;
    return at * 64 + static_cast<size_t>(std::countr_zero(~words_[at]));
  }

 private:
  std::array<uint64_t, kSlotsMax / 64> words_{};
};

constexpr size_t kFills = 9;  // eighths

}  // namespace

// Guarded by the mutex of its class. `of` does not change while a slot is in use.
struct SlabAllocator::Region {
  SizeClass* of = nullptr;
  SlotSet used;
  SlotSet backed;  // those in use, and others
  uint32_t used_count = 0;
  uint32_t backed_count = 0;
  // In the list of those as full.
  Region* before = nullptr;
  Region* after = nullptr;
};

struct alignas(64) SlabAllocator::SizeClass {
  // Constant.
  size_t slot_bytes = 0;
  size_t slot_count = 0;  // of a region

  mutable std::mutex mutex;
  uint64_t used_count = 0;
  std::array<Region*, kFills> by_fill{};  // by eighths in use; in the last are the full ones
  std::atomic<uint64_t> idle_bytes{0};    // written under the mutex

  Region*& ListOf(const Region& region) { return by_fill[region.used_count * (kFills - 1) / slot_count]; }
  void Link(Region* region);
  void Unlink(Region* region);
  void SetUsedCount(Region* region, uint32_t count);
  Region* FullestWithRoom() const;
  Region* EmptiestWithIdle() const;
  bool HasRoomBeside(const Region& region) const;
};

void SlabAllocator::SizeClass::Link(Region* region) {
  Region*& first = ListOf(*region);
  region->before = nullptr;
  region->after = first;
  if (first != nullptr) first->before = region;
  first = region;
}

void SlabAllocator::SizeClass::Unlink(Region* region) {
  if (region->after != nullptr) region->after->before = region->before;
  (region->before != nullptr ? region->before->after : ListOf(*region)) = region->after;
}

void SlabAllocator::SizeClass::SetUsedCount(Region* region, uint32_t count) {
  Region*& list = ListOf(*region);
  const uint32_t before = std::exchange(region->used_count, count);
  if (&ListOf(*region) == &list) return;
  region->used_count = before;
  Unlink(region);
  region->used_count = count;
  Link(region);
}

SlabAllocator::Region* SlabAllocator::SizeClass::FullestWithRoom() const {
  for (size_t fill = kFills - 1; fill-- > 0;) {
    if (by_fill[fill] != nullptr) return by_fill[fill];
  }
  return nullptr;
}

SlabAllocator::Region* SlabAllocator::SizeClass::EmptiestWithIdle() const {
  for (Region* at : by_fill) {
    for (; at != nullptr; at = at->after) {
      if (at->backed_count > at->used_count) return at;
    }
  }
  return nullptr;
}

bool SlabAllocator::SizeClass::HasRoomBeside(const Region& region) const {
  if (region.before != nullptr || region.after != nullptr) return true;
  return std::any_of(by_fill.begin(), by_fill.end() - 1, [&](const Region* at) { return at != nullptr && at != &region; });
}

SlabAllocator::SlabAllocator(uint64_t reserved_bytes, uint64_t slack_bytes)
    : slack_bytes_(slack_bytes), classes_(new SizeClass[kClasses]) {
  static_assert(SlotBytesOf(0) == kSmallestRound + kBeyondRound && SlotBytesOf(kClasses - 1) == kBytesMax);
  static_assert(ClassFor(kBytesMin) == 0 && ClassFor(kBytesMax) == kClasses - 1 && kRegionBytes / SlotBytesOf(0) <= kSlotsMax);
  for (size_t i = 0; i < kClasses; ++i) {
    classes_[i].slot_bytes = SlotBytesOf(i);
    classes_[i].slot_count = kRegionBytes / SlotBytesOf(i);
  }
  const size_t bytes = reserved_bytes / kRegionBytes * kRegionBytes;
  void* const reserved = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return;
  base_ = reinterpret_cast<uintptr_t>(reserved);
  region_count_ = bytes / kRegionBytes;
  madvise(reserved, bytes, MADV_NOHUGEPAGE);  // of a huge page that is free in part, nothing leaves
  regions_ = std::make_unique<Region[]>(region_count_);
}

SlabAllocator::~SlabAllocator() {
  if (region_count_ == 0) return;
  Allow(BytesOf(regions_[0]), region_count_ * kRegionBytes);
  munmap(BytesOf(regions_[0]), region_count_ * kRegionBytes);
}

SlabAllocator::Region& SlabAllocator::RegionOf(const void* piece) const {
  return regions_[(reinterpret_cast<uintptr_t>(piece) - base_) / kRegionBytes];
}

char* SlabAllocator::BytesOf(const Region& region) const {
  return reinterpret_cast<char*>(base_ + static_cast<size_t>(&region - regions_.get()) * kRegionBytes);
}

size_t SlabAllocator::SlotBytes(const void* piece) const { return RegionOf(piece).of->slot_bytes; }

void SlabAllocator::AddIdle(SizeClass* of, int64_t slots) {
  const uint64_t bytes = static_cast<uint64_t>(slots) * of->slot_bytes;
  of->idle_bytes.fetch_add(bytes, std::memory_order_relaxed);
  idle_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

// Gives the class one more region. Null: there is none, or no memory.
SlabAllocator::Region* SlabAllocator::Open(SizeClass* of) {
  Region* region = nullptr;
  {
    const std::lock_guard lock(pool_mutex_);
    if (!pool_.empty()) {
      region = pool_.back();
      pool_.pop_back();
    } else if (fresh_ < region_count_ &&
               mprotect(BytesOf(regions_[fresh_]), kRegionBytes, PROT_READ | PROT_WRITE) == 0) {
      region = &regions_[fresh_++];
    }
  }
  if (region == nullptr) return nullptr;
  *region = Region();
  region->of = of;
  Forbid(BytesOf(*region), kRegionBytes);
  of->Link(region);
  return region;
}

// Precondition: none of its slots is in use.
void SlabAllocator::Close(SizeClass* of, Region* region) {
  of->Unlink(region);
  AddIdle(of, -int64_t{region->backed_count});
  madvise(BytesOf(*region), kRegionBytes, MADV_DONTNEED);
  const std::lock_guard lock(pool_mutex_);
  pool_.push_back(region);
}

void* SlabAllocator::Allocate(size_t bytes) {
  if (bytes < kBytesMin || bytes > kBytesMax) return nullptr;
  SizeClass& of = classes_[ClassFor(bytes)];
  const std::lock_guard lock(of.mutex);
  Region* region = of.FullestWithRoom();
  if (region == nullptr) region = Open(&of);
  if (region == nullptr) return nullptr;
  size_t slot;
  if (region->backed_count > region->used_count) {
    slot = region->backed.FirstNotIn(region->used);
    AddIdle(&of, -1);
  } else {
    slot = region->used.FirstAbsent();
    region->backed.Add(slot);
    ++region->backed_count;
  }
  region->used.Add(slot);
  of.SetUsedCount(region, region->used_count + 1);
  ++of.used_count;
  char* const piece = BytesOf(*region) + slot * of.slot_bytes;
  Allow(piece, bytes);
  return piece;
}

void SlabAllocator::Free(void* piece) {
  Region& region = RegionOf(piece);
  if (region.of == nullptr) std::abort();
  SizeClass& of = *region.of;
  {
    const std::lock_guard lock(of.mutex);
    const size_t offset = static_cast<size_t>(static_cast<char*>(piece) - BytesOf(region));
    const size_t slot = offset / of.slot_bytes;
    if (offset % of.slot_bytes != 0 || !region.used.Has(slot)) std::abort();
    Forbid(piece, of.slot_bytes);
    region.used.Remove(slot);
    of.SetUsedCount(&region, region.used_count - 1);
    --of.used_count;
    AddIdle(&of, 1);
    if (region.used_count == 0 && of.HasRoomBeside(region)) Close(&of, &region);
  }
  if (idle_bytes_.load(std::memory_order_relaxed) > slack_bytes_) Trim();
}

// Until an eighth of the slack is free for what comes next.
void SlabAllocator::Trim() {
  const std::unique_lock trimming(trim_mutex_, std::try_to_lock);
  if (!trimming) return;  // another thread does it
  while (idle_bytes_.load(std::memory_order_relaxed) > slack_bytes_ - slack_bytes_ / 8) {
    SizeClass* const of = std::max_element(&classes_[0], &classes_[kClasses], [](const SizeClass& a, const SizeClass& b) {
      return a.idle_bytes.load(std::memory_order_relaxed) < b.idle_bytes.load(std::memory_order_relaxed);
    });
    const std::lock_guard lock(of->mutex);
    Region* const region = of->EmptiestWithIdle();
    if (region == nullptr) return;  // was taken meanwhile
    if (region->used_count == 0) {
      Close(of, region);
    } else {
      GiveBackFree(of, region);
    }
  }
}

// The whole pages in its free slots.
void SlabAllocator::GiveBackFree(SizeClass* of, Region* region) {
  static const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  char* const bytes = BytesOf(*region);
  for (size_t slot = 0; slot < of->slot_count; ++slot) {
    if (region->used.Has(slot)) continue;
    const size_t begin = (slot * of->slot_bytes + page_bytes - 1) / page_bytes * page_bytes;
    for (; slot < of->slot_count && !region->used.Has(slot); ++slot) region->backed.Remove(slot);
    const size_t end = slot == of->slot_count ? kRegionBytes : slot * of->slot_bytes / page_bytes * page_bytes;
    if (begin < end) madvise(bytes + begin, end - begin, MADV_DONTNEED);
  }
  AddIdle(of, int64_t{region->used_count} - int64_t{region->backed_count});
  region->backed_count = region->used_count;
}

SlabAllocator::Usage SlabAllocator::usage() const {
  Usage usage;
  for (size_t i = 0; i < kClasses; ++i) {
    const std::lock_guard lock(classes_[i].mutex);
    usage.used_bytes += classes_[i].used_count * classes_[i].slot_bytes;
  }
  usage.idle_bytes = idle_bytes_.load(std::memory_order_relaxed);
  return usage;
}

}  // namespace cairn::store

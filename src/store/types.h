// SPDX-License-Identifier: GPL-2.0-only
// Small words of the storage layer: families, durability, snapshots, pinned values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

class Store;

// The two ordered key spaces of a store. Atomic batches may touch both.
enum class Family : uint8_t {
  kData = 0,        // rows and index entries; keys begin with a 4-byte big-endian index id
  kDictionary = 1,  // what tables exist, and their counters; the only family that takes Merge
};
inline constexpr size_t kFamilyCount = 2;

// What must have happened before a write is reported as done. Being stronger than asked is
// always allowed.
enum class Durability : uint8_t {
  kSync,      // survives loss of power
  kOs,        // handed to the operating system: survives the death of this process
  kBuffered,  // may be lost with the process; today the same as kOs
};

// Whether a write is let through while the disk is below its reserve of free space.
enum class Urgency : uint8_t {
  kNormal,          // refused with kNoSpace
  kRemovesRows,     // let through down to half of the reserve: what puts nothing
  kReclaimsSpace,   // let through down to a 64th, so that the log can be written: dropping tables and indexes
};

// A moment in the history of a store. Reads through it see exactly what had been committed then.
// It keeps old versions alive, so hold it no longer than needed.
//
// Lifetime: released by its destructor or Release(), before the store is closed.
// Thread rule: reading through one snapshot from many threads is safe; moving or releasing it is
// for one thread while nobody reads through it.
class Snapshot {
 public:
  Snapshot() = default;
  Snapshot(Snapshot&& other) noexcept
      : store_(std::exchange(other.store_, nullptr)), rocks_(std::exchange(other.rocks_, nullptr)) {}
  Snapshot& operator=(Snapshot&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(rocks_, other.rocks_);
    return *this;
  }
  ~Snapshot() { Release(); }

  bool taken() const { return rocks_ != nullptr; }
  void Release();

  // The newest sequence number it sees. Precondition: taken().
  uint64_t sequence() const;

 private:
  friend class PointReader;
  friend class Store;
  friend class WriteTransaction;
  friend struct CursorBounds;
  Store* store_ = nullptr;
  const rocks::Snapshot* rocks_ = nullptr;
};

// The result of a point read. Holds memory of the block cache instead of copying; reuse one object
// for many reads.
//
// Lifetime: view() is valid until the next read into it, Reset() or destruction. Reset it at the
// end of a statement, so that it does not hold a cached block for as long as a connection is idle.
// Thread rule: one thread at a time.
class PinnedValue {
 public:
  PinnedValue();
  PinnedValue(PinnedValue&&) noexcept;
  PinnedValue& operator=(PinnedValue&&) noexcept;
  ~PinnedValue();

  ByteView view() const { return view_; }
  void Reset();

 private:
  friend class PointReader;
  friend class Store;
  friend class WriteTransaction;
  rocks::PinnableSlice* Prepare();  // an empty slice to read into
  void Publish();                   // makes view() show it

  std::unique_ptr<rocks::PinnableSlice> slice_;
  ByteView view_;
};

}  // namespace cairn::store

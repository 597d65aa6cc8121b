// SPDX-License-Identifier: GPL-2.0-only
// The range lock of one scan: grows with it, and tells when its cursor is no longer to be trusted.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "txn/range_locks.h"

namespace cairn::txn {

class Transaction;

// An uncommitted entry of another transaction.
struct PendingEntry {
  std::string key;
  std::string value;
  // Only a place up to which there is nothing but removals: nobody to wait for, but look again from here.
  bool is_removal = false;
};

// Usage:
//
//   Begin; Look; open a cursor; for each entry it shows, and at its end:
//     Extend or ExtendToEnd. If that is false: wait for the row of blocker(), if there is one; Look;
//     open a new cursor behind settled(); go on.
//     Before, if the entry's row has to be waited for: MayExtend, and if that is true: wait; open a new cursor behind settled(); go on.
//   End.
//
// What Extend accepted is complete: the cursor shows all that is there, and nobody inserts there until
// the transaction ends. What it refused is not locked: whoever is waited for can insert there, and so can others. Only a walk
// that was refused kTriesMax times where it stands locks first, up to the blocker if there is one, as rows may come nearer and nearer to it.
//
// Thread rule: the transaction's thread. Must be ended before the transaction is; what it locked stays
// locked until then.
class RangeWalk {
 public:
  RangeWalk() = default;
  RangeWalk(const RangeWalk&) = delete;
  RangeWalk& operator=(const RangeWalk&) = delete;
  ~RangeWalk() { End(); }

  // Nothing is locked yet; the walk may go through [lower, upper), from its lower end if `forward`.
  // Without `heeds_pending` uncommitted entries of others are passed over (SKIP LOCKED).
  Status Begin(Transaction* transaction, IndexId index, ByteView lower, ByteView upper, bool forward,
               bool heeds_pending);
  bool is_active() const { return walk_.holding != nullptr; }
  bool is_forward() const { return walk_.forward; }
  void End();

  // Looks for what others have put and not committed in front of the walk. `options`: Transaction::FindPending.
  Status Look(const LockOptions& options);

  // Locks up to and including `key`, or to the end of the bounds. True: a cursor opened since the last
  // Look() shows all there is from settled() to there; then settled() is moved there.
  [[nodiscard]] bool Extend(ByteView key);
  [[nodiscard]] bool ExtendToEnd();

  // Whether the last Look() has found an entry before `key` whose row's lock must be waited for first. Else there may be one by now.
  [[nodiscard]] bool IsBlocked(ByteView key);

  // Whether Extend(key) would be true. If so nothing is locked: who has locked the entry's row, and is waited for, may put the entry again. If
  // not, it is Extend().
  [[nodiscard]] bool MayExtend(ByteView key);

  // After a refused Extend: the entry whose row's lock must be waited for first, or null.
  const PendingEntry* blocker() const;

  // Where complete knowledge ends: entries at or above it (forward), or below it, come next.
  ByteView settled() const { return settled_; }

  static constexpr int kTriesMax = 8;  // see above

 private:
  void Aim(ByteView key);
  bool Grow();
  bool IsKnown() const { return is_forward() ? end_ <= known_ : end_ >= known_; }

  Transaction* transaction_ = nullptr;
  WalkedRange walk_;
  bool heeds_pending_ = true;
  std::string settled_;
  std::string known_;     // like settled_: up to here the last Look() has found nothing that others have put
  std::string end_;       // like settled_: where the last Extend wanted to get
  int tries_ = 0;         // since settled_ was moved
  PendingEntry pending_;  // what is at known_, unless that is the end of the bounds
};

}  // namespace cairn::txn

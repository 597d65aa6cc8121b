// SPDX-License-Identifier: GPL-2.0-only
// Locks on rows and index entries that transactions hold until they end: the interface.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace cairn::txn {

enum class LockMode : uint8_t { kShared, kExclusive };

// What to do when somebody else holds the lock. SKIP LOCKED is kNoWait whose kLockBusy the
// caller answers by passing over the row.
enum class LockWait : uint8_t { kWait, kNoWait };

struct LockOptions {
  LockMode mode = LockMode::kExclusive;
  LockWait wait = LockWait::kWait;
  uint32_t timeout_ms = 50'000;  // for kWait; 0 gives up as kNoWait does, but with kLockTimeout
  bool is_row = true;            // false: no row or entry of a table, so a strict read view knows nothing of it
  uint64_t* ends_us = nullptr;   // see Together(); null: each wait has timeout_ms

  // For waits that are one to who waits, as for one holder after the other: the first sets when all of them end, if that is 0.
  LockOptions Together(uint64_t* all_end_us) const {
    LockOptions options = *this;
    if (ends_us == nullptr) options.ends_us = all_end_us;
    return options;
  }

  // When a wait that begins now ends (SteadyTimeUs).
  uint64_t EndOfWait(uint64_t now_us) const {
    const uint64_t own_end_us = now_us + uint64_t{timeout_ms} * 1000;
    if (ends_us == nullptr) return own_end_us;
    if (*ends_us == 0) *ends_us = own_end_us;
    return *ends_us;
  }
};

struct LockRequest;  // a lock held or waited for; internal to the implementation

struct LockResult {
  LockRequest* handle = nullptr;  // for Unlock; valid until that or ReleaseAll
  bool newly_acquired = false;    // in this mode; false: the owner held it already, in this or a stronger mode
  bool waited = false;            // others may have committed in between
  uint32_t count = 0;             // so often has the owner locked it now, and not unlocked it
};

class LockOwner;

// Told about waits. All its methods may be called from many threads at once.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;

  // Whether a wait that begins is to be told by OnWait: those whom a waiter waits for may be many, and their ends are held up until it
  // has been told of them. On the waiter's thread, with internal mutexes held: must not block or call back.
  virtual bool WantsBlockers(LockOwner& /*waiter*/) { return true; }
  // `waiter` is about to wait for `blocker` (called once for each), or waits already and has been overtaken
  // by it. On the waiter's thread. No internal mutex is held, so it may call Interrupt() of either; both
  // are alive until it returns.
  virtual void OnWait(LockOwner& waiter, LockOwner& blocker) = 0;
  // Around the sleep itself, on the waiter's thread, without internal mutexes.
  virtual void OnSleep(LockOwner& /*waiter*/) {}
  virtual void OnWake(LockOwner& /*waiter*/) {}
  // Whether the waiter's statement has been killed: asked before it sleeps, so that a kill that came between two statements is not
  // slept through, and of a deadlock's victim, which is to hear of the kill alone. On the waiter's thread, without internal mutexes.
  virtual bool IsKilled(LockOwner& /*waiter*/) { return false; }
  // Which of two transactions of a deadlock should rather be the victim: negative `a`, positive
  // `b`, 0 no preference. Called with internal mutexes held: must not block or call back.
  virtual int VictimPreference(LockOwner& /*a*/, LockOwner& /*b*/) { return 0; }
};

// One party that holds and waits for locks: a transaction.
//
// Thread rule: its locks are taken and released by one thread at a time. Interrupt() and the
// accessors marked so may be called from any thread while the object lives.
class LockOwner {
 public:
  LockOwner() = default;
  LockOwner(const LockOwner&) = delete;
  LockOwner& operator=(const LockOwner&) = delete;
  // Waits until no observer is looking at it. Precondition: holds no locks.
  virtual ~LockOwner();

  // The server's object for the connection; opaque here. Null: there is none. May be read by the owner's
  // thread, by an observer that is being told about the owner, and by WaitObserver::VictimPreference.
  void* user_data() const { return user_data_; }
  // Own thread, not while it waits. Returns when no observer looks at the old object any more: it may then go
  // away.
  void SetUserData(void* user_data);

  // Any thread. The connection's number, for people to read; 0: there is none (any more).
  uint64_t connection_id() const { return connection_id_.load(std::memory_order_relaxed); }
  void SetConnectionId(uint64_t id) { connection_id_.store(id, std::memory_order_relaxed); }

  // Any thread. Not 0 while a transaction is active.
  uint64_t id() const { return id_.load(std::memory_order_acquire); }
  // Any thread. Locks held now.
  uint64_t lock_count() const { return lock_count_.load(std::memory_order_relaxed); }
  // Any thread. Changes made so far; with the locks, its weight when a deadlock looks for a victim.
  uint64_t write_count() const { return write_count_.load(std::memory_order_relaxed); }
  // Any thread.
  bool is_waiting() const { return waiting_.load(std::memory_order_relaxed); }
  // Own thread. How often it has waited for a lock so far.
  uint64_t wait_count() const { return wait_count_; }

  // Any thread. Ends a wait for a lock with kInterrupted, now or, when none is under way, the
  // next one, until ClearInterrupt().
  void Interrupt();
  void ClearInterrupt() { interrupted_.store(false); }
  bool is_interrupted() const { return interrupted_.load(); }
  // Own thread: for who does long work and asks now and then.
  const std::atomic<bool>& interrupt_flag() const { return interrupted_; }

 protected:
  // Any thread. While it is pinned the object stays; whoever pins knows by other means that it is there. Its user data may
  // change meanwhile: looks may follow each other without end, and do not need it.
  void PinForLook();
  void UnpinAfterLook();
  // Own thread, once nobody can come to pin it.
  void AwaitUnpinned();
  // Own thread, once its locks are released: waits until no observer is told of it as a blocker any more, so that the server's object
  // still is what it was then.
  void AwaitObservers();

  std::atomic<uint64_t> id_{0};
  std::atomic<uint64_t> write_count_{0};

 private:
  friend class PointLocks;

  // The same for who looks at its user data.
  void Pin();
  void Unpin();

  enum class Wake : uint8_t { kNone, kGranted, kVictim };

  // Own thread only, except through `held_` itself which only its thread touches.
  LockRequest* held_ = nullptr;
  uint64_t wait_count_ = 0;
  std::atomic<uint64_t> lock_count_{0};
  std::atomic<bool> waiting_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<uint64_t> connection_id_{0};

  // Guarded by the lock table's wait mutex.
  LockRequest* waiting_for_ = nullptr;
  uint64_t wait_number_ = 0;  // of its last wait, in the order in which all began
  // A lock that it holds has waiters, or had some. ReleaseAll() takes it back, as nobody finds the owner any more who could set it.
  bool is_waited_for_ = false;
  uint64_t visit_epoch_ = 0;
  LockOwner* visited_from_ = nullptr;

  // Guarded by sleep_mutex_.
  std::mutex sleep_mutex_;
  std::condition_variable sleep_;     // of its own thread, while it waits for a lock
  std::condition_variable unpinned_;  // its own: a look must not wake who waits for a lock
  Wake wake_ = Wake::kNone;
  std::atomic<uint32_t> pins_{0};  // observers looking at it, waiters that have yet to tell one
  uint32_t look_pins_ = 0;         // lookers into its batch
  void* user_data_ = nullptr;      // changed only while nobody has it pinned
  std::vector<LockOwner*> overtakers_;  // pinned; it waits for them and has not told the observer
};

// One lock held or waited for, for people to read.
struct LockRow {
  uint64_t owner_id = 0;
  std::string key;
  LockMode mode = LockMode::kShared;
  bool waiting = false;
};

// One who waits.
struct WaitRow {
  uint64_t waiter_id = 0;
  uint64_t waiter_connection_id = 0;
  uint64_t blocker_id = 0;  // the first of those it waits for; who holds the lock comes before who waits for it
  uint64_t blocker_connection_id = 0;
  uint64_t blocker_count = 0;  // at least 1
  std::string key;
  LockMode mode = LockMode::kShared;  // wanted
  uint64_t waited_us = 0;
};

// One deadlock that was found and broken.
struct DeadlockRow {
  struct Member {
    uint64_t owner_id = 0;
    uint64_t connection_id = 0;
    std::string key;  // it waited for; the next member blocked it
    LockMode mode = LockMode::kShared;
  };
  uint64_t unix_time_us = 0;
  uint64_t victim_id = 0;
  std::vector<Member> cycle;
};

// A lock table over keys of the data family (index id first). Point locks today; the interface
// is where range locks will come in.
//
// Thread rule: all methods are safe from any thread, but for one owner Lock, Unlock and
// ReleaseAll are called by one thread at a time.
class RowLocks {
 public:
  virtual ~RowLocks() = default;

  // Acquires `key` for `owner`, which may hold it already (re-entrant, counted) and may hold it
  // in the weaker mode (an upgrade, served before others that wait).
  // Waiters are served first come first served; a shared request behind a waiting exclusive one
  // waits too. Errors: kLockBusy (kNoWait), kLockTimeout, kDeadlock (this owner is the victim: roll
  // the transaction back), kInterrupted. On error nothing new is held and `*result` is unchanged.
  // `result` may be null.
  virtual Status Lock(LockOwner& owner, ByteView key, const LockOptions& options, LockResult* result) = 0;

  // Takes back one Lock() of this handle; the lock is released when all were taken back. For rows
  // that a READ COMMITTED statement locked and then found not to match. A mode that was
  // strengthened meanwhile stays strong.
  virtual void Unlock(LockOwner& owner, LockRequest* handle) = 0;

  // Makes an exclusive lock shared, for who has found that the row need only stay as it is. Precondition: it has become exclusive by the
  // owner's last Lock() of the key, so that nothing was changed under it.
  virtual void Weaken(LockOwner& owner, LockRequest* handle) = 0;

  // Releases those of the owner's locks of whose keys `given_up` says so, however often they were locked. Their handles are not valid any more.
  virtual void ReleaseSome(LockOwner& owner, const std::function<bool(ByteView key)>& given_up) = 0;

  // Releases everything the owner holds, in time proportional to that.
  virtual void ReleaseAll(LockOwner& owner) = 0;

  // Whether the owner holds the key in this mode or a stronger one.
  virtual bool Holds(LockOwner& owner, ByteView key, LockMode mode) const = 0;

  // For people and tests.
  virtual uint64_t memory_bytes() const = 0;
  virtual uint64_t lock_count() const = 0;
  virtual uint64_t waiting_count() const = 0;
  virtual uint64_t deadlock_count() const = 0;
  virtual std::vector<LockRow> ListLocks(size_t count_max) const = 0;
  virtual std::vector<WaitRow> ListWaits(size_t count_max) const = 0;
  virtual std::vector<DeadlockRow> ListDeadlocks() const = 0;
};

}  // namespace cairn::txn

// SPDX-License-Identifier: GPL-2.0-only
// Waiting for a point lock, granting it, and finding deadlocks.
#include "txn/point_locks_wait.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <unordered_map>

namespace cairn::txn {
namespace {

uint64_t UnixTimeUs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

uint64_t Weight(const LockOwner& owner) { return owner.lock_count() + owner.write_count(); }

// Without a blocker: only a victim that has not woken yet is in its way.
WaitRow RowOf(const LockRequest& waiter, uint64_t now_us) {
  WaitRow row;
  row.waiter_id = waiter.owner->id();
  row.waiter_connection_id = waiter.owner->connection_id();
  row.key = waiter.entry->key();
  row.mode = waiter.mode;
  row.waited_us = now_us - waiter.since_us;
  ForEachBlocker(waiter, [&row](const LockOwner& blocker) {
    if (row.blocker_count++ != 0) return true;
    row.blocker_id = blocker.id();
    row.blocker_connection_id = blocker.connection_id();
    return true;
  });
  return row;
}

}  // namespace

bool IsCompatible(const LockEntry& entry, const LockOwner& owner, LockMode mode) {
  for (const LockRequest* other = entry.holders; other != nullptr; other = other->next) {
    if (other->owner == &owner) continue;
    if (mode == LockMode::kExclusive || other->mode == LockMode::kExclusive) return false;
  }
  return true;
}

Status PointLocks::Wait::Run(std::unique_lock<std::mutex>& shard_lock, LockEntry* entry, LockResult* result) {
  if (owner_.is_interrupted()) return Status::Of(Status::Code::kInterrupted);
  std::unique_lock graph_lock(locks_.wait_mutex_);
  Enqueue(entry);
  const bool is_victim = BreakDeadlocks();
  if (is_victim) {
    locks_.EndWait(owner_, /*victim=*/true);
    locks_.RemoveWaiter(shard_, request_);
  } else {
    PinBlockers();
    if (mine_ != nullptr) locks_.TellOvertaken(request_->next, owner_);
  }
  graph_lock.unlock();
  shard_lock.unlock();
  if (is_victim) return AsVictim();
  TellObserverOf(pinned_);
  Status status = Leave(Sleep(), result);
  ForgetOvertakers();
  return status;
}

void PointLocks::Wait::Enqueue(LockEntry* entry) {
  request_ = shard_.NewRequest(entry);
  request_->owner = &owner_;
  request_->mode = options_.mode;
  request_->upgrades = mine_;
  request_->since_us = locks_.options_.now_us();
  WaitObserver* observer = locks_.options_.observer;
  request_->wants_blockers = observer != nullptr && observer->WantsBlockers(owner_);
  ++owner_.wait_count_;
  owner_.wait_number_ = ++locks_.last_wait_number_;
  end_us_ = options_.EndOfWait(request_->since_us);
  // Who comes to hold the lock while others wait for it is told in GrantWaiters(). An upgrade tells itself as well: it may be given up,
  // and those who came behind it wait for its weaker lock.
  if (entry->waiters == nullptr) {
    for (LockRequest* held = entry->holders; held != nullptr; held = held->next) held->owner->is_waited_for_ = true;
  }
  // Upgrades go before all others: nobody else can be served before they are.
  LockRequest** link = &entry->waiters;
  while (*link != nullptr && (mine_ == nullptr || (*link)->upgrades != nullptr)) link = &(*link)->next;
  request_->next = *link;
  *link = request_;
  owner_.waiting_for_ = request_;
  owner_.waiting_.store(true, std::memory_order_relaxed);
  locks_.waiting_count_.fetch_add(1);
  std::lock_guard lock(owner_.sleep_mutex_);
  owner_.wake_ = LockOwner::Wake::kNone;
}

// True when this owner is a victim. Other victims end their own waits when they wake; their
// edges are gone from the graph at once. A cycle comes back to this owner, for whom nobody waits but those who want what it holds:
// at the end of a queue nobody is behind it, and an upgrade holds what it wants.
bool PointLocks::Wait::BreakDeadlocks() {
  if (!owner_.is_waited_for_) return false;
  while (LockOwner* victim = locks_.FindVictim(owner_)) {
    if (victim == &owner_) return true;
    locks_.EndWait(*victim, /*victim=*/true);
  }
  return false;
}

void PointLocks::Wait::PinBlockers() {
  if (!request_->wants_blockers) return;
  ForEachBlocker(*request_, [this](LockOwner& blocker) {
    blocker.Pin();
    pinned_.push_back(&blocker);
    return true;
  });
}

void PointLocks::Wait::TellObserverOf(const std::vector<LockOwner*>& blockers) {
  for (LockOwner* blocker : blockers) {
    locks_.options_.observer->OnWait(owner_, *blocker);
    blocker->Unpin();
  }
}

// What is left was not waited for after all.
void PointLocks::Wait::ForgetOvertakers() {
  std::vector<LockOwner*> left;
  {
    std::lock_guard lock(owner_.sleep_mutex_);
    left.swap(owner_.overtakers_);
  }
  for (LockOwner* overtaker : left) overtaker->Unpin();
}

// Until it is woken for good or the time is over. In between it tells the observer who has overtaken it:
// that is the waiter's own thread's part.
void PointLocks::Wait::SleepUntilEnd(std::unique_lock<std::mutex>& sleep_lock) {
  const uint64_t now_us = locks_.options_.now_us();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(end_us_ > now_us ? end_us_ - now_us : 0);
  const auto has_ended = [this] { return owner_.wake_ != LockOwner::Wake::kNone || owner_.interrupted_.load(); };
  for (;;) {
    owner_.sleep_.wait_until(sleep_lock, deadline, [&] { return has_ended() || !owner_.overtakers_.empty(); });
    if (has_ended() || owner_.overtakers_.empty()) return;
    std::vector<LockOwner*> overtakers;
    overtakers.swap(owner_.overtakers_);
    sleep_lock.unlock();
    TellObserverOf(overtakers);
    sleep_lock.lock();
  }
}

bool PointLocks::Wait::IsKilled() const {
  WaitObserver* observer = locks_.options_.observer;
  return owner_.is_interrupted() || (observer != nullptr && observer->IsKilled(owner_));
}

// Whom somebody has killed as well is undone no further than the kill asks: the cycle is broken by the end of its wait, and a transaction
// that ends while its client hears of a killed statement alone would be taken for one that goes on.
Status PointLocks::Wait::AsVictim() const {
  return Status::Of(IsKilled() ? Status::Code::kInterrupted : Status::Code::kDeadlock);
}

PointLocks::Wait::End PointLocks::Wait::Sleep() {
  if (IsKilled()) return End::kInterrupted;
  WaitObserver* observer = locks_.options_.observer;
  if (observer != nullptr) observer->OnSleep(owner_);
  End end = End::kTimeout;
  {
    std::unique_lock lock(owner_.sleep_mutex_);
    SleepUntilEnd(lock);
    if (owner_.wake_ == LockOwner::Wake::kGranted) {
      end = End::kGranted;
    } else if (owner_.wake_ == LockOwner::Wake::kVictim) {
      end = End::kVictim;
    } else if (owner_.interrupted_.load()) {
      end = End::kInterrupted;
    }
  }
  if (observer != nullptr) observer->OnWake(owner_);
  return end;
}

Status PointLocks::Wait::Leave(End end, LockResult* result) {
  if (end == End::kGranted) return Granted(result);
  {
    std::lock_guard shard_lock(shard_.mutex);
    std::lock_guard graph_lock(locks_.wait_mutex_);
    // It may have been granted, or made a victim, since the sleep ended.
    const bool granted = owner_.waiting_for_ == nullptr && owner_.wake_ == LockOwner::Wake::kGranted;
    if (granted) return Granted(result);
    if (owner_.waiting_for_ != nullptr) {
      locks_.EndWait(owner_, /*victim=*/false);
    } else {
      end = End::kVictim;
    }
    locks_.RemoveWaiter(shard_, request_);
  }
  switch (end) {
    case End::kVictim:
      return AsVictim();
    case End::kInterrupted:
      return Status::Of(Status::Code::kInterrupted);
    default:
      return Status::Of(Status::Code::kLockTimeout);
  }
}

Status PointLocks::Wait::Granted(LockResult* result) {
  result->waited = true;
  result->newly_acquired = true;
  result->handle = mine_ != nullptr ? mine_ : request_;
  if (mine_ == nullptr) LinkHeld(owner_, request_);
  return Status::Ok();
}

// Takes the owner out of the waits-for graph and wakes it.
void PointLocks::EndWait(LockOwner& owner, bool victim) {
  owner.waiting_for_ = nullptr;
  owner.waiting_.store(false, std::memory_order_relaxed);
  waiting_count_.fetch_sub(1);
  std::lock_guard lock(owner.sleep_mutex_);
  owner.wake_ = victim ? LockOwner::Wake::kVictim : LockOwner::Wake::kGranted;
  owner.sleep_.notify_all();
}

void PointLocks::RemoveWaiter(LockShard& shard, LockRequest* request) {
  LockEntry* entry = request->entry;
  LockRequest** link = &entry->waiters;
  while (*link != request) link = &(*link)->next;
  *link = request->next;
  shard.DeleteRequest(request);
  GrantWaiters(shard, entry);
  if (entry->holders == nullptr && entry->waiters == nullptr) shard.Erase(entry);
}

void PointLocks::GrantWaiters(LockShard& shard, LockEntry* entry) {
  while (LockRequest* waiter = entry->waiters) {
    LockOwner& owner = *waiter->owner;
    if (!IsCompatible(*entry, owner, waiter->mode)) return;
    // A victim that has not woken yet takes itself out and then lets the next ones in.
    if (owner.waiting_for_ != waiter) return;
    entry->waiters = waiter->next;
    if (entry->waiters != nullptr) owner.is_waited_for_ = true;
    if (waiter->upgrades != nullptr) {
      waiter->upgrades->mode = LockMode::kExclusive;
      if (waiter->upgrades->count != kLockCountMax) ++waiter->upgrades->count;
      shard.DeleteRequest(waiter);
    } else {
      waiter->granted = true;
      waiter->next = entry->holders;
      entry->holders = waiter;
    }
    EndWait(owner, /*victim=*/false);
  }
}

// Those who want the lock shared did not wait for it before; the others did, and have told.
void PointLocks::TellOvertaken(LockRequest* first, LockOwner& by) {
  for (LockRequest* waiter = first; waiter != nullptr; waiter = waiter->next) {
    LockOwner& owner = *waiter->owner;
    if (!waiter->wants_blockers || waiter->mode != LockMode::kShared || &owner == &by) continue;
    by.Pin();
    std::lock_guard lock(owner.sleep_mutex_);
    owner.overtakers_.push_back(&by);
    owner.sleep_.notify_all();
  }
}

// Who waits in a queue waits for all that those before it in the same mode wait for. So it goes on from the hindmost of them that the search has
// come to (`known_of`), and a queue is gone through once for each mode, not once for each who waits in it. Upgrades stand apart, but no
// two of them wait for one lock: they would be a deadlock. Who is interrupted is about to give its wait up.
LockOwner* PointLocks::FindVictim(LockOwner& start) {
  const uint64_t epoch = ++visit_epoch_;
  start.visit_epoch_ = epoch;
  start.visited_from_ = nullptr;
  std::vector<LockOwner*> open = {&start};
  std::unordered_map<const LockEntry*, std::array<const LockRequest*, 2>> known_of;
  uint64_t searched_count = 0;
  LockOwner* last = nullptr;
  while (!open.empty() && last == nullptr) {
    LockOwner* owner = open.back();
    open.pop_back();
    const LockRequest& wait = *owner->waiting_for_;
    const LockRequest* none = nullptr;
    const LockRequest*& known = wait.upgrades != nullptr ? none : known_of[wait.entry][static_cast<size_t>(wait.mode)];
    if (known != nullptr && owner->wait_number_ < known->owner->wait_number_) continue;
    const auto visit = [&](LockOwner& blocker) {
      ++searched_count;
      if (&blocker == &start) {
        last = owner;
        return false;
      }
      if (blocker.visit_epoch_ != epoch && blocker.waiting_for_ != nullptr && !blocker.is_interrupted()) {
        blocker.visit_epoch_ = epoch;
        blocker.visited_from_ = owner;
        open.push_back(&blocker);
      }
      return true;
    };
    ForEachBlocker(wait, visit, known);
    known = &wait;
  }
  searched_count_.fetch_add(searched_count, std::memory_order_relaxed);
  if (last == nullptr) return nullptr;
  std::vector<LockOwner*> cycle;
  for (LockOwner* owner = last; owner != nullptr; owner = owner->visited_from_) cycle.push_back(owner);
  std::reverse(cycle.begin(), cycle.end());
  return ChooseVictim(cycle);
}

// `cycle` begins with the owner that closed it.
LockOwner* PointLocks::ChooseVictim(const std::vector<LockOwner*>& cycle) {
  LockOwner* victim = cycle.front();
  for (LockOwner* owner : cycle) {
    const int preference = options_.observer == nullptr || owner == victim
                               ? 0
                               : options_.observer->VictimPreference(*owner, *victim);
    if (preference < 0 || (preference == 0 && Weight(*owner) < Weight(*victim))) victim = owner;
  }
  DeadlockRow row;
  row.unix_time_us = UnixTimeUs();
  row.victim_id = victim->id();
  for (const LockOwner* owner : cycle) {
    const LockRequest& request = *owner->waiting_for_;
    row.cycle.push_back({owner->id(), owner->connection_id(), std::string(request.entry->key()), request.mode});
  }
  deadlocks_.push_back(std::move(row));
  if (deadlocks_.size() > options_.deadlock_history_count_max) deadlocks_.pop_front();
  deadlock_count_.fetch_add(1);
  return victim;
}

std::vector<WaitRow> PointLocks::ListWaits(size_t count_max) const {
  std::vector<WaitRow> rows;
  for (size_t i = 0; i <= shard_mask_; ++i) {
    const LockShard& shard = shards_[i].shard;
    std::lock_guard lock(shard.mutex);
    const uint64_t now_us = options_.now_us();
    for (size_t bucket = 0; bucket < shard.bucket_count(); ++bucket) {
      for (const LockEntry* entry = shard.bucket(bucket); entry != nullptr; entry = entry->next) {
        for (const LockRequest* waiter = entry->waiters; waiter != nullptr; waiter = waiter->next) {
          if (rows.size() == count_max) return rows;
          WaitRow row = RowOf(*waiter, now_us);
          if (row.blocker_count != 0) rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

std::vector<DeadlockRow> PointLocks::ListDeadlocks() const {
  std::lock_guard lock(wait_mutex_);
  return {deadlocks_.begin(), deadlocks_.end()};
}

}  // namespace cairn::txn

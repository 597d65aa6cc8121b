// SPDX-License-Identifier: GPL-2.0-only
// For tests: transactions over a store in memory, with keys that read well.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/endian.h"
#include "store/store_testing.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {

// The key of `name` in index `index`.
inline std::string K(std::string_view name, uint32_t index = 1) {
  std::string key(4, '\0');
  StoreBe32(key.data(), index);
  return key.append(name);
}

// An exclusive lock, now or not at all.
inline constexpr LockOptions kNoWait{.mode = LockMode::kExclusive, .wait = LockWait::kNoWait};

// For PointLocks::Options::now_us: time passes when a test says so, too.
class TestClock {
 public:
  static uint64_t NowUs() { return SteadyTimeUs() + passed_us_.load(); }
  static void PassHour() { passed_us_.fetch_add(uint64_t{3600} * 1'000'000); }

 private:
  static inline std::atomic<uint64_t> passed_us_{0};
};

// Each wait takes an hour, once it is over: none ends by that.
class HourObserver final : public WaitObserver {
 public:
  void OnWait(LockOwner&, LockOwner&) override {}
  void OnWake(LockOwner&) override { TestClock::PassHour(); }
};

class TxnFixture : public store::StoreFixture {
 public:
  void OpenAll() {
    Open();
    TransactionHooks hooks;
    hooks.counter_key = [](TableId table, ByteBuffer* key) {
      key->Append(ByteView("counters"));
      key->AppendBe64(table.value);
    };
    hooks.on_commit = [this](TableId table, const store::TableCounters& change, uint64_t changed_rows) {
      std::lock_guard lock(live_mutex);
      live[table].Add(change);
      live_changed_rows[table] += changed_rows;
    };
    manager = std::make_unique<TransactionManager>(*store, lock_options, hooks);
  }
  // Precondition: there are no transactions. The observer must outlive those that come.
  void ObserveWaits(WaitObserver* observer) {
    lock_options.observer = observer;
    manager = std::make_unique<TransactionManager>(*store, lock_options, TransactionHooks{});
  }
  void CrashAll() {
    manager.reset();
    Crash();
  }

  // `call` waits for one after the other of those whom `end_first` and `end_second` end. The first wait takes all of the time, so the
  // second one gets none. Precondition: lock_options.now_us is TestClock's.
  void ExpectOneTime(const std::function<Status()>& call, Transaction& waiter, const std::function<void()>& end_first) {
    auto called = std::async(std::launch::async, call);
    while (manager->locks().waiting_count() == 0) std::this_thread::yield();
    TestClock::PassHour();
    end_first();
    // Who begins anew waits for as long as a minute.
    const bool ended = called.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    EXPECT_TRUE(ended);
    if (!ended) waiter.Interrupt();
    const Status status = called.get();
    EXPECT_TRUE(status.Is(Status::Code::kLockTimeout)) << status.ToString();
  }

  std::unique_ptr<Transaction> Begin(Isolation isolation = Isolation::kRepeatableRead) {
    auto transaction = manager->NewTransaction();
    transaction->Begin(isolation);
    return transaction;
  }

  // One statement that locks and puts.
  static Status Write(Transaction& transaction, std::string_view name, std::string_view value,
                      const LockOptions& options = kNoWait) {
    transaction.StartStatement();
    CAIRN_RETURN_IF_ERROR(transaction.Lock(K(name), options, nullptr));
    CAIRN_RETURN_IF_ERROR(transaction.Put(store::Family::kData, K(name), value));
    transaction.EndStatement();
    return Status::Ok();
  }

  static std::string Read(Transaction& transaction, std::string_view name, View view = View::kConsistent) {
    transaction.StartStatement();
    store::PinnedValue value;
    const Status status = transaction.Get(store::Family::kData, K(name), view, &value);
    transaction.EndStatement();
    if (status.Is(Status::Code::kNotFound)) return "-";
    return status.ok() ? std::string(value.view()) : status.ToString();
  }

  // "a=1 b=2" of one index.
  static std::string Scan(Transaction& transaction, View view = View::kConsistent, uint32_t index = 1) {
    transaction.StartStatement();
    store::Cursor cursor;
    const std::string lower = K("", index);
    const std::string upper = K("", index + 1);
    const Status status =
        transaction.OpenCursor({.lower_bound = lower, .upper_bound = upper}, view, &cursor);
    std::string text = status.ok() ? "" : status.ToString();
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      if (!text.empty()) text += ' ';
      text.append(cursor.key().substr(4)).append("=").append(cursor.value());
    }
    if (!cursor.status().ok()) text += cursor.status().ToString();
    cursor.Close();
    transaction.EndStatement();
    return text;
  }

  // What one transaction of its own puts and commits.
  void Commit(std::string_view name, std::string_view value) {
    auto transaction = Begin();
    ASSERT_TRUE(Write(*transaction, name, value).ok());
    ASSERT_TRUE(transaction->Commit(store::Durability::kSync).ok());
  }

  store::TableCounters Counters(TableId table) {
    ByteBuffer key;
    key.Append(ByteView("counters"));
    key.AppendBe64(table.value);
    store::TableCounters counters;
    const std::string bytes = Get(key.view(), nullptr, store::Family::kDictionary);
    if (bytes == "-") return counters;
    EXPECT_TRUE(store::DecodeTableCounters(bytes, &counters).ok());
    return counters;
  }

  PointLocks::Options lock_options;  // of the manager that OpenAll() makes
  std::mutex live_mutex;
  std::map<TableId, store::TableCounters> live;   // guarded by live_mutex while transactions commit
  std::map<TableId, uint64_t> live_changed_rows;  // the same
  std::unique_ptr<TransactionManager> manager;
};

}  // namespace cairn::txn

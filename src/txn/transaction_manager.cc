// SPDX-License-Identifier: GPL-2.0-only
// Makes transactions, lists them, and keeps those that are prepared for who ends them by name.
#include "txn/transaction_manager.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/clock.h"
#include "base/endian.h"

namespace cairn::txn {
TransactionManager::TransactionManager(store::Store& store, const PointLocks::Options& lock_options,
                                       TransactionHooks hooks)
    : store_(store), locks_(lock_options), hooks_(std::move(hooks)) {}

TransactionManager::~TransactionManager() {
  // Destroyed after the mutex was let go: their destructors look at the list.
  std::map<std::string, std::unique_ptr<Transaction>> prepared;
  std::vector<std::unique_ptr<Transaction>> to_roll_back;
  std::lock_guard lock(mutex_);
  prepared.swap(prepared_);
  to_roll_back.swap(to_roll_back_);
}

std::unique_ptr<Transaction> TransactionManager::NewTransaction(void* user_data, uint64_t connection_id) {
  std::unique_ptr<Transaction> transaction(new Transaction(*this));
  transaction->SetUserData(user_data);
  transaction->SetConnectionId(connection_id);
  std::lock_guard lock(mutex_);
  transaction->next_ = transactions_;
  if (transactions_ != nullptr) transactions_->previous_ = transaction.get();
  transactions_ = transaction.get();
  return transaction;
}

void TransactionManager::Unregister(Transaction& transaction) {
  std::lock_guard lock(mutex_);
  if (transaction.next_ != nullptr) transaction.next_->previous_ = transaction.previous_;
  if (transaction.previous_ != nullptr) {
    transaction.previous_->next_ = transaction.next_;
  } else {
    transactions_ = transaction.next_;
  }
}

Status TransactionManager::RecoverPrepared() {
  for (auto& writes : store_.TakeRecovered()) {
    std::unique_ptr<Transaction> transaction = NewTransaction();
    transaction->Begin(Isolation::kRepeatableRead);
    transaction->name_ = writes->name();
    transaction->writes_ = std::move(writes);
    transaction->writes_open_ = true;
    transaction->prepared_ = true;
    transaction->listed_prepared_.store(true, std::memory_order_relaxed);
    CAIRN_RETURN_IF_ERROR(LockRecovered(*transaction));
    CAIRN_RETURN_IF_ERROR(transaction->ClaimRecovered());
    CAIRN_RETURN_IF_ERROR(CountRecovered(*transaction));
    found_prepared_.insert(found_prepared_.end(), transaction->written_.begin(), transaction->written_.end());
    Detach(std::move(transaction));
  }
  std::ranges::sort(found_prepared_);
  return Status::Ok();
}

Status TransactionManager::LockRecovered(Transaction& transaction) {
  Status result;
  const auto lock = [&](ByteView key) {
    if (!result.ok()) return;
    const LockOptions options{.mode = LockMode::kExclusive, .wait = LockWait::kNoWait};
    if (!locks_.Lock(transaction, key, options, nullptr).ok()) {
      result = Status::Corruption("two prepared transactions changed the same row; one is " + transaction.name_);
    }
  };
  CAIRN_RETURN_IF_ERROR(transaction.writes_->ForEachKey([&](store::Family family, ByteView key) {
    if (family != store::Family::kData) return;
    transaction.NoteWritten(IndexId(LoadBe32(key.data())));
    if (hooks_.recovered_lock_keys) {
      hooks_.recovered_lock_keys(key, lock);
    } else {
      lock(key);
    }
  }));
  // All rows of a load are claimed; a lock on the last one is not in the way.
  if (const store::PendingLoad* load = transaction.writes_->load(); load != nullptr && hooks_.recovered_lock_keys) {
    hooks_.recovered_lock_keys(load->record().last_row_key, lock);
  }
  return result;
}

// Its counters are in its batch already; on_commit must hear of them all the same.
Status TransactionManager::CountRecovered(Transaction& transaction) {
  transaction.counters_merged_ = true;
  if (!hooks_.recovered_counters) return Status::Ok();
  return transaction.writes_->ForEachCounters([&](ByteView key, const store::TableCounters& change) {
    TableId table;
    if (hooks_.recovered_counters(key, change, &table)) transaction.ChangeOf(table).Add(change);
  });
}

void TransactionManager::TellLongChangeEnded() {
  if (long_change_waiters_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard lock(mutex_);
  long_change_ended_.notify_all();
}

void TransactionManager::Detach(std::unique_ptr<Transaction> transaction) {
  const std::string name = transaction->name_;
  transaction->SetUserData(nullptr);
  transaction->SetConnectionId(0);
  transaction->DropReadView();  // nobody reads through it any more
  std::lock_guard lock(mutex_);
  // Of namesakes only one can have changed something, by the store's own list. The other one is destroyed outside the mutex.
  std::unique_ptr<Transaction>& listed = prepared_[name];
  if (listed == nullptr || !listed->HasWrites()) listed.swap(transaction);
}

bool TransactionManager::IsPrepared(const std::string& name) const {
  std::lock_guard lock(mutex_);
  return prepared_.contains(name);
}

void TransactionManager::VisitPrepared(const std::function<void(const std::string& name)>& visit) const {
  std::lock_guard lock(mutex_);
  for (const auto& [name, transaction] : prepared_) visit(name);
}

std::vector<std::string> TransactionManager::ListPrepared() const {
  std::vector<std::string> names;
  VisitPrepared([&](const std::string& name) { names.push_back(name); });
  return names;
}

std::unique_ptr<Transaction> TransactionManager::TakePrepared(ByteView name, Ending* ending) {
  std::lock_guard lock(mutex_);
  auto node = prepared_.extract(std::string(name));
  if (node.empty()) return nullptr;
  *ending = ending_.insert(ending_.end(), node.mapped()->written_);
  return std::move(node.mapped());
}

void TransactionManager::EndEnding(Ending ending) {
  std::lock_guard lock(mutex_);
  ending_.erase(ending);
}

Status TransactionManager::CommitPrepared(ByteView name, store::Durability durability) {
  Ending ending;
  std::unique_ptr<Transaction> transaction = TakePrepared(name, &ending);
  if (transaction == nullptr) return Status::NotFound();
  Status status = transaction->Commit(durability);
  if (!status.ok() && transaction->is_active()) Detach(std::move(transaction));
  EndEnding(ending);
  return status;
}

Status TransactionManager::RollbackPrepared(ByteView name) {
  Ending ending;
  std::unique_ptr<Transaction> transaction = TakePrepared(name, &ending);
  if (transaction == nullptr) return Status::NotFound();
  Status status = transaction->Rollback();
  if (!status.ok()) Detach(std::move(transaction));
  EndEnding(ending);
  return status;
}

void TransactionManager::RollBackLater(ByteView name) {
  std::lock_guard lock(mutex_);
  auto node = prepared_.extract(std::string(name));
  if (!node.empty()) to_roll_back_.push_back(std::move(node.mapped()));
}

void TransactionManager::RetryRollbacks() {
  std::vector<std::unique_ptr<Transaction>> transactions;
  std::vector<Ending> endings;
  {
    std::lock_guard lock(mutex_);
    transactions.swap(to_roll_back_);
    for (const auto& transaction : transactions) endings.push_back(ending_.insert(ending_.end(), transaction->written_));
  }
  std::erase_if(transactions, [](const auto& transaction) { return transaction->Rollback().ok(); });
  std::lock_guard lock(mutex_);
  for (const Ending ending : endings) ending_.erase(ending);
  std::ranges::move(transactions, std::back_inserter(to_roll_back_));
}

std::vector<TransactionRow> TransactionManager::List() const {
  std::vector<TransactionRow> rows;
  const uint64_t now = SteadyTimeUs();
  std::lock_guard lock(mutex_);
  for (const Transaction* one = transactions_; one != nullptr; one = one->next_) {
    if (one->id() == 0) continue;
    const uint64_t begun = one->begun_us_.load(std::memory_order_relaxed);
    const uint64_t viewed = one->view_taken_us_.load(std::memory_order_relaxed);
    TransactionRow& row = rows.emplace_back();
    row.id = one->id();
    row.connection_id = one->connection_id();
    row.isolation = one->isolation();
    row.age_us = now > begun ? now - begun : 0;
    row.view_age_us = viewed != 0 ? std::max<uint64_t>(now > viewed ? now - viewed : 0, 1) : 0;
    row.lock_count = one->lock_count();
    row.write_count = one->write_count();
    row.write_bytes = one->listed_bytes_.load(std::memory_order_relaxed);
    row.waiting = one->is_waiting();
    row.prepared = one->listed_prepared_.load(std::memory_order_relaxed);
  }
  std::ranges::sort(rows, {}, &TransactionRow::id);
  for (const auto& [name, transaction] : prepared_) {
    const auto row = std::ranges::lower_bound(rows, transaction->id(), {}, &TransactionRow::id);
    if (row == rows.end() || row->id != transaction->id()) continue;
    row->name = name;
    if (transaction->HasWrites()) row->prepare_log_number = transaction->writes_->prepare_log_number();
  }
  return rows;
}

// Not prepared_ alone: a connection that goes away gives up its metadata locks before its transaction.
// False: somebody is at something long.
bool TransactionManager::LookForPreparedWriter(IndexId index, bool* found) {
  const auto ends = [index](const auto& written) { return std::binary_search(written.begin(), written.end(), index); };
  *found = std::any_of(ending_.begin(), ending_.end(), ends);
  for (Transaction* one = transactions_; one != nullptr && !*found; one = one->next_) {
    if (!one->listed_prepared_.load(std::memory_order_seq_cst)) continue;
    if ((one->written_bits_.load(std::memory_order_seq_cst) & Transaction::BitOf(index)) == 0) continue;
    if (!one->latch_.TryLook()) return false;
    // One that ends has closed its writes, and its own thread clears the rest; by name it is in ending_.
    *found = one->writes_open_ && one->HasWritten(index);
    one->latch_.EndLook();
  }
  return true;
}

bool TransactionManager::PreparedHaveWritten(IndexId index) {
  bool found;
  std::unique_lock lock(mutex_);
  long_change_waiters_.fetch_add(1, std::memory_order_seq_cst);
  while (!LookForPreparedWriter(index, &found)) long_change_ended_.wait_for(lock, std::chrono::milliseconds(10));
  long_change_waiters_.fetch_sub(1, std::memory_order_seq_cst);
  return found;
}

// What each has changed is only copied while the others wait, as it may be thousands of temporary tables.
void TransactionManager::EraseMaybeWritten(std::vector<IndexId>* indexes) {
  uint64_t bits = 0, unknown_bits = 0;
  for (const IndexId index : *indexes) bits |= Transaction::BitOf(index);
  if (bits == 0) return;
  std::vector<IndexId> written;
  {
    std::lock_guard lock(mutex_);
    for (const std::vector<IndexId>& ends : ending_) written.insert(written.end(), ends.begin(), ends.end());
    for (Transaction* one = transactions_; one != nullptr; one = one->next_) {
      const uint64_t written_bits = one->written_bits_.load(std::memory_order_seq_cst) & bits;
      if (written_bits == 0) continue;
      if (!one->latch_.TryLook()) {
        unknown_bits |= written_bits;
        continue;
      }
      // See LookForPreparedWriter.
      if (one->writes_open_) written.insert(written.end(), one->written_.begin(), one->written_.end());
      one->latch_.EndLook();
    }
  }
  std::ranges::sort(written);
  std::erase_if(*indexes, [&](IndexId index) {
    return (Transaction::BitOf(index) & unknown_bits) != 0 || std::ranges::binary_search(written, index);
  });
}

uint64_t TransactionManager::oldest_transaction_id() const {
  uint64_t oldest = next_transaction_id();
  std::lock_guard lock(mutex_);
  for (const Transaction* one = transactions_; one != nullptr; one = one->next_) {
    if (one->id() != 0) oldest = std::min(oldest, one->id());
  }
  return oldest;
}

uint64_t TransactionManager::oldest_view_age_us() const {
  uint64_t oldest = 0;
  const uint64_t now = SteadyTimeUs();
  std::lock_guard lock(mutex_);
  for (const Transaction* one = transactions_; one != nullptr; one = one->next_) {
    const uint64_t viewed = one->view_taken_us_.load(std::memory_order_relaxed);
    if (viewed != 0) oldest = std::max<uint64_t>(oldest, now > viewed ? now - viewed : 1);
  }
  return oldest;
}

uint64_t TransactionManager::active_count() const {
  uint64_t count = 0;
  std::lock_guard lock(mutex_);
  for (const Transaction* one = transactions_; one != nullptr; one = one->next_) count += one->id() != 0;
  return count;
}

}  // namespace cairn::txn

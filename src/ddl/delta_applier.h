// SPDX-License-Identifier: GPL-2.0-only
// Brings the changes that were noted for an index into it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "catalog/index_build.h"
#include "codec/index_codec.h"
#include "dml/index_delta.h"
#include "store/store.h"
#include "txn/transaction_manager.h"

namespace cairn::ddl {

// One pass over the deltas of one index that is being built. Each delta is locked, applied to the index and
// removed in a transaction of the builder's own, many to a transaction. What an open transaction has
// locked is left for a later pass, and so is what looks like a duplicate: another transaction's change, noted
// since the pass began, may resolve it. The last pass sees everything, so there both are errors.
//
// Thread rule: one thread; the only writer of the index.
class DeltaApplier {
 public:
  // `codec` is the index's. What may interrupt it is IndexBuilder's.
  DeltaApplier(store::Store& store, txn::TransactionManager& transactions, const catalog::IndexBuild& build,
               const codec::IndexCodec& codec, bool last, const std::function<bool()>& interrupted,
               const std::atomic<bool>* interrupt_flag);

  // kDuplicateKey, kLockTimeout (in the last pass a delta is locked), kInterrupted and those of the store.
  Status Run(IndexId primary);

  uint64_t applied_count() const { return applied_count_; }
  // With its index id, after kDuplicateKey.
  const std::string& duplicate_primary_key() const { return duplicate_primary_key_; }

 private:
  // What an entry is to be after a group of deltas.
  struct Outcome {
    bool conflict = false;
    bool present = false;
    std::string value;
  };

  Status ApplyGroup();
  Status LockGroup(bool* all);
  Status Decide(ByteView entry_key, bool was_present, ByteView old_value, Outcome* outcome);
  Status Write(ByteView entry_key, bool was_present, ByteView old_value, const Outcome& outcome);
  Status CommitBatch();

  store::Store& store_;
  const catalog::IndexBuild& build_;
  const codec::IndexCodec& codec_;
  const bool last_;
  const std::function<bool()>& interrupted_;
  const std::atomic<bool>* const interrupt_flag_;
  IndexId primary_;
  const std::unique_ptr<txn::Transaction> transaction_;
  std::vector<std::string> group_;  // keys of deltas of one entry
  uint64_t batch_count_ = 0;
  uint64_t applied_count_ = 0;
  std::string duplicate_primary_key_;
};

}  // namespace cairn::ddl

// SPDX-License-Identifier: GPL-2.0-only
// Whole indexes that a transaction has for itself.
#include "txn/index_claims.h"

#include <algorithm>

namespace cairn::txn {

bool IndexClaims::Claim(const LockOwner& owner, std::span<const IndexId> indexes) {
  std::lock_guard lock(mutex_);
  for (const auto& [index, holder] : claims_) {
    if (holder != &owner && std::ranges::find(indexes, index) != indexes.end()) return false;
  }
  for (const IndexId index : indexes) claims_.emplace_back(index, &owner);
  count_.store(claims_.size(), std::memory_order_seq_cst);
  return true;
}

void IndexClaims::Release(const LockOwner& owner) {
  std::lock_guard lock(mutex_);
  std::erase_if(claims_, [&owner](const auto& claim) { return claim.second == &owner; });
  count_.store(claims_.size(), std::memory_order_seq_cst);
}

uint64_t IndexClaims::Find(const LockOwner& owner, IndexId index) const {
  std::lock_guard lock(mutex_);
  for (const auto& [claimed, holder] : claims_) {
    if (claimed == index && holder != &owner) return holder->id();
  }
  return 0;
}

}  // namespace cairn::txn

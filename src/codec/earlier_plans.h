// SPDX-License-Identifier: GPL-2.0-only
// Plans to decode rows of earlier schema versions. Internal to the row codec.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "codec/column_set.h"
#include "codec/row_codec.h"

namespace cairn::codec {

// Belongs to one DecodePlan. A plan for a version is made when a row of that version comes: tables may have
// many versions, and a statement meets few of them.
//
// Thread rule: all methods from any thread. Threads that come first together make a plan each, and one is kept.
class EarlierPlans {
 public:
  struct Plan {
    DecodePlan rows;
    std::vector<const RowCodec::AddedColumn*> added;  // the wanted ones; the codec's
  };

  EarlierPlans(const ColumnSet& wanted, size_t version_count) : wanted_(wanted), plans_(version_count) {}
  ~EarlierPlans();
  EarlierPlans(const EarlierPlans&) = delete;
  EarlierPlans& operator=(const EarlierPlans&) = delete;

  // The plan for the codec's earlier version number `index`, valid as long as this object.
  const Plan& Of(const RowCodec::EarlierVersion& version, size_t index) {
    const Plan* made = plans_[index].load(std::memory_order_acquire);
    return made != nullptr ? *made : Make(version, index);
  }

 private:
  const Plan& Make(const RowCodec::EarlierVersion& version, size_t index);

  const ColumnSet wanted_;
  std::vector<std::atomic<const Plan*>> plans_;
};

}  // namespace cairn::codec

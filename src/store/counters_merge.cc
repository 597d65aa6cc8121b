// SPDX-License-Identifier: GPL-2.0-only
// Lets RocksDB add up changes of table counters.
#include "store/counters_merge.h"

#include <string>

#include "store/rocks_status.h"
#include "store/table_counters.h"

namespace cairn::store {
namespace {

class CountersMergeOperator final : public rocks::AssociativeMergeOperator {
 public:
  // Written into every file that has merges: never change it.
  const char* Name() const override { return "cairn.TableCounters"; }

  bool Merge(const rocks::Slice& /*key*/, const rocks::Slice* existing, const rocks::Slice& change,
             std::string* result, rocks::Logger* /*logger*/) const override {
    TableCounters sum;
    TableCounters added;
    if (existing != nullptr && !DecodeTableCounters(ToView(*existing), &sum).ok()) return false;
    if (!DecodeTableCounters(ToView(change), &added).ok()) return false;
    sum.Add(added);
    ByteBuffer bytes;
    EncodeTableCounters(sum, &bytes);
    result->assign(bytes.view());
    return true;
  }
};

}  // namespace

std::shared_ptr<rocks::MergeOperator> NewCountersMergeOperator() {
  return std::make_shared<CountersMergeOperator>();
}

}  // namespace cairn::store

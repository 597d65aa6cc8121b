// SPDX-License-Identifier: GPL-2.0-only
// Lets RocksDB add up changes of table counters.
#include "store/counters_merge.h"

#include <deque>
#include <string>

#include "store/rocks_status.h"
#include "store/table_counters.h"

namespace cairn::store {
namespace {

bool AddTo(const rocks::Slice& bytes, TableCounters* sum) {
  TableCounters added;
  if (!DecodeTableCounters(ToView(bytes), &added).ok()) return false;
  sum->Add(added);
  return true;
}

void Encode(const TableCounters& sum, std::string* result) {
  ByteBuffer bytes;
  EncodeTableCounters(sum, &bytes);
  result->assign(bytes.view());
}

// A flush meets one change for each transaction, so they are added up without making the bytes of each sum.
class CountersMergeOperator final : public rocks::MergeOperator {
 public:
  // Written into every file that has merges: never change it.
  const char* Name() const override { return "cairn.TableCounters"; }

  bool FullMergeV2(const MergeOperationInput& input, MergeOperationOutput* output) const override {
    TableCounters sum;
    if (input.existing_value != nullptr && !DecodeTableCounters(ToView(*input.existing_value), &sum).ok()) return false;
    for (const rocks::Slice& change : input.operand_list) {
      if (!AddTo(change, &sum)) return false;
    }
    Encode(sum, &output->new_value);
    return true;
  }

  bool PartialMergeMulti(const rocks::Slice& /*key*/, const std::deque<rocks::Slice>& changes, std::string* result,
                         rocks::Logger* /*log*/) const override {
    TableCounters sum;
    for (const rocks::Slice& change : changes) {
      if (!AddTo(change, &sum)) return false;
    }
    Encode(sum, result);
    return true;
  }
};

}  // namespace

std::shared_ptr<rocks::MergeOperator> NewCountersMergeOperator() {
  return std::make_shared<CountersMergeOperator>();
}

}  // namespace cairn::store

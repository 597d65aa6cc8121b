// SPDX-License-Identifier: GPL-2.0-only
// A condition of the server's on single rows of a table, looked at while they are walked over.
#pragma once

#include "server/server_headers.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "catalog/table_access.h"
#include "codec/column_set.h"
#include "codec/row_codec.h"
#include "scan/index_scan.h"

namespace cairn::server {

// Passes by rows of a whole table's walk for which the server would find its condition false. Such
// a row costs neither the columns that only other parts of the statement want, nor the server's
// calls for a row. What is given the server looks at itself, as it would without: nothing depends
// on this. So where most rows are given it soon looks at none any more, as looking twice costs more
// than it saves.
//
// Of the parts that AND joins, those up to the first that does not serve are taken. One serves if
// looking at it twice does what looking once does: it is made of stored columns of the table,
// constants, AND, OR, NOT of truth values, comparisons of like with like, LIKE, IS NULL and lengths
// of texts, or of columns of a merged view that stand for such. None of these has effects or warns.
//
// Lifetime: borrows the condition and the table; both are the statement's. Serves all walks of one
// statement. Thread rule: one thread at a time.
class RowCondition final : public scan::EntryFilter {
 public:
  // Null: the condition, or the first part of it, does not serve.
  static std::optional<RowCondition> Make(Item* condition, TABLE* table,
                                          std::shared_ptr<const catalog::TableAccess> access);

  // Decodes the condition's columns into the table's record. kInterrupted: the connection's
  // statement is to end.
  Verdict Check(ByteView key, ByteView value) override;
  // Whether the statement is better off without. It stays so.
  bool is_idle() const { return is_idle_; }
  // How many rows were passed by since the last call.
  uint64_t TakePassedBy() { return std::exchange(to_be_counted_, 0); }

 private:
  RowCondition(std::vector<Item*> parts, bool is_whole, TABLE* table,
               std::shared_ptr<const catalog::TableAccess> access, const codec::ColumnSet& columns)
      : parts_(std::move(parts)),
        is_whole_(is_whole),
        table_(table),
        access_(std::move(access)),
        plan_(access_->rows().Plan(columns)) {}
  bool MayHold() const;

  std::vector<Item*> parts_;  // each has to hold
  bool is_whole_;             // there are no others
  TABLE* table_;
  std::shared_ptr<const catalog::TableAccess> access_;
  codec::DecodePlan plan_;
  uint64_t looked_at_ = 0;
  uint64_t passed_by_ = 0;
  uint64_t to_be_counted_ = 0;
  bool is_idle_ = false;
};

}  // namespace cairn::server

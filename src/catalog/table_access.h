// SPDX-License-Identifier: GPL-2.0-only
// A table as row operations use it: its runtime state, its record layout and its codecs.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/status.h"
#include "catalog/table.h"
#include "codec/collation.h"
#include "codec/column_set.h"
#include "codec/index_codec.h"
#include "codec/record_layout.h"
#include "codec/row_codec.h"

namespace cairn::catalog {

// Made once when the server opens a table's definition; shared by all its handlers.
// Thread rule: immutable, apart from what `table()` and `rows()` guard themselves.
class TableAccess {
 public:
  // Binds a dictionary table to the record layout the server uses for it. kCorruption when the
  // two do not describe the same columns: the files of the server and the dictionary were not written
  // together.
  static Status Make(std::shared_ptr<Table> table, codec::RecordLayout layout, std::shared_ptr<TableAccess>* access);

  Table& table() const { return *table_; }
  const std::shared_ptr<Table>& shared_table() const { return table_; }
  const TableDef& def() const { return table_->def(); }
  const codec::RecordLayout& layout() const { return layout_; }
  const codec::RowCodec& rows() const { return rows_; }
  const codec::IndexCodec& primary() const { return indexes_.front(); }

  // All indexes in the order of TableDef::indexes; the primary one is the first.
  const std::vector<codec::IndexCodec>& indexes() const { return indexes_; }
  size_t secondary_count() const { return indexes_.size() - 1; }

  // Whether an entry of the index is never overwritten in place, so that its removal may be a
  // single delete: not unique, and its value always empty.
  bool RemovesSingly(size_t index) const { return removes_singly_[index]; }

  // The codec of another index of this table, made of the same columns, and whether its entries may be removed
  // singly.
  codec::IndexCodec CodecOf(const IndexDef& index) const;
  bool WouldRemoveSingly(const IndexDef& index) const;

  // Columns that take part in the index (its own parts), for finding indexes an update touches.
  const codec::ColumnSet& columns_of(size_t index) const { return columns_of_[index]; }

  // Whether a part of the index is only the beginning of its column.
  bool HasPrefix(size_t index) const { return has_prefix_[index]; }

  // Whether the index has a virtual generated column.
  bool HasVirtualColumn(size_t index) const { return has_virtual_[index]; }
  // Whether any index has.
  bool HasIndexOnVirtualColumn() const { return std::find(has_virtual_.begin(), has_virtual_.end(), true) != has_virtual_.end(); }

 private:
  TableAccess(std::shared_ptr<Table> table, codec::RecordLayout layout, std::vector<codec::IndexCodec> indexes,
              std::shared_ptr<const codec::RowHistory> history);

  const std::shared_ptr<Table> table_;
  const codec::RecordLayout layout_;
  const std::vector<codec::IndexCodec> indexes_;
  const codec::RowCodec rows_;
  std::vector<bool> removes_singly_;
  std::vector<bool> has_virtual_;
  std::vector<bool> has_prefix_;
  std::vector<codec::ColumnSet> columns_of_;
};

// Whether the server's columns of a table are stored as the dictionary's are. kCorruption, naming the table, when they are not.
Status CheckSameColumns(const TableDef& def, const codec::RecordLayout& of_server);

// Whether the server's indexes of a table, in the order of TableDef::indexes, are those of the dictionary but for
// their ids. The server names indexes by their places, so others would be read as what they are not. kCorruption,
// naming table and index, when they are not.
Status CheckSameIndexes(const TableDef& def, const std::vector<IndexDef>& of_server);

}  // namespace cairn::catalog

// SPDX-License-Identifier: GPL-2.0-only
// Between which values a condition wants the integer columns of a table.
#pragma once

#include "server/server_headers.h"

#include <array>

class Item_func_in;

namespace cairn::server {

// What all of some comparisons joined by AND allow a column; wide enough for the integers of either sign.
struct ColumnBounds {
  const Field* field;
  __int128 lowest;
  __int128 highest;
  bool is_value;  // one of them was an equality, which the optimizer takes for more than a range of one value

  bool IsAll() const;  // that the column can hold
};

// Takes a condition apart. Comparisons (=, <, <=, >, >=, BETWEEN) of an integer column with integer literals or parameters, at its
// top level or joined there by AND, become bounds, which are exact; NULL is not between any. So does one IN list of integers, whose
// values are told beside the bounds.
//
// Lifetime: shorter than the table's use by the statement. Thread rule: one thread.
class ConditionBounds {
 public:
  explicit ConditionBounds(const TABLE* table) : table_(table) {}

  // Of a statement that has been prepared. More columns than kColumnsMax count as a rest.
  void Take(Item* condition);

  // Something else is in the condition as well.
  bool has_rest() const { return has_rest_; }
  bool is_never_true() const;
  unsigned column_count() const { return count_; }
  // Null: none of the condition are of that column.
  const ColumnBounds* Find(const Field* field) const;

  // Whose values the IN list names; null: there is none.
  const Field* list_field() const;
  // How many values the list names; kListValuesMax at most, a longer one is a rest.
  unsigned list_value_count() const;
  // Of the list's values those that the bounds allow its column, ascending, each once, as bits of a column of that sign, to `values`, which
  // has room for list_value_count(). Returns how many there are.
  unsigned ListValues(longlong* values) const;

  static constexpr unsigned kListValuesMax = 128;

 private:
  static constexpr unsigned kColumnsMax = 16;

  bool TakeComparison(Item* condition);
  bool TakeBetween(Item* column, Item* low, Item* high);
  bool TakeList(const Item_func_in& list);
  ColumnBounds* BoundsOf(Item* item);
  bool Narrow(Item* column, Item_func::Functype comparison, Item* value);

  const TABLE* table_;
  bool has_rest_ = false;
  const Item_func_in* list_ = nullptr;  // of the statement
  unsigned count_ = 0;
  std::array<ColumnBounds, kColumnsMax> columns_;
};

}  // namespace cairn::server

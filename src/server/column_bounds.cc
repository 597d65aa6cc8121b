// SPDX-License-Identifier: GPL-2.0-only
#include "server/column_bounds.h"

#include <item_cmpfunc.h>
#include <item_func.h>

#include <algorithm>

namespace cairn::server {
namespace {

bool IsInteger(const Field& field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG: return true;
    default: return false;
  }
}

// All that the column can hold.
ColumnBounds WholeRange(const Field& field) {
  const unsigned bits = field.pack_length() * 8;
  const __int128 one = 1;
  if (field.flags & UNSIGNED_FLAG) return {&field, 0, (one << bits) - 1, false};
  return {&field, -(one << (bits - 1)), (one << (bits - 1)) - 1, false};
}

bool IsIntegerConstant(Item* item) {
  return item->type() == Item::CONST_ITEM && item->basic_const_item() && item->cmp_type() == INT_RESULT &&
         item->result_type() == INT_RESULT;
}

__int128 NumberOf(Item* constant) {
  const longlong bits = constant->val_int();
  return constant->unsigned_flag ? static_cast<__int128>(static_cast<ulonglong>(bits)) : bits;
}

Item_func::Functype Mirrored(Item_func::Functype comparison) {
  switch (comparison) {
    case Item_func::LT_FUNC: return Item_func::GT_FUNC;
    case Item_func::LE_FUNC: return Item_func::GE_FUNC;
    case Item_func::GT_FUNC: return Item_func::LT_FUNC;
    case Item_func::GE_FUNC: return Item_func::LE_FUNC;
    default: return comparison;
  }
}

}  // namespace

bool ColumnBounds::IsAll() const {
  const ColumnBounds all = WholeRange(*field);
  return lowest == all.lowest && highest == all.highest;
}

void ConditionBounds::Take(Item* condition) {
  if (condition->type() == Item::COND_ITEM && static_cast<Item_cond*>(condition)->functype() == Item_func::COND_AND_FUNC) {
    List_iterator<Item> each(*static_cast<Item_cond*>(condition)->argument_list());
    while (Item* const item = each++) Take(item);
    return;
  }
  if (!TakeComparison(condition)) has_rest_ = true;
}

bool ConditionBounds::TakeComparison(Item* condition) {
  if (condition->type() != Item::FUNC_ITEM) return false;
  auto* const function = static_cast<Item_func*>(condition);
  Item** const arguments = function->arguments();
  const Item_func::Functype comparison = function->functype();
  switch (comparison) {
    case Item_func::EQ_FUNC:
    case Item_func::LT_FUNC:
    case Item_func::LE_FUNC:
    case Item_func::GT_FUNC:
    case Item_func::GE_FUNC:
      return Narrow(arguments[0], comparison, arguments[1]) || Narrow(arguments[1], Mirrored(comparison), arguments[0]);
    case Item_func::BETWEEN:
      return !static_cast<Item_func_between*>(function)->negated && TakeBetween(arguments[0], arguments[1], arguments[2]);
    case Item_func::IN_FUNC: return TakeList(*static_cast<Item_func_in*>(function));
    default: return false;
  }
}

bool ConditionBounds::TakeBetween(Item* column, Item* low, Item* high) {
  if (!IsIntegerConstant(low) || !IsIntegerConstant(high)) return false;
  return Narrow(column, Item_func::GE_FUNC, low) && Narrow(column, Item_func::LE_FUNC, high);
}

bool ConditionBounds::TakeList(const Item_func_in& list) {
  Item** const arguments = list.arguments();
  Item** const end = arguments + list.argument_count();
  if (list.negated || list_ != nullptr || list.argument_count() > 1 + kListValuesMax) return false;
  if (!std::all_of(arguments + 1, end, IsIntegerConstant)) return false;
  if (BoundsOf(arguments[0]) == nullptr) return false;
  list_ = &list;
  return true;
}

const Field* ConditionBounds::list_field() const {
  return list_ == nullptr ? nullptr : static_cast<const Item_field*>(list_->arguments()[0])->field;
}

unsigned ConditionBounds::list_value_count() const { return list_ == nullptr ? 0 : list_->argument_count() - 1; }

unsigned ConditionBounds::ListValues(longlong* values) const {
  const ColumnBounds& bounds = *Find(list_field());
  unsigned count = 0;
  for (unsigned i = 1; i < list_->argument_count(); ++i) {
    const __int128 number = NumberOf(list_->arguments()[i]);
    if (number >= bounds.lowest && number <= bounds.highest) values[count++] = static_cast<longlong>(number);
  }
  if (bounds.field->flags & UNSIGNED_FLAG) {
    std::sort(values, values + count, [](longlong a, longlong b) { return static_cast<ulonglong>(a) < static_cast<ulonglong>(b); });
  } else {
    std::sort(values, values + count);
  }
  return static_cast<unsigned>(std::unique(values, values + count) - values);
}

ColumnBounds* ConditionBounds::BoundsOf(Item* item) {
  if (item->type() != Item::FIELD_ITEM) return nullptr;
  const Field* const field = static_cast<Item_field*>(item)->field;
  if (field->table != table_ || !IsInteger(*field)) return nullptr;
  for (unsigned i = 0; i < count_; ++i) {
    if (columns_[i].field == field) return &columns_[i];
  }
  if (count_ == kColumnsMax) return nullptr;
  columns_[count_] = WholeRange(*field);
  return &columns_[count_++];
}

bool ConditionBounds::Narrow(Item* column, Item_func::Functype comparison, Item* value) {
  if (!IsIntegerConstant(value)) return false;
  ColumnBounds* const bounds = BoundsOf(column);
  if (bounds == nullptr) return false;
  const __int128 number = NumberOf(value);
  switch (comparison) {
    case Item_func::EQ_FUNC:
      bounds->is_value = true;
      bounds->lowest = std::max(bounds->lowest, number);
      bounds->highest = std::min(bounds->highest, number);
      return true;
    case Item_func::LT_FUNC: bounds->highest = std::min(bounds->highest, number - 1); return true;
    case Item_func::LE_FUNC: bounds->highest = std::min(bounds->highest, number); return true;
    case Item_func::GT_FUNC: bounds->lowest = std::max(bounds->lowest, number + 1); return true;
    case Item_func::GE_FUNC: bounds->lowest = std::max(bounds->lowest, number); return true;
    default: return false;
  }
}

bool ConditionBounds::is_never_true() const {
  return std::any_of(columns_.begin(), columns_.begin() + count_,
                     [](const ColumnBounds& column) { return column.lowest > column.highest; });
}

const ColumnBounds* ConditionBounds::Find(const Field* field) const {
  const auto* const end = columns_.begin() + count_;
  const auto* const found = std::find_if(columns_.begin(), end, [&](const ColumnBounds& column) { return column.field == field; });
  return found == end ? nullptr : found;
}

}  // namespace cairn::server

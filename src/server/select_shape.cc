// SPDX-License-Identifier: GPL-2.0-only
#include "server/select_shape.h"

#include <sql_lex.h>
#include <sql_select.h>

#include <algorithm>

#include "server/column_bounds.h"

namespace cairn::server {
namespace {

using Kind = SelectShape::Kind;

// Rows that are looked for one by one, where another key might find them in a single range.
constexpr uint kPointsBesideKeyMax = 16;

// What the optimizer shows of its plans, or counts by them, has to come from it.
bool IsToBeExplained(THD* thd) {
  if (thd->lex->describe != 0 || thd->lex->analyze_stmt || thd->trace_started()) return true;
  return thd->variables.sql_log_slow && (thd->variables.log_slow_verbosity & (LOG_SLOW_VERBOSITY_EXPLAIN | LOG_SLOW_VERBOSITY_ENGINE)) != 0;
}

// A prepared statement has a result of its own; those that do not send what they get go between the statement and its client.
bool SendsRows(const LEX& lex) { return lex.result == nullptr || lex.result->result_interceptor() == nullptr; }

// What needs more than rows of one table in an index's order, and more of them sent than a part. A prepared statement is
// changed for good by its first optimization, which is left to the server.
bool IsPlain(THD* thd, SELECT_LEX* select) {
  constexpr ulonglong kOtherOptions = SELECT_DESCRIBE | SELECT_DISTINCT | OPTION_FOUND_ROWS | OPTION_BUFFER_RESULT | OPTION_SCHEMA_TABLE;
  LEX* const lex = thd->lex;
  const JOIN& join = *select->join;
  if (lex->sql_command != SQLCOM_SELECT || !SendsRows(*lex) || lex->limit_rows_examined != nullptr) return false;
  if (lex->uses_stored_routines() || lex->with_rownum || select->first_inner_unit() != nullptr) return false;
  if (!thd->stmt_arena->is_conventional() && select->first_cond_optimization) return false;
  if ((join.select_options & kOtherOptions) != 0 || join.select_distinct || join.procedure != nullptr) return false;
  if (join.group_list != nullptr || join.having != nullptr || join.implicit_grouping || select->olap != UNSPECIFIED_OLAP_TYPE) {
    return false;
  }
  if (select->n_sum_items != 0 || select->agg_func_used() || select->have_window_funcs() || select->ftfunc_list->elements != 0) {
    return false;
  }
  const Select_limit_counters& limit = join.unit->lim;
  return limit.get_select_limit() != 0 && !limit.is_with_ties();
}

// The only table, if it is one of the engine's, whole and as it is; null otherwise.
TABLE* OnlyTable(THD* thd, const SELECT_LEX* select, const handlerton* engine) {
  const TABLE_LIST* const tables = select->join->tables_list;
  if (tables == nullptr || tables != thd->lex->query_tables || tables->next_global != nullptr) return nullptr;
  if (tables->is_view_or_derived() || tables->belong_to_view != nullptr || tables->schema_table != nullptr) return nullptr;
  TABLE* const table = tables->table;
  if (table == nullptr || table->file->ht != engine || table->part_info != nullptr || table->versioned()) return nullptr;
  return table;
}

bool IsUsable(const KEY& info) {
  return info.algorithm == HA_KEY_ALG_UNDEF || info.algorithm == HA_KEY_ALG_BTREE;
}

bool IsUsableUnique(const TABLE& table, uint key) {
  const KEY& info = table.key_info[key];
  return (info.flags & HA_NOSAME) != 0 && table.keys_in_use_for_query.is_set(key) && IsUsable(info);
}

// How many of the first key parts have one value each.
uint ValueParts(const KEY& info, const ConditionBounds& bounds) {
  uint part = 0;
  while (part < info.user_defined_key_parts) {
    const ColumnBounds* const column = bounds.Find(info.key_part[part].field);
    if (column == nullptr || !column->is_value) break;
    ++part;
  }
  return part;
}

// As the server stores integers: the least byte first, after a byte that says NULL where that may be.
void AppendValue(const KEY_PART_INFO& part, __int128 value, uchar* at) {
  if (part.null_bit != 0) *at++ = 0;
  for (uint byte = 0; byte < part.length; ++byte) *at++ = static_cast<uchar>(value >> (8 * byte));
}

bool MayReadEntries(const TABLE& table, uint key) {
  return key != table.s->primary_key && table.covering_keys.is_set(key) && !table.no_keyread &&
         table.reginfo.lock_type <= TL_READ_HIGH_PRIORITY;
}

// The shape's key and search tuples, of the first parts, all of which have bounds.
void SetKey(Kind kind, uint key, uint part_count, const ConditionBounds& bounds, SelectShape* shape) {
  const KEY& info = shape->table->key_info[key];
  for (uint part = 0; part < part_count; ++part) {
    const KEY_PART_INFO& info_part = info.key_part[part];
    const ColumnBounds& column = *bounds.Find(info_part.field);
    const bool descends = (info_part.key_part_flag & HA_REVERSE_SORT) != 0;
    AppendValue(info_part, descends ? column.highest : column.lowest, shape->first_key + shape->key_bytes);
    AppendValue(info_part, descends ? column.lowest : column.highest, shape->last_key + shape->key_bytes);
    shape->key_bytes += info_part.store_length;
    shape->parts |= key_part_map{1} << part;
  }
  shape->kind = kind;
  shape->key = key;
  shape->from_entries = MayReadEntries(*shape->table, key);
}

// The optimizer too reads such a row first of all, by whichever key.
bool FindPoint(const ConditionBounds& bounds, Item* condition, SelectShape* shape) {
  const TABLE* const table = shape->table;
  for (uint key = 0; key < table->s->keys; ++key) {
    const KEY& info = table->key_info[key];
    if (!IsUsableUnique(*table, key) || ValueParts(info, bounds) != info.user_defined_key_parts) continue;
    SetKey(Kind::kPoint, key, info.user_defined_key_parts, bounds, shape);
    shape->condition = bounds.column_count() == info.user_defined_key_parts ? nullptr : condition;
    return true;
  }
  return false;
}

// The key that can be walked over, where no costs need be compared: the only one that is allowed, or the primary key, if no other has
// anything to do with the condition, nor all columns that are wanted.
bool FindOnlyKey(const TABLE& table, const ConditionBounds& bounds, uint* key) {
  if (table.force_index) {
    key_map keys = table.keys_in_use_for_query;
    *key = key_map::Iterator(keys)++;
    return keys.bits_set() == 1;
  }
  *key = table.s->primary_key;
  if (*key == MAX_KEY || !table.keys_in_use_for_query.is_set(*key)) return false;
  for (uint other = 0; other < table.s->keys; ++other) {
    if (other == *key || !table.keys_in_use_for_query.is_set(other)) continue;
    if (table.covering_keys.is_set(other) || bounds.Find(table.key_info[other].key_part[0].field) != nullptr) return false;
  }
  return true;
}

// Whether the key has the order that is wanted, one way or the other, from `part` on, before which each has one value.
bool HasOrder(const KEY& info, uint key, uint part, const ORDER* order, const ConditionBounds& bounds, bool* backward) {
  bool is_first = true;
  for (; order != nullptr; order = order->next) {
    const Item* const item = *order->item;
    if (item->type() != Item::FIELD_ITEM) return false;
    const Field* const field = static_cast<const Item_field*>(item)->field;
    const ColumnBounds* const column = bounds.Find(field);
    if (column != nullptr && column->is_value) continue;
    if (part == info.user_defined_key_parts) return false;
    const KEY_PART_INFO& info_part = info.key_part[part++];
    if (info_part.field != field || !field->part_of_sortkey.is_set(key)) return false;
    const bool descends = (info_part.key_part_flag & HA_REVERSE_SORT) != 0;
    const bool is_backward = (order->direction == ORDER::ORDER_DESC) != descends;
    if (!is_first && is_backward != *backward) return false;
    *backward = is_backward;
    is_first = false;
  }
  return true;
}

// The only part of the key that has no value of its own, but a list's; the number of parts if there is none such, or another without.
uint ListPart(const KEY& info, const ConditionBounds& bounds) {
  uint list_part = info.user_defined_key_parts;
  for (uint part = 0; part < info.user_defined_key_parts; ++part) {
    const ColumnBounds* const column = bounds.Find(info.key_part[part].field);
    if (column == nullptr) return info.user_defined_key_parts;
    if (column->is_value) continue;
    if (column->field != bounds.list_field()) return info.user_defined_key_parts;
    list_part = part;
  }
  return list_part;
}

// Whether a key but this one begins with a column that has one value.
bool HasKeyBeside(const TABLE& table, uint key, const ConditionBounds& bounds) {
  for (uint other = 0; other < table.s->keys; ++other) {
    if (other == key || !table.keys_in_use_for_query.is_set(other)) continue;
    const ColumnBounds* const column = bounds.Find(table.key_info[other].key_part[0].field);
    if (column != nullptr && column->is_value) return true;
  }
  return false;
}

// The list's values in the order in which their rows are to be read; false without memory, or where none is left to look for.
bool SetList(THD* thd, const ConditionBounds& bounds, uint part, SelectShape* shape) {
  const KEY& info = shape->table->key_info[shape->key];
  auto* const values = static_cast<longlong*>(thd->alloc(bounds.list_value_count() * sizeof(longlong)));
  if (values == nullptr) return false;
  shape->list_count = bounds.ListValues(values);
  const bool descends = (info.key_part[part].key_part_flag & HA_REVERSE_SORT) != 0;
  if (descends != shape->backward) std::reverse(values, values + shape->list_count);
  shape->list = values;
  shape->list_part = part;
  return shape->list_count != 0;
}

// The optimizer would compare them with other plans: each of a few rows is looked up at once, so that none is much better.
bool FindPoints(THD* thd, const ConditionBounds& bounds, const ORDER* order, SelectShape* shape) {
  const TABLE& table = *shape->table;
  for (uint key = 0; key < table.s->keys; ++key) {
    const KEY& info = table.key_info[key];
    if (!IsUsableUnique(table, key) || bounds.column_count() != info.user_defined_key_parts) continue;
    const uint part = ListPart(info, bounds);
    if (part == info.user_defined_key_parts) continue;
    if (bounds.list_value_count() > kPointsBesideKeyMax && HasKeyBeside(table, key, bounds)) return false;
    if (order != nullptr && !table.keys_in_use_for_order_by.is_set(key)) return false;
    if (!HasOrder(info, key, part, order, bounds, &shape->backward)) return false;
    SetKey(Kind::kPoints, key, info.user_defined_key_parts, bounds, shape);
    return SetList(thd, bounds, part, shape);
  }
  return false;
}

bool FindRange(const ConditionBounds& bounds, const ORDER* order, SelectShape* shape) {
  const TABLE& table = *shape->table;
  uint key;
  if (!FindOnlyKey(table, bounds, &key)) return false;
  const KEY& info = table.key_info[key];
  const uint value_parts = ValueParts(info, bounds);
  const bool has_range = bounds.column_count() == value_parts + 1;
  if (!IsUsable(info) || bounds.column_count() > value_parts + 1) return false;
  if (has_range) {
    const ColumnBounds* const range =
        value_parts == info.user_defined_key_parts ? nullptr : bounds.Find(info.key_part[value_parts].field);
    if (range == nullptr || range->IsAll()) return false;  // what is always true the optimizer drops
    if (range->lowest == range->highest) return false;     // one value it reads as if it were said by =, but sorts
  }
  if (order != nullptr && !table.keys_in_use_for_order_by.is_set(key)) return false;
  if (!HasOrder(info, key, value_parts, order, bounds, &shape->backward)) return false;
  SetKey(has_range ? Kind::kRange : Kind::kPrefix, key, bounds.column_count(), bounds, shape);
  return true;
}

}  // namespace

void SelectShape::SetListValue(uint position) {
  const KEY_PART_INFO* const info_parts = table->key_info[key].key_part;
  uchar* at = first_key;
  for (uint part = 0; part < list_part; ++part) at += info_parts[part].store_length;
  AppendValue(info_parts[list_part], list[position], at);
}

bool FindSelectShape(THD* thd, SELECT_LEX* select, const handlerton* engine, SelectShape* shape) {
  const JOIN& join = *select->join;
  if (join.conds == nullptr || !IsPlain(thd, select) || IsToBeExplained(thd)) return false;
  shape->table = OnlyTable(thd, select, engine);
  if (shape->table == nullptr) return false;
  ConditionBounds bounds(shape->table);
  bounds.Take(join.conds);
  // What else there is the optimizer may change (`date IS NULL`), or evaluate before it reads, or after all others.
  if (bounds.column_count() == 0 || bounds.has_rest() || bounds.is_never_true()) return false;
  if (bounds.list_field() == nullptr && FindPoint(bounds, join.conds, shape)) return true;
  // The optimizer may refuse to read as many rows as that may be.
  if ((join.select_options & OPTION_BIG_SELECTS) == 0) return false;
  return bounds.list_field() != nullptr ? FindPoints(thd, bounds, join.order, shape) : FindRange(bounds, join.order, shape);
}

}  // namespace cairn::server

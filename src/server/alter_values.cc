// SPDX-License-Identifier: GPL-2.0-only
// Which columns have other values after an ALTER TABLE, by what they are computed from; and CHECKs of single columns.
#include "server/alter_values.h"

#include <string_view>

#include "server/table_map.h"

namespace cairn::server {
namespace {

bool AsksForDefault(const Field& field) {
  return field.vcol_info != nullptr && field.vcol_info->expr->walk(&Item::check_func_default_processor, false, nullptr);
}

// An expression that is given anew is never equal for the server.
bool IsComputedInAnotherWay(const Field& before, const Create_field& after, const Alter_inplace_info& changes) {
  if (before.vcol_info == nullptr || after.vcol_info == nullptr) return false;
  if (!before.vcol_info->is_equal(after.vcol_info, false)) return true;
  return (changes.handler_flags & ALTER_COLUMN_DEFAULT) != 0 && AsksForDefault(before);
}

// Of an ENUM or SET; null of others. To the server names in another case are the same.
bool HasSameNames(const TYPELIB* before, const TYPELIB* after) {
  if (before == nullptr || after == nullptr) return before == after;
  if (before->count > after->count) return false;
  for (uint i = 0; i < before->count; ++i) {
    const std::string_view name(before->type_names[i], before->type_lengths[i]);
    if (name != std::string_view(after->type_names[i], after->type_lengths[i])) return false;
  }
  return true;
}

// Whether an expression may see another value in the same bytes. The server takes types for the same where an engine's bytes are.
bool ReadsDifferently(const Field& before, const Field& after) {
  const bool fills = (after.flags & ZEROFILL_FLAG) != 0;
  if (fills != ((before.flags & ZEROFILL_FLAG) != 0) || (fills && before.field_length != after.field_length)) return true;
  return before.decimals() != after.decimals() || !HasSameNames(before.get_typelib(), after.get_typelib());
}

// Whether the same expression may come to other bytes in the two: it is rounded or cut to other numbers, or is another name.
bool StoresDifferently(const Field& before, const Field& after) {
  if (before.vcol_info == nullptr) return false;
  const TYPELIB* const names = before.get_typelib();
  if (names != nullptr && names->count != after.get_typelib()->count) return true;
  return before.cmp_type() == REAL_RESULT && (before.decimals() != after.decimals() || before.field_length != after.field_length);
}

// Whether a CHECK, which stays as it is, has to be asked anew. What is dropped takes a table's CHECK of it alone with it.
bool ChangesCheckedValues(TABLE& table, const ColumnFlags& stay, const ColumnFlags& differ) {
  ColumnFlags stay_and_differ = differ;
  for (uint i = 0; i < table.s->fields; ++i) {
    stay_and_differ[i] = stay[i] && differ[i];
    const Virtual_column_info* const check = table.field[i]->check_constraint;
    if (stay[i] && check != nullptr && ReadsAny(table, *check, differ)) return true;
  }
  for (uint i = table.s->field_check_constraints; i < table.s->table_check_constraints; ++i) {
    if (ReadsAny(table, *table.check_constraints[i], stay_and_differ)) return true;
  }
  return false;
}

// What becomes of the columns of a table.
struct Columns {
  ColumnFlags stay;
  ColumnFlags differ;           // the bytes of their values
  ColumnFlags read_as_another;  // by expressions, in the same bytes
};

// Whether something that is kept of the columns that stay depends on those that differ or are read as another value: see the header.
bool ChangesKept(TABLE& table, const Columns& columns) {
  constexpr uint kInKey = PART_KEY_FLAG, kTellsPartition = FIELD_IN_PART_FUNC_FLAG;
  ColumnFlags seen = columns.read_as_another;
  for (uint i = 0; i < table.s->fields; ++i) seen[i] = seen[i] || columns.differ[i];
  AddComputed(table, &seen);
  for (uint i = 0; i < table.s->fields; ++i) {
    const Field& field = *table.field[i];
    const bool is_computed = field.vcol_info != nullptr;
    if (!columns.differ[i] && !(is_computed && ReadsAny(table, *field.vcol_info, seen))) continue;
    if ((field.flags & kTellsPartition) != 0) return true;
    const bool is_kept = is_computed && (field.stored_in_db() || (field.flags & kInKey) != 0);
    if (columns.stay[i] && is_kept) return true;
  }
  return ChangesCheckedValues(table, columns.stay, seen);
}

// Whatever it has to say of a condition.
class Unheard final : public Internal_error_handler {
 public:
  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_warning_level*, const char*, Sql_condition**) override {
    heard_ = true;
    return true;
  }
  bool heard() const { return heard_; }

 private:
  bool heard_ = false;
};

}  // namespace

bool ChangesStoredValues(TABLE& table, const TABLE& altered, const Alter_inplace_info& changes) {
  const uint count = table.s->fields;
  Columns columns{.stay = ColumnFlags(count, false), .differ = ColumnFlags(count, true), .read_as_another = ColumnFlags(count, false)};
  List_iterator_fast<Create_field> fields(changes.alter_info->create_list);
  for (Field** field = altered.field; const Create_field* after = fields++; ++field) {
    if (after->field == nullptr) continue;
    const Field& before = *after->field;
    columns.stay[before.field_index] = true;
    columns.differ[before.field_index] = IsComputedInAnotherWay(before, *after, changes);
    columns.read_as_another[before.field_index] = ReadsDifferently(before, **field);
  }
  return ChangesKept(table, columns);
}

bool ChangesStoredValues(TABLE& table, const TABLE& other) {
  const uint count = table.s->fields;
  Columns columns{.stay = ColumnFlags(count, true), .differ = ColumnFlags(count), .read_as_another = ColumnFlags(count)};
  for (uint i = 0; i < count; ++i) {
    const Field &before = *table.field[i], &after = *other.field[i];
    if ((before.vcol_info == nullptr) != (after.vcol_info == nullptr)) return true;
    columns.differ[i] = AsksForDefault(before) || StoresDifferently(before, after);
    columns.read_as_another[i] = ReadsDifferently(before, after) || ReadsDifferently(after, before);
  }
  return ChangesKept(table, columns);
}

bool ChangesColumnCheck(const Alter_inplace_info& changes) {
  List_iterator_fast<Create_field> fields(changes.alter_info->create_list);
  while (const Create_field* after = fields++) {
    if (after->check_constraint == nullptr) continue;
    if (after->field == nullptr) {
      if (after->vcol_info != nullptr) return true;
      continue;
    }
    const Virtual_column_info* const before = after->field->check_constraint;
    if (before == after->check_constraint) continue;
    if (before == nullptr || !before->is_equal(after->check_constraint, false)) return true;
  }
  return false;
}

bool SatisfiesColumnCheck(const Field& field) {
  if (field.check_constraint == nullptr) return true;
  Item* const check = field.check_constraint->expr;
  MY_BITMAP* const read = ColumnsReadBy(*field.table, *field.check_constraint);
  bitmap_clear_bit(read, field.field_index);
  if (!bitmap_is_clear_all(read)) return false;
  bitmap_set_bit(read, field.field_index);
  MY_BITMAP* const old_read_set = field.table->read_set;
  field.table->read_set = read;
  Unheard conditions;
  THD* const thd = field.table->in_use;
  thd->push_internal_handler(&conditions);
  const bool is_false = check->val_int() == 0 && !check->null_value;
  thd->pop_internal_handler();
  field.table->read_set = old_read_set;
  return !is_false && !conditions.heard();
}

}  // namespace cairn::server

// SPDX-License-Identifier: GPL-2.0-only
// The server's list of columns to be, as a definition of the dictionary.
#include "server/alter_columns.h"

#include "codec/row_history.h"
#include "server/alter_values.h"
#include "server/table_map.h"

namespace cairn::server {
namespace {

// Within one statement the time and what belongs to the session do not change, so such a default is a constant.
bool IsTheSameForAllRows(const Field& field) {
  constexpr uint kConstantInStatement = VCOL_SESSION_FUNC | VCOL_TIME_FUNC;
  if (field.unireg_check == Field::NEXT_NUMBER || field.vcol_info != nullptr) return false;
  if (field.default_value == nullptr) return true;
  return (field.default_value->flags & ~kConstantInStatement) == 0 &&
         (field.default_value->expr->used_tables() & RAND_TABLE_BIT) == 0;
}

// Evaluates the default of an added column.
Status TakeInitialValue(const TABLE& altered, Field* field, const codec::ColumnLayout& layout,
                        catalog::ColumnDef* column) {
  constexpr int kStored = 0, kTimePartDropped = 3;
  if (!IsTheSameForAllRows(*field)) return Status::InvalidArgument("a column that differs in each existing row");
  const int stored = field->set_default();
  if (stored != kStored && stored != kTimePartDropped) return Status::InvalidArgument("a default that does not fit");
  if (!SatisfiesColumnCheck(*field)) return Status::InvalidArgument("a default that not all rows may have");
  codec::InitialValue initial = codec::InitialValueIn(layout, altered.record[0]);
  column->initial = initial.is_null ? catalog::InitialKind::kNull : catalog::InitialKind::kValue;
  column->initial_value = std::move(initial.value);
  return Status::Ok();
}

}  // namespace

bool OnlyGrows(const Field& before, const Column_definition& after) {
  const enum_field_types type = before.real_type();
  const bool is_varchar = type == MYSQL_TYPE_VARCHAR || type == MYSQL_TYPE_VARCHAR_COMPRESSED;
  const bool is_same_kind = after.type_handler() == before.type_handler() && after.charset == before.charset() &&
                            (after.compression_method() == nullptr) == (before.compression_method() == nullptr);
  return is_varchar && is_same_kind && after.length > before.field_length;
}

std::vector<AlterContext*> ContextsOf(const Alter_inplace_info& changes) {
  std::vector<AlterContext*> contexts;
  if (changes.group_commit_ctx == nullptr) {
    contexts.push_back(static_cast<AlterContext*>(changes.handler_ctx));
    return contexts;
  }
  for (inplace_alter_handler_ctx** context = changes.group_commit_ctx; *context != nullptr; ++context) {
    contexts.push_back(static_cast<AlterContext*>(*context));
  }
  return contexts;
}

Status AlteredDefinition(const catalog::TableDef& old, const TABLE& altered, const Alter_inplace_info& changes,
                         catalog::TableDef* def) {
  codec::RecordLayout layout;
  CAIRN_RETURN_IF_ERROR(LayoutOf(altered, &layout));
  *def = DefinitionOf(altered, layout, old.name);
  def->temporary = old.temporary;
  List<Create_field>& fields = changes.alter_info->create_list;
  if (fields.elements != def->columns.size()) return Status::InvalidArgument("columns that the server adds");
  // Rows without a value are wrong in a table that has any; the server has said so, and copying finds it out.
  if (changes.error_if_not_empty) return Status::InvalidArgument("a value that no row may have");
  List_iterator_fast<Create_field> field_at(fields);
  for (size_t i = 0; i < def->columns.size(); ++i) {
    const Field* before = field_at++->field;
    catalog::ColumnDef& column = def->columns[i];
    column.column_id = before != nullptr ? old.columns[before->field_index].column_id : 0;
    if (before != nullptr || !column.stored) continue;
    CAIRN_RETURN_IF_ERROR(TakeInitialValue(altered, altered.field[i], layout.columns[i], &column));
  }
  return Status::Ok();
}

const char* ReasonToCopy(THD* thd, const Alter_inplace_info& changes) {
  const alter_table_operations wanted = changes.handler_flags;
  if (wanted & ALTER_STORED_COLUMN_TYPE) return ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE);
  return changes.unsupported_reason;
}

}  // namespace cairn::server

// SPDX-License-Identifier: GPL-2.0-only
#include "server/quiet_computation.h"

namespace cairn::server {

String& TextOf(const Field& field, ComputedTexts* texts) {
  if (*texts == nullptr) *texts = std::make_unique<String[]>(field.table->s->fields);
  return (*texts)[field.field_index];
}

QuietComputation::QuietComputation(TABLE& table, uchar* record, ComputedTexts* texts)
    : table_(table), record_(record), texts_(texts), read_set_(table.read_set), write_set_(table.write_set) {
  THD* const thd = table.in_use;
  thd->push_internal_handler(&silence_);
  thd->set_n_backup_active_arena(table.expr_arena, &statements_arena_);
  table.read_set = &table.s->all_set;
  table.write_set = &table.s->all_set;
  table.move_fields(table.field, record, table.record[0]);
}

QuietComputation::~QuietComputation() {
  table_.move_fields(table_.field, table_.record[0], record_);
  table_.read_set = read_set_;
  table_.write_set = write_set_;
  THD* const thd = table_.in_use;
  thd->restore_active_arena(table_.expr_arena, &statements_arena_);
  thd->pop_internal_handler();
}

void QuietComputation::Compute(Field& generated) {
  Field_blob* const blob = (generated.flags & BLOB_FLAG) != 0 ? static_cast<Field_blob*>(&generated) : nullptr;
  if (blob != nullptr) blob->swap(TextOf(generated, texts_), /*set_read_value=*/false);
  generated.vcol_info->expr->save_in_field(&generated, false);
  if (blob != nullptr) blob->swap(TextOf(generated, texts_), /*set_read_value=*/false);
}

}  // namespace cairn::server

// SPDX-License-Identifier: GPL-2.0-only
// Foreign keys: what the server asks about them, and row changes that go by them.
#include "server/handler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codec/value_copy.h"
#include "server/errors.h"
#include "server/foreign_keys.h"
#include "server/sysvars.h"

namespace cairn::server {

using catalog::ForeignAction;
using catalog::ForeignKeyDef;
using catalog::ForeignKeyPtr;

namespace {

enum_fk_option OptionOf(ForeignAction action) {
  switch (action) {
    case ForeignAction::kRestrict: return FK_OPTION_RESTRICT;
    case ForeignAction::kNoAction: return FK_OPTION_NO_ACTION;
    case ForeignAction::kCascade: return FK_OPTION_CASCADE;
    case ForeignAction::kSetNull: return FK_OPTION_SET_NULL;
  }
  return FK_OPTION_RESTRICT;
}

LEX_CSTRING* Lex(THD* thd, const std::string& text) {
  return thd_make_lex_string(thd, nullptr, text.data(), text.size(), 1);
}

bool IsNullable(const catalog::TableDef& def, const std::string& name) {
  for (const catalog::ColumnDef& column : def.columns) {
    if (catalog::IsSameName(column.name, name)) return column.nullable;
  }
  return false;
}

// In the statement's memory.
FOREIGN_KEY_INFO* InfoOf(THD* thd, const ForeignKeyDef& key) {
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  const SqlName child = SqlNameOf(key.child), parent = SqlNameOf(key.parent);
  FOREIGN_KEY_INFO info;
  info.foreign_id = Lex(thd, key.name);
  info.foreign_db = Lex(thd, child.database);
  info.foreign_table = Lex(thd, child.table);
  info.referenced_db = Lex(thd, parent.database);
  info.referenced_table = Lex(thd, parent.table);
  info.update_method = OptionOf(key.on_update);
  info.delete_method = OptionOf(key.on_delete);
  info.referenced_key_name = nullptr;
  std::shared_ptr<catalog::Table> child_table, parent_table;
  const bool has_child = catalog.Find(key.child, &child_table).ok();
  const bool has_parent = catalog.Find(key.parent, &parent_table).ok();
  const auto count = static_cast<unsigned>(key.child_columns.size());
  for (unsigned i = 0; i < count; ++i) {
    info.foreign_fields.push_back(Lex(thd, key.child_columns[i]), thd->mem_root);
    info.referenced_fields.push_back(Lex(thd, key.parent_columns[i]), thd->mem_root);
    if (has_child && IsNullable(child_table->def(), key.child_columns[i])) info.set_nullable(thd, false, i, count);
    if (has_parent && IsNullable(parent_table->def(), key.parent_columns[i])) info.set_nullable(thd, true, i, count);
  }
  catalog::ForeignKeyPlace place;
  size_t wrong;
  if (has_parent && catalog::PlaceForeignKey(parent_table->def(), key.parent_columns, &place, &wrong) ==
                        catalog::ForeignKeyFault::kNone) {
    info.referenced_key_name = Lex(thd, parent_table->def().indexes[place.index].name);
  }
  return static_cast<FOREIGN_KEY_INFO*>(thd_memdup(thd, &info, sizeof info));
}

int AddInfos(THD* thd, const std::vector<ForeignKeyPtr>& keys, List<FOREIGN_KEY_INFO>* infos) {
  for (const ForeignKeyPtr& key : keys) infos->push_back(InfoOf(thd, *key), thd->mem_root);
  return 0;
}

bool IsOfForeignKey(const Status& status) {
  using Code = Status::Code;
  return status.Is(Code::kNoReferencedRow) || status.Is(Code::kRowIsReferenced) || status.Is(Code::kForeignDuplicate) ||
         status.Is(Code::kCascadeTooDeep);
}

}  // namespace

char* Handler::get_foreign_key_create_info() {
  std::string text;
  const auto keys = GlobalEngine()->catalog().foreign_keys();  // others may replace them meanwhile
  for (const ForeignKeyPtr& key : keys->OfChild(access_->def().name)) {
    text += ",\n  " + TextOf(ha_thd(), *key);
  }
  return text.empty() ? nullptr : my_strdup(PSI_NOT_INSTRUMENTED, text.c_str(), MYF(MY_WME));
}

void Handler::free_foreign_key_create_info(char* text) { my_free(text); }

int Handler::get_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* keys) {
  return AddInfos(thd, GlobalEngine()->catalog().foreign_keys()->OfChild(access_->def().name), keys);
}

int Handler::get_parent_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* keys) {
  return AddInfos(thd, GlobalEngine()->catalog().foreign_keys()->OfParent(access_->def().name), keys);
}

bool Handler::referenced_by_foreign_key() const noexcept {
  return !GlobalEngine()->catalog().foreign_keys()->OfParent(access_->def().name).empty();
}

bool Handler::can_switch_engines() {
  return !referenced_by_foreign_key() && GlobalEngine()->catalog().foreign_keys()->OfChild(access_->def().name).empty();
}

// The server asks only whether a table may become partitioned.
bool Handler::is_fk_defined_on_table_or_index(uint) { return !can_switch_engines(); }

bool Handler::get_foreign_dup_key(char* table_name, uint table_name_bytes, char* key_name, uint key_name_bytes) {
  if (referee_ == nullptr || referee_->failure().key == nullptr) return false;
  snprintf(table_name, table_name_bytes, "%s", SqlNameOf(referee_->failure().key->child).table.c_str());
  snprintf(key_name, key_name_bytes, "%s", referee_->failure().duplicate_index.c_str());
  return true;
}

// A statement is going to change rows.
int Handler::BeginForeignKeys(THD* thd) {
  is_refereed_ = false;
  if (access_->def().temporary || !ChecksForeignKeys(thd)) return 0;
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  auto keys = catalog.foreign_keys();
  const std::string& name = access_->def().name;
  if (keys->empty() || (keys->OfChild(name).empty() && keys->OfParent(name).empty())) return 0;
  // Keys may have come while others were waited for.
  for (bool is_current = false; !is_current;) {
    if (const Status locked = affected_definitions_.Lock(thd, keys, name); !locked.ok()) return Fail(locked);
    const auto now = catalog.foreign_keys();
    is_current = now == keys;
    keys = now;
  }
  if (referee_ == nullptr) {
    referee_ = std::make_unique<foreign::Referee>(&GlobalEngine()->store(), &catalog, CollationOfId);
  }
  foreign::Use use;
  use.transaction = &session_->transaction();
  use.table = access_.get();
  use.lock = LockSettings(thd);
  use.lock.wait = txn::LockWait::kWait;
  use.only_inserts = OnlyInserts(thd);
  if (catalog::IsNameOfCopy(name)) {
    use.copy_of = AlteredTable(thd);
    use.kept = KeptKeys(*keys, use.copy_of, &thd->lex->alter_info);
  }
  const Status status = referee_->Begin(use);
  is_refereed_ = status.ok();
  return status.Is(Status::Code::kCorruption) ? FailForDefinition(status) : Fail(status);
}

// Changes a row and what depends on it, or nothing.
Status Handler::ChangeWithChildren(const std::function<Status()>& change) {
  // Scans under way go on over what is there afterwards.
  session_->DetachCursors();
  ++session_->cascades;
  txn::Transaction& transaction = session_->transaction();
  const txn::SavepointId savepoint = transaction.SetSavepoint();
  Status status = change();
  if (!status.ok()) {
    const Status undone = session_->RollbackToSavepoint(savepoint);
    if (undone.ok()) (void)transaction.ReleaseSavepoint(savepoint);
    return undone.ok() ? std::move(status) : Status(undone.code(), std::string(undone.message()));
  }
  return transaction.ReleaseSavepoint(savepoint);
}

// The server keeps functions and triggers from changing what their statement reads, but for temporary tables. Others' scans of the table go on
// over what is there afterwards, and a row that was read before is looked at again when it is changed.
void Handler::NoteChangeInFunction() {
  if (table_share->tmp_table == NO_TMP_TABLE || ha_thd()->in_sub_stmt == 0) return;
  session_->DetachCursorsOf(access_->def().id, this);
  access_->table().NoteChangeInFunction();
}

// Whether virtual columns of an index would have to be computed anew from what the row is now. Tables with foreign keys that lead to
// changes have none.
bool Handler::KeysWouldBeStale(const uchar* current, const uchar* old_record) const {
  const auto has_changed = [&](const codec::ColumnLayout& column) { return column.stored && !codec::SameBytes(column, current, old_record); };
  return access_->HasIndexOnVirtualColumn() && std::ranges::any_of(access_->layout().columns, has_changed);
}

// The columns of the row that has the record's primary key; blobs point into `value`.
Status Handler::ReadAsStored(const uchar* record, const codec::ColumnSet& columns, ByteBuffer* value, std::vector<uchar>* stored) {
  ByteBuffer key;
  access_->primary().EncodePrimaryKey(record, hidden_row_id_, &key);
  store::PinnedValue found;
  CAIRN_RETURN_IF_ERROR(session_->transaction().Get(store::Family::kData, key.view(), txn::View::kNewest, &found));
  value->Assign(found.view());
  stored->resize(access_->layout().record_bytes);
  const codec::DecodePlan plan = access_->rows().Plan(columns);
  return access_->rows().Decode(plan, key.view(), value->view(), stored->data());
}

// One of the records may point into what the other was brought up to date from before: a change that is refused is followed by another one.
void Handler::KeepCaughtUp(ByteBuffer value) {
  std::swap(caught_up_value_, caught_up_before_);
  caught_up_value_ = std::move(value);
}

// Between its read and its change a function or trigger of the statement may have changed the row's parent, and that the row: the server
// keeps these only from naming the table; or the row itself, of a temporary table. Then the change is one of the row as it is now. The records
// are the server's own; it logs what they hold next and shows it to triggers, so they are brought up to date themselves. kNotFound: the row
// has gone.
Status Handler::CatchUp(const uchar* old_record, const uchar* new_record) {
  ByteBuffer value;
  std::vector<uchar> current;
  const codec::RecordLayout& layout = access_->layout();
  CAIRN_RETURN_IF_ERROR(ReadAsStored(old_record, codec::ColumnSet::All(layout.columns.size()), &value, &current));
  if (KeysWouldBeStale(current.data(), old_record)) {
    return Status::NotSupported("a change of a row that a function has changed meanwhile, in a temporary table with an index on a virtual column");
  }
  codec::RebaseChange(layout, current.data(), const_cast<uchar*>(old_record), const_cast<uchar*>(new_record));
  KeepCaughtUp(std::move(value));
  return Status::Ok();
}

// What the error of a change says.
void Handler::NoteForeignKeyError(const Status& status) {
  if (!is_refereed_ || !IsOfForeignKey(status) || referee_->failure().key == nullptr) return;
  if (status.Is(Status::Code::kCascadeTooDeep)) {
    push_warning_printf(ha_thd(), Sql_condition::WARN_LEVEL_WARN, HA_ERR_ROW_IS_REFERENCED,
                        "CAIRN: Cannot delete/update rows with cascading foreign key constraints that exceed max depth "
                        "of %u. Please drop extra constraints and try again",
                        foreign::Referee::kDepthMax);
  }
  ForeignKeyDef key = *referee_->failure().key;
  if (catalog::IsNameOfCopy(key.child)) key.child = AlteredTable(ha_thd());
  session_->error_message = TextInErrors(ha_thd(), key);
}

}  // namespace cairn::server

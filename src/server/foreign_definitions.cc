// SPDX-License-Identifier: GPL-2.0-only
// Foreign keys of CREATE and ALTER TABLE: clauses become definitions that fit their tables, or errors that say why not.
#include "server/foreign_keys.h"

#include <algorithm>

#include "catalog/foreign_key_fit.h"
#include "server/handler.h"
#include "server/partitions.h"
#include "server/session.h"
#include "server/table_map.h"

namespace cairn::server {

using catalog::ForeignAction;
using catalog::ForeignKeyDef;
using catalog::ForeignKeyFault;
using catalog::ForeignKeyPlace;
using catalog::ForeignKeyPtr;
using catalog::TableDef;

namespace {

bool SameIgnoringCase(const char* a, const std::string& b) {
  return my_strcasecmp(system_charset_info, a, b.c_str()) == 0;
}

int Refuse(const std::string& what) {
  my_error(ER_NOT_SUPPORTED_YET, MYF(0), (what + " in ENGINE=CAIRN").c_str());
  return HA_WRONG_CREATE_OPTION;
}

ForeignAction ActionOf(enum_fk_option option) {
  switch (option) {
    case FK_OPTION_NO_ACTION: return ForeignAction::kNoAction;
    case FK_OPTION_CASCADE: return ForeignAction::kCascade;
    case FK_OPTION_SET_NULL: return ForeignAction::kSetNull;
    default: return ForeignAction::kRestrict;
  }
}

// DROP CONSTRAINT of a name that a foreign key has means that key: the statement's own list calls it a CHECK, the server's copy a key.
bool IsDropped(const ForeignKeyDef& key, Alter_info* alter) {
  if (alter == nullptr) return false;
  List_iterator_fast<Alter_drop> drops(alter->drop_list);
  while (const Alter_drop* drop = drops++) {
    if (drop->type != Alter_drop::FOREIGN_KEY && drop->type != Alter_drop::CHECK_CONSTRAINT) continue;
    if (SameIgnoringCase(drop->name, key.name)) return true;
  }
  return false;
}

// What a column of the table is called after ALTER TABLE; empty when it is gone.
std::string NameAfter(Alter_info& alter, const std::string& name) {
  List_iterator_fast<Create_field> fields(alter.create_list);
  while (const Create_field* field = fields++) {
    if (field->field != nullptr && SameIgnoringCase(field->field->field_name.str, name)) return field->field_name.str;
  }
  return {};
}

// As the table spells it; a name it does not have stays as it is.
std::string SpelledAsIn(const TableDef* def, const LEX_CSTRING& name) {
  if (def != nullptr) {
    for (const catalog::ColumnDef& column : def->columns) {
      if (SameIgnoringCase(name.str, column.name)) return column.name;
    }
  }
  return std::string(name.str, name.length);
}

// Rows of the past must not count as parents or children, and are told apart by nobody here.
int RefuseVersioned() { return Refuse("FOREIGN KEY of or to a table WITH SYSTEM VERSIONING"); }

// Of a table that is about to lose its name, for which a share must not stay in the server's cache. The server's error if it is versioned, or if that
// cannot be told.
int CheckUnversioned(THD* thd, const std::string& name) {
  const std::string path = "./" + name;
  if (!HasFile(path, ".frm")) return 0;
  const SqlName sql = SqlNameOf(name);
  TABLE_SHARE share;
  init_tmp_table_share(thd, &share, sql.database.c_str(), 0, sql.table.c_str(), path.c_str());
  const bool is_read = open_table_def(thd, &share) == OPEN_FRM_OK;
  const bool is_versioned = is_read && share.versioned != VERS_UNDEFINED;
  free_table_share(&share);
  if (!is_read) return HA_ERR_NO_SUCH_TABLE;
  return is_versioned ? RefuseVersioned() : 0;
}

// Rows of a partitioned table are nobody's parents. The server keeps them from being children.
int RefusePartitionedParent() { return Refuse("FOREIGN KEY that refers to a partitioned table"); }

// What keeps a key that waited for the table, or whose parent is altered, from being kept.
struct ReferringFault {
  ForeignKeyFault fault = ForeignKeyFault::kNone;
  std::string column;  // the child's, where it has any, else the parent's
  std::string other;   // then the parent's
};

ReferringFault FaultOfReferring(const ForeignKeyDef& key, const TableDef& parent) {
  std::shared_ptr<catalog::Table> table;
  ForeignKeyPlace in_child, in_parent;
  size_t wrong = 0;
  ForeignKeyFault fault = PlaceForeignKey(parent, key.parent_columns, &in_parent, &wrong);
  if (fault != ForeignKeyFault::kNone) return {fault, key.parent_columns[wrong], {}};
  if (!GlobalEngine()->catalog().Find(key.child, &table).ok()) return {};
  const TableDef& child = table->def();
  fault = FitToChild(key, child, &in_child, &wrong);
  if (fault == ForeignKeyFault::kNone) fault = FitTogether(child, in_child, parent, in_parent, CollationOfId, &wrong);
  return {fault, key.child_columns[wrong], key.parent_columns[wrong]};
}

// Collects the keys of one new table.
class Definitions {
 public:
  Definitions(THD* thd, TABLE& form, const HA_CREATE_INFO& create_info, const TableDef& def,
              std::vector<ForeignKeyDef>* keys, std::string original)
      : thd_(thd),
        form_(form),
        create_info_(create_info),
        def_(def),
        set_(GlobalEngine()->catalog().foreign_keys()),
        keys_(*keys),
        original_(std::move(original)) {}

  int Collect() {
    TakeKept();
    if (create_info_.alter_info != nullptr) {
      List_iterator_fast<Key> clauses(create_info_.alter_info->key_list);
      while (const Key* key = clauses++) {
        if (key->type != Key::FOREIGN_KEY || key->old) continue;
        if (const int error = Add(static_cast<const Foreign_key&>(*key)); error != 0) return error;
      }
    }
    if (const int error = CheckKinds(); error != 0) return error;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (const int error = Check(keys_[i], i < kept_count_); error != 0) return error;
    }
    for (const ForeignKeyPtr& key : set_->OfParent(name())) {
      if (key->child == name()) continue;
      const ReferringFault found = FaultOfReferring(*key, def_);
      if (const int error = Fault(*key, found.fault, found.column, found.other); error != 0) return error;
    }
    return 0;
  }

 private:
  // The name that the table has or will have.
  const std::string& name() const { return original_.empty() ? def_.name : original_; }
  bool IsItself(const std::string& table) const { return table == name() || table == def_.name; }

  void TakeKept() {
    if (original_.empty()) return;
    for (const ForeignKeyPtr& key : KeptKeys(*set_, original_, create_info_.alter_info)) {
      keys_.push_back(*key);
      keys_.back().child = def_.name;
    }
    kept_count_ = keys_.size();
  }

  // "c_ibfk_N", N above those of the original.
  std::string MadeUpName() {
    const std::string prefix = SqlNameOf(name()).table + "_ibfk_";
    if (next_number_ == 0) {
      for (const ForeignKeyPtr& key : set_->OfChild(name())) {
        if (!key->name.starts_with(prefix)) continue;
        next_number_ = std::max<uint64_t>(next_number_, strtoull(key->name.c_str() + prefix.size(), nullptr, 10));
      }
    }
    return prefix + std::to_string(++next_number_);
  }

  int Add(const Foreign_key& clause) {
    if (clause.delete_opt == FK_OPTION_SET_DEFAULT) return Refuse("ON DELETE SET DEFAULT");
    if (clause.update_opt == FK_OPTION_SET_DEFAULT) return Refuse("ON UPDATE SET DEFAULT");
    if (clause.columns.elements > 1 &&
        (clause.match_opt == Foreign_key::FK_MATCH_FULL || clause.match_opt == Foreign_key::FK_MATCH_PARTIAL)) {
      return Refuse("MATCH FULL and MATCH PARTIAL of several columns");
    }
    ForeignKeyDef key;
    key.child = def_.name;
    std::string database = clause.ref_db.str != nullptr ? clause.ref_db.str : form_.s->db.str;
    std::string table = clause.ref_table.str;
    if (lower_case_table_names != 0) {
      my_casedn_str(system_charset_info, database.data());
      my_casedn_str(system_charset_info, table.data());
    }
    key.parent = TableNameOf(database.c_str(), table.c_str());
    std::shared_ptr<catalog::Table> parent;
    const TableDef* const parent_def = ParentOf(key.parent, &parent);
    for (const Key_part_spec& column : clause.columns) {
      key.child_columns.push_back(SpelledAsIn(&def_, column.field_name));
    }
    for (const Key_part_spec& column : clause.ref_columns) {
      key.parent_columns.push_back(SpelledAsIn(parent_def, column.field_name));
    }
    key.name = clause.constraint_name.str != nullptr ? clause.constraint_name.str : MadeUpName();
    if (catalog::IsTooLongAName(key.name)) {
      my_error(ER_TOO_LONG_IDENT, MYF(0), key.name.c_str());
      return HA_WRONG_CREATE_OPTION;
    }
    key.on_delete = ActionOf(clause.delete_opt);
    key.on_update = ActionOf(clause.update_opt);
    if (def_.temporary) {
      Warn("%s table %s with foreign key constraint failed. Temporary tables can't have foreign key constraints.");
      return HA_ERR_CANNOT_ADD_FOREIGN;
    }
    for (const ForeignKeyDef& other : keys_) {
      if (!SameIgnoringCase(key.name.c_str(), other.name)) continue;
      WarnOfTakenName(thd_, def_.name, {key}, key.name);
      return HA_ERR_FOUND_DUPP_KEY;
    }
    keys_.push_back(std::move(key));
    return 0;
  }

  // Null when there is no such table.
  const TableDef* ParentOf(const std::string& parent, std::shared_ptr<catalog::Table>* table) const {
    if (IsItself(parent)) return &def_;
    return GlobalEngine()->catalog().Find(parent, table).ok() ? &(*table)->def() : nullptr;
  }

  int CheckKinds() {
    const bool is_parent = !set_->OfParent(name()).empty();
    if (keys_.empty() && !is_parent) return 0;
    // Another engine lets a table that keys wait for be altered into a partitioned one of this, whose partitions come here in its name.
    if (is_parent && !catalog::Catalog::PartitionedTableOf(def_.name).empty()) return RefusePartitionedParent();
    // Who refers to the table would go on meaning its old name.
    if (is_parent && !original_.empty() && TableNameOf(form_.s->db.str, form_.s->table_name.str) != original_) {
      return Refuse("RENAME of a table that foreign keys refer to, in one statement with a change that copies it,");
    }
    if (form_.versioned()) return RefuseVersioned();
    for (const ForeignKeyDef& key : keys_) {
      if (IsItself(key.parent)) continue;
      if (const int error = CheckParentKind(key.parent); error != 0) return error;
    }
    return 0;
  }

  int CheckParentKind(const std::string& parent) {
    const SqlName sql = SqlNameOf(parent);
    const LEX_CSTRING database{sql.database.c_str(), sql.database.size()};
    const LEX_CSTRING table{sql.table.c_str(), sql.table.size()};
    TABLE_LIST list;
    list.init_one_table(&database, &table, nullptr, TL_READ);
    MDL_request request;
    // A statement that removes parents has decided at its begin whether it looks for children.
    MDL_REQUEST_INIT(&request, MDL_key::TABLE, database.str, table.str, MDL_SHARED_NO_WRITE, MDL_TRANSACTION);
    if (thd_->mdl_context.acquire_lock(&request, static_cast<double>(thd_->variables.lock_wait_timeout))) {
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    }
    std::shared_ptr<catalog::Table> known;
    if (!GlobalEngine()->catalog().Find(parent, &known).ok()) return IsPartitioned(parent) ? RefusePartitionedParent() : 0;
    // A prepared transaction without a connection has no metadata lock, and a copy's rows look for parents without locks.
    if (!original_.empty() && HeldByPrepared(known->def())) {
      my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    }
    TABLE_SHARE* const share = tdc_acquire_share(thd_, &list, GTS_TABLE, nullptr);
    if (share == nullptr) return HA_ERR_NO_SUCH_TABLE;
    const bool versioned = share->versioned;
    tdc_release_share(share);
    return versioned ? RefuseVersioned() : 0;
  }

  // In warnings `%s` stands for "Create " or "Alter ", then for the table.
  template <typename... Args>
  void Warn(const char* format, Args... args) const {
    const SqlName sql = def_.temporary ? SqlName{form_.s->db.str, form_.s->table_name.str} : SqlNameOf(name());
    String table;
    append_identifier(thd_, &table, sql.database.data(), sql.database.size());
    table.append('.');
    append_identifier(thd_, &table, sql.table.data(), sql.table.size());
    push_warning_printf(thd_, Sql_condition::WARN_LEVEL_WARN, HA_ERR_CANNOT_ADD_FOREIGN, format,
                        original_.empty() ? "Create " : "Alter ", table.c_ptr_safe(), args...);
  }

  // A key by its name if it was given one, else by its columns.
  std::string Called(const ForeignKeyDef& key) const {
    const std::string child = key.child == def_.name ? name() : key.child;
    if (!key.name.starts_with(SqlNameOf(child).table + "_ibfk_")) return "`" + key.name + "`";
    std::string columns;
    for (const std::string& column : key.child_columns) columns += (columns.empty() ? "" : ", ") + column;
    return "(" + columns + ")";
  }

  int Fault(const ForeignKeyDef& key, ForeignKeyFault fault, const std::string& column, const std::string& other = {}) {
    const std::string called = Called(key);
    switch (fault) {
      case ForeignKeyFault::kNone: return 0;
      case ForeignKeyFault::kNoColumn:
        Warn("%s table %s foreign key %s constraint failed. Column %s was not found.", called.c_str(), column.c_str());
        break;
      case ForeignKeyFault::kVirtualColumn: return Refuse("FOREIGN KEY with a virtual column");
      case ForeignKeyFault::kNoIndex:
        Warn("%s table %s with foreign key %s constraint failed. There is no index in the referenced table where the "
             "referenced columns appear as the first columns.", called.c_str());
        break;
      case ForeignKeyFault::kOnlyPrefix:
        Warn("%s table %s with foreign key %s constraint failed. There is only prefix index in the referenced table "
             "where the referenced columns appear as the first columns.", called.c_str());
        break;
      case ForeignKeyFault::kNotNullable:
        Warn("%s table %s with foreign key %s constraint failed. You have defined a SET NULL condition but column '%s' "
             "is defined as NOT NULL.", called.c_str(), column.c_str());
        break;
      case ForeignKeyFault::kColumnsDiffer:
        Warn("%s table %s with foreign key %s constraint failed. Field type or character set for column '%s' does not "
             "match referenced column '%s'.", called.c_str(), column.c_str(), other.c_str());
        break;
    }
    return HA_ERR_CANNOT_ADD_FOREIGN;
  }

  // Whether a stored generated column is computed from one of the key's, perhaps through virtual ones: nobody computes it
  // anew when the key's actions change that.
  bool HasGeneratedFromKey(const ForeignKeyDef& key) const {
    ColumnFlags change(form_.s->fields, false);
    for (size_t i = 0; i < def_.columns.size(); ++i) {
      change[i] = std::ranges::find(key.child_columns, def_.columns[i].name) != key.child_columns.end();
    }
    AddComputed(form_, &change);
    for (Field** at = form_.field; *at != nullptr; ++at) {
      const Field& field = **at;
      if (field.vcol_info != nullptr && field.stored_in_db() && ReadsAny(form_, *field.vcol_info, change)) return true;
    }
    return false;
  }

  int Check(const ForeignKeyDef& key, bool is_kept) {
    ForeignKeyPlace in_child, in_parent;
    size_t wrong = 0;
    ForeignKeyFault fault = FitToChild(key, def_, &in_child, &wrong);
    if (fault != ForeignKeyFault::kNone) return Fault(key, fault, key.child_columns[wrong]);
    const bool rewrites = ChangesChild(key.on_update) || key.on_delete == ForeignAction::kSetNull;
    if (rewrites && HasGeneratedFromKey(key)) {
      Warn("%s table %s with foreign key %s constraint failed. Its actions would change the base of a stored column.",
           Called(key).c_str());
      return HA_ERR_CANNOT_ADD_FOREIGN;
    }
    std::shared_ptr<catalog::Table> held;
    const TableDef* const parent = ParentOf(key.parent, &held);
    const bool is_asked = !is_kept && ChecksForeignKeys(thd_);  // each row that is there is to have a parent
    if (parent == nullptr) {
      if (!is_asked) return 0;
      const SqlName sql = SqlNameOf(key.parent);
      Warn("%s table %s with foreign key %s constraint failed. Referenced table `%s`.`%s` not found in the data "
           "dictionary.", Called(key).c_str(), sql.database.c_str(), sql.table.c_str());
      return HA_ERR_CANNOT_ADD_FOREIGN;
    }
    fault = PlaceForeignKey(*parent, key.parent_columns, &in_parent, &wrong);
    if (fault != ForeignKeyFault::kNone) return Fault(key, fault, key.parent_columns[wrong]);
    fault = FitTogether(def_, in_child, *parent, in_parent, CollationOfId, &wrong);
    if (fault != ForeignKeyFault::kNone) return Fault(key, fault, key.child_columns[wrong], key.parent_columns[wrong]);
    if (original_.empty() || !is_asked || !IsItself(key.parent) || FitsOriginal(key, in_child)) return 0;
    Warn("%s table %s with foreign key %s constraint failed. Rows look for their parents in the table as it was: the key "
         "needs a statement of its own.", Called(key).c_str());
    return HA_ERR_CANNOT_ADD_FOREIGN;
  }

  // Whether a copy's rows find what they refer to in the original: columns that have kept their names, and an index.
  bool FitsOriginal(const ForeignKeyDef& key, const ForeignKeyPlace& in_child) const {
    for (const std::string& column : key.parent_columns) {
      if (!SameIgnoringCase(NameAfter(*create_info_.alter_info, column).c_str(), column)) return false;
    }
    std::shared_ptr<catalog::Table> original;
    ForeignKeyPlace place;
    size_t wrong;
    return GlobalEngine()->catalog().Find(original_, &original).ok() &&
           PlaceForeignKey(original->def(), key.parent_columns, &place, &wrong) == ForeignKeyFault::kNone &&
           FitTogether(def_, in_child, original->def(), place, CollationOfId, &wrong) == ForeignKeyFault::kNone;
  }

  THD* const thd_;
  TABLE& form_;
  const HA_CREATE_INFO& create_info_;
  const TableDef& def_;
  const std::shared_ptr<const catalog::ForeignKeySet> set_;
  std::vector<ForeignKeyDef>& keys_;
  const std::string original_;
  size_t kept_count_ = 0;  // the first of keys_ are the original's
  uint64_t next_number_ = 0;
};

}  // namespace

std::vector<ForeignKeyPtr> KeptKeys(const catalog::ForeignKeySet& keys, const std::string& table,
                                    Alter_info* alter) {
  std::vector<ForeignKeyPtr> kept = keys.OfChild(table);
  std::erase_if(kept, [&](const ForeignKeyPtr& key) { return IsDropped(*key, alter); });
  return kept;
}

int ForeignKeysOfNewTable(THD* thd, TABLE& form, const HA_CREATE_INFO& create_info, const TableDef& def,
                          std::vector<ForeignKeyDef>* keys, std::string* original) {
  if (const std::string whole = catalog::Catalog::PartitionedTableOf(def.name); !whole.empty() && !catalog::IsNameOfCopy(whole)) {
    if (!GlobalEngine()->catalog().foreign_keys()->OfParent(whole).empty()) return RefusePartitionedParent();
  }
  // The statement's name is that of a table which a temporary one hides.
  *original = catalog::IsNameOfCopy(def.name) && !def.temporary ? AlteredTable(thd) : std::string();
  return Definitions(thd, form, create_info, def, keys, *original).Collect();
}

// What ALTER TABLE puts in the place of a table has been checked when it was made, and what takes back its changes goes
// where it was.
int CheckRename(const std::string& from, const std::string& to, const std::string& original) {
  const std::string from_whole = catalog::Catalog::PartitionedTableOf(from), to_whole = catalog::Catalog::PartitionedTableOf(to);
  const std::string& target = to_whole.empty() ? to : to_whole;
  if (catalog::IsNameOfCopy(to) || target == original || target == from_whole) return 0;
  if (catalog::IsNameOfCopy(from) && original.empty()) return 0;
  const auto set = GlobalEngine()->catalog().foreign_keys();
  const std::vector<ForeignKeyPtr>& waiting = set->OfParent(target);
  if (waiting.empty()) return 0;
  if (!to_whole.empty()) return RefusePartitionedParent();
  std::shared_ptr<catalog::Table> table;
  if (!GlobalEngine()->catalog().Find(from, &table).ok()) return 0;  // who renames it will say so
  for (const ForeignKeyPtr& key : waiting) {
    if (FaultOfReferring(*key, table->def()).fault != ForeignKeyFault::kNone) return HA_ERR_CANNOT_ADD_FOREIGN;
  }
  // A partition that becomes a table is versioned if its table is.
  return CheckUnversioned(current_thd, IsPartition("./" + from) ? from_whole : from);
}

void WarnOfTakenName(THD* thd, const std::string& table, const std::vector<ForeignKeyDef>& keys,
                     const std::string& name) {
  const SqlName sql = SqlNameOf(table);
  for (const ForeignKeyDef& key : keys) {
    if (key.name != name) continue;
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_FOUND_DUPP_KEY,
                        "CREATE or ALTER TABLE `%s`.`%s` failed: duplicate name, %s", sql.database.c_str(),
                        sql.table.c_str(), TextOf(thd, key).c_str());
    return;
  }
}

bool KeysOfAlteredStay(const TableDef& def, const TABLE& altered, const Alter_inplace_info& changes) {
  const auto set = GlobalEngine()->catalog().foreign_keys();
  if (set->OfChild(def.name).empty() && set->OfParent(def.name).empty()) return true;
  codec::RecordLayout layout;
  if (!LayoutOf(altered, &layout).ok()) return true;
  const TableDef now = DefinitionOf(altered, layout, def.name);
  const auto stays = [&](const std::vector<std::string>& columns) {
    ForeignKeyPlace then, place;
    size_t wrong;
    if (PlaceForeignKey(def, columns, &then, &wrong) != ForeignKeyFault::kNone) return true;
    std::vector<std::string> names;
    for (const std::string& column : columns) names.push_back(NameAfter(*changes.alter_info, column));
    if (PlaceForeignKey(now, names, &place, &wrong) == ForeignKeyFault::kNone) return true;
    my_error(ER_DROP_INDEX_FK, MYF(0), def.indexes[then.index].name.c_str());
    return false;
  };
  const auto is_dropped = [&](const ForeignKeyDef& key) { return IsDropped(key, changes.alter_info); };
  for (const ForeignKeyPtr& key : set->OfChild(def.name)) {
    if (!is_dropped(*key) && !stays(key->child_columns)) return false;
  }
  for (const ForeignKeyPtr& key : set->OfParent(def.name)) {
    if (!(key->child == def.name && is_dropped(*key)) && !stays(key->parent_columns)) return false;
  }
  return true;
}

}  // namespace cairn::server

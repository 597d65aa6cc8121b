// SPDX-License-Identifier: GPL-2.0-only
// Tables come, change their names and go. Each call is one atomic change of the dictionary.
#include "server/handler.h"

#include "catalog/column_history.h"
#include "server/alter_columns.h"
#include "server/alter_indexes.h"
#include "server/alter_values.h"
#include "server/ddl_recovery.h"
#include "server/errors.h"
#include "server/foreign_keys.h"
#include "server/partitions.h"
#include "server/table_map.h"
#include "server/table_options.h"

namespace cairn::server {
namespace {

// Options and clauses the engine would have to ignore; it refuses them by name instead.
Status RefusedClause(const TABLE& form) {
  for (uint key = 0; key < form.s->keys; ++key) {
    if (form.key_info[key].algorithm == HA_KEY_ALG_RTREE) return Status::NotSupported("SPATIAL KEY in ENGINE=CAIRN");
    if (form.key_info[key].algorithm == HA_KEY_ALG_FULLTEXT) return Status::NotSupported("FULLTEXT KEY in ENGINE=CAIRN");
  }
  return Status::Ok();
}

// Row formats that promise a layout of another engine. Those of InnoDB are taken as what they are
// there for most users: a wish for the usual one.
bool IsForeignRowFormat(row_type format) { return format == ROW_TYPE_FIXED || format == ROW_TYPE_PAGE; }

// As the server's engines without symbolic links: the table is made, and the user is told that it is
// not where they wanted it.
void WarnOfDirectories(THD* thd, const HA_CREATE_INFO& create_info) {
  const auto warn = [thd](const char* option) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, WARN_OPTION_IGNORED, ER_THD(thd, WARN_OPTION_IGNORED),
                        option);
  };
  if (create_info.data_file_name != nullptr) warn("DATA DIRECTORY");
  if (create_info.index_file_name != nullptr) warn("INDEX DIRECTORY");
}

// A table that foreign keys wait for already is not to be dropped from then on. Until its statement ends it may be: killed before that,
// the server takes it back at the next start, as the binary log does not have it. Of others nobody will ask.
catalog::Creation CreationOf(const catalog::TableDef& def) {
  const bool is_awaited = !def.temporary && !GlobalEngine()->catalog().foreign_keys()->OfParent(def.name).empty();
  return is_awaited ? catalog::Creation::kEndsWithStatement : catalog::Creation::kEndsHere;
}

Status CreateTable(THD* thd, const catalog::TableDef& def, uint64_t auto_increment_next, const std::vector<catalog::ForeignKeyDef>& keys,
                   const std::string& original) {
  const catalog::Creation creation = CreationOf(def);
  Session* const session = Session::Of(thd);
  // The server may have taken no table for the statement so far.
  if (creation == catalog::Creation::kEndsWithStatement) CAIRN_RETURN_IF_ERROR(session->BeginStatement());
  std::shared_ptr<catalog::Table> created;
  CAIRN_RETURN_IF_ERROR(GlobalEngine()->catalog().Create(def, auto_increment_next, &created, keys, original, creation));
  if (creation == catalog::Creation::kEndsWithStatement) {
    CAIRN_RETURN_IF_ERROR(session->transaction().Delete(store::Family::kDictionary, catalog::CreationKey(created->def().id)));
    session->syncs_commit = true;
  }
  session->created_table.Set(def.name, thd->query_id);
  return Status::Ok();
}

// Of no row: the default character set is that of columns to come, and of literals in expressions; from the second line on, hints that have no
// effect, as in InnoDB.
constexpr uint kCreateFieldsOfDefinition =
    HA_CREATE_USED_COMMENT | HA_CREATE_USED_DEFAULT_CHARSET | HA_CREATE_USED_AUTO |
    HA_CREATE_USED_MIN_ROWS | HA_CREATE_USED_MAX_ROWS | HA_CREATE_USED_AVG_ROW_LENGTH | HA_CREATE_USED_PACK_KEYS |
    HA_CREATE_USED_CHECKSUM | HA_CREATE_USED_PAGE_CHECKSUM | HA_CREATE_USED_DELAY_KEY_WRITE | HA_CREATE_USED_TRANSACTIONAL |
    HA_CREATE_USED_STATS_PERSISTENT | HA_CREATE_USED_STATS_AUTO_RECALC | HA_CREATE_USED_STATS_SAMPLE_PAGES;

}  // namespace

int Handler::create(const char* name, TABLE* form, HA_CREATE_INFO* create_info) {
  if (IsForeignRowFormat(create_info->row_type)) {
    my_error(ER_ILLEGAL_HA_CREATE_OPTION, MYF(0), table_type(), "ROW_TYPE");
    return HA_WRONG_CREATE_OPTION;
  }
  Status status = RefusedClause(*form);
  if (status.ok()) status = CheckOptions(ha_thd(), *form, *create_info);
  codec::RecordLayout layout;
  if (status.ok()) status = LayoutOf(*form, &layout);
  if (status.ok()) {
    catalog::TableDef def = DefinitionOf(*form, layout, TableNameOfPath(name));
    // The share of any table that is being created claims to be of a temporary one.
    def.temporary = create_info->tmp_table();
    std::vector<catalog::ForeignKeyDef> keys;
    std::string original;
    if (const int error = ForeignKeysOfNewTable(ha_thd(), *form, *create_info, def, &keys, &original); error != 0) {
      return error;
    }
    status = CreateTable(ha_thd(), def, create_info->auto_increment_value, keys, original);
    if (status.Is(Status::Code::kDuplicateKey)) {
      WarnOfTakenName(ha_thd(), def.name, keys, std::string(status.message()));
      return HA_ERR_FOUND_DUPP_KEY;
    }
  }
  if (status.ok()) {
    WarnOfDirectories(ha_thd(), *create_info);
    WarnOfOptions(ha_thd(), *form, *create_info);
  }
  if (status.Is(Status::Code::kNotSupported)) {
    // The caller prints only numbers of its own here.
    my_error(ER_NOT_SUPPORTED_YET, MYF(0), std::string(status.message()).c_str());
    return HA_WRONG_CREATE_OPTION;
  }
  const int error = Fail(status);
  // Else the caller's error is "Unknown error", and the reason a warning beneath it.
  if (error == kErrorWithMessage) my_error(ER_GET_ERRMSG, MYF(0), error, error_message_.c_str(), table_type());
  return error;
}

int Handler::rename_table(const char* from, const char* to) {
  const std::string before = TableNameOfPath(from), after = TableNameOfPath(to), original = AlteredTable(current_thd);
  int error = CheckRename(before, after, original);
  if (error != 0 || (DdlRecoveryEnded() && GatherRename(current_thd, from, to, &error))) return error;
  const catalog::ShownRename shown{.before = SqlNameOf(catalog::IsNameOfCopy(before) ? original : before).table,
                                   .after = SqlNameOf(after).table};
  const Status status = GlobalEngine()->catalog().Rename(before, after, original, shown);
  if (!status.ok() && !status.Is(Status::Code::kNotFound)) return Fail(status);
  if (!DdlRecoveryEnded()) return RenameInRecovery(from, to, status.ok());
  return status.ok() ? 0 : HA_ERR_NO_SUCH_TABLE;
}

bool HeldByPrepared(const catalog::TableDef& def) {
  return !def.temporary && GlobalEngine()->transactions().PreparedHaveWritten(def.indexes.front().id);
}

namespace {

// Whether a table may not be dropped if foreign keys refer to it. What the server takes back goes, as it has the table's definition file
// no longer, and so does what it leads to its end after a crash. But its log has a DROP TABLE that is refused, too, for a moment.
bool MayBeReferenced(const std::string& name) {
  if (!DdlRecoveryEnded()) {
    bool may_drop;
    return !GlobalEngine()->catalog().MayDropReferenced(name, &may_drop).ok() || !may_drop;
  }
  if (!ChecksForeignKeys(current_thd)) return false;
  const Session* const session = Session::Existing(current_thd);
  return session == nullptr || !session->created_table.Is(name, current_thd->query_id);
}

// The server goes on to ask for the other partitions, which are gone by then. To look for more each time would walk past all that have been dropped.
Status DropPartitionsOnce(THD* thd, const std::string& whole, bool is_there) {
  TableOfStatement& dropped = Session::Of(thd)->dropped_partitions;
  if (!is_there && dropped.Is(whole, thd->query_id)) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(GlobalEngine()->catalog().DropPartitionsOf(whole));
  dropped.Set(whole, thd->query_id);
  return Status::Ok();
}

}  // namespace

int DropTableByPath(const char* path) {
  std::shared_ptr<catalog::Table> table;
  const std::string name = TableNameOfPath(path);
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  // For the server a partitioned table is gone before its first partition; where it can be refused, it has been.
  const bool is_partition = IsPartition(path);
  const bool is_there = !catalog.Find(name, &table).Is(Status::Code::kNotFound);  // though damaged, perhaps
  if (table != nullptr && !is_partition && HeldByPrepared(table->def())) return HA_ERR_LOCK_WAIT_TIMEOUT;
  if (is_there && MayBeReferenced(name) && IsReferenced(current_thd, name)) return HA_ERR_ROW_IS_REFERENCED;
  std::string whole;
  const bool drops_all = (!is_there || is_partition) && DropsAllPartitions(current_thd, path, &whole);
  const Status status = drops_all ? DropPartitionsOnce(current_thd, whole, is_there) : catalog.Drop(name);
  if (status.Is(Status::Code::kNotFound)) return HA_ERR_NO_SUCH_TABLE;
  if (status.ok() && table != nullptr && table->def().temporary) {
    // The transaction that goes on would write them after all else of the table is gone.
    if (Session* const session = Session::Existing(current_thd)) session->transaction().ForgetTableCounters(table->def().id);
  }
  if (status.ok() && drops_all && !is_partition) (void)my_delete((std::string(path) + ".par").c_str(), MYF(0));
  if (status.ok()) GlobalEngine()->WakeReclaimer();
  std::string message;
  const int error = ServerError(current_thd, status, &message);
  // The server asks any handler for the text.
  if (error == kErrorWithMessage) Session::Of(current_thd)->error_message = std::move(message);
  return error;
}

// The partitions of a table change all at once, so any of them tells of all.
static Status FindTableOrPartition(const std::string& name, std::shared_ptr<catalog::Table>* table) {
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  Status status = catalog.Find(name, table);
  if (!status.Is(Status::Code::kNotFound)) return status;
  std::vector<std::string> partitions;
  CAIRN_RETURN_IF_ERROR(catalog.PartitionNames(name, &partitions));
  return partitions.empty() ? std::move(status) : catalog.Find(partitions.front(), table);
}

int CheckTableVersion(handlerton*, const char* path, const LEX_CUSTRING* version, ulonglong) {
  std::shared_ptr<catalog::Table> table;
  if (!FindTableOrPartition(TableNameOfPath(path), &table).ok()) return 1;
  const ByteView wanted = AsBytes(version->str, version->length);
  return table->def().server_version == wanted ? 0 : 1;
}

int Handler::delete_table(const char* name) { return DropTableByPath(name); }

int Handler::truncate() {
  const catalog::TableDef& def = access_->def();
  if (HeldByPrepared(def) || EmptiesHeldPartition(ha_thd(), *table, def.name)) return HA_ERR_LOCK_WAIT_TIMEOUT;
  std::shared_ptr<catalog::Table> emptied;
  Status status = GlobalEngine()->catalog().Truncate(TableNameOfPath(name_.c_str()), &emptied);
  if (!status.ok()) return Fail(status);
  GlobalEngine()->WakeReclaimer();
  codec::RecordLayout layout = access_->layout();
  std::shared_ptr<catalog::TableAccess> access;
  status = catalog::TableAccess::Make(std::move(emptied), std::move(layout), &access);
  if (!status.ok()) return Fail(status);
  lock_shared_ha_data();
  static_cast<TableShare*>(get_ha_share_ptr())->set_access(access);
  unlock_shared_ha_data();
  access_ = std::move(access);
  writer_bound_ = false;
  return 0;
}

// What EXCHANGE PARTITION and CONVERT TABLE make a partition stays as it is. The server compares indexes by their names, and does not look at
// which columns the partitioned table computes. But indexes must have the same places, as definition files of the server and definitions of
// the dictionary do not change places together, columns be stored the same way, and what is computed come to the values that are there.
static bool FitsPartitions(THD* thd, TABLE& table, const catalog::TableDef& def) {
  constexpr auto kTakesTableAsItIs = ALTER_PARTITION_EXCHANGE | ALTER_PARTITION_CONVERT_IN;
  if ((thd->lex->alter_info.partition_flags & kTakesTableAsItIs) == 0) return true;
  const TABLE_LIST* const partitioned = thd->lex->query_tables;
  if (partitioned == nullptr || partitioned->table == nullptr) return true;
  codec::RecordLayout layout;
  if (!LayoutOf(*partitioned->table, &layout).ok() || !catalog::CheckSameColumns(def, layout).ok()) return false;
  const auto indexes = DefinitionOf(*partitioned->table, layout, def.name).indexes;
  if (!catalog::CheckSameIndexes(def, indexes).ok()) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_TABLES_DIFFERENT_METADATA,
                        "CAIRN: both need the same indexes in the same order; see SHOW CREATE TABLE %s", partitioned->table_name.str);
    return false;
  }
  return !ChangesStoredValues(table, *partitioned->table);
}

// A partition can have no foreign keys. What the server says of EXCHANGE PARTITION it does not of CONVERT TABLE.
static bool LosesForeignKeys(THD* thd, Handler& handler, const catalog::TableDef& def) {
  if ((thd->lex->alter_info.partition_flags & ALTER_PARTITION_CONVERT_IN) == 0 || handler.can_switch_engines()) return false;
  my_error(ER_PARTITION_EXCHANGE_FOREIGN_KEY, MYF(0), SqlNameOf(def.name).table.c_str());
  return true;
}

// Whether a table of this definition can take the place of a partition as it is.
bool Handler::check_if_incompatible_data(HA_CREATE_INFO* create_info, uint table_changes) {
  if (LosesForeignKeys(ha_thd(), *this, access_->def())) return COMPATIBLE_DATA_NO;
  if (!FitsPartitions(ha_thd(), *table, access_->def())) return COMPATIBLE_DATA_NO;
  const bool numbers_differ = (create_info->used_fields & HA_CREATE_USED_AUTO) && create_info->auto_increment_value != 0;
  return table_changes != IS_EQUAL_YES || numbers_differ ? COMPATIBLE_DATA_NO : COMPATIBLE_DATA_YES;
}

bool Handler::can_convert_nocopy(const Field& before, const Column_definition& after) const { return OnlyGrows(before, after); }

// An index on a whole column has it whole afterwards, unless it is too long for one.
Compare_keys Handler::compare_key_parts(const Field& before, const Column_definition& after, const KEY_PART_INFO& old_part,
                                        const KEY_PART_INFO& new_part) const {
  if (!OnlyGrows(before, after)) return handler::compare_key_parts(before, after, old_part, new_part);
  if (old_part.length == new_part.length) return Compare_keys::Equal;
  const bool stays_whole = old_part.length == before.key_length() && new_part.length == after.length;
  return stays_whole ? Compare_keys::EqualButKeyPartLength : Compare_keys::NotEqual;
}

// Whether AUTO_INCREMENT = n comes with what has no counter, or not one alone, or has a way of its own to be altered.
static bool SetsCounterByCopy(const TABLE& table, const TABLE& altered, const Alter_inplace_info& changes) {
  if ((changes.create_info->used_fields & HA_CREATE_USED_AUTO) == 0) return false;
  return table.found_next_number_field == nullptr || altered.found_next_number_field == nullptr || table.part_info != nullptr ||
         altered.part_info != nullptr || (changes.handler_flags & kIndexChanges) != 0;
}

// Whether expressions of which rows were computed, checked or placed may come to other values by another default character set.
static bool ChangesLiterals(const TABLE& table, const TABLE& altered) {
  if (altered.s->table_charset == table.s->table_charset) return false;
  return table.vfield != nullptr || table.s->table_check_constraints != 0 || table.part_info != nullptr;
}

enum_alter_inplace_result Handler::check_if_supported_inplace_alter(TABLE* altered, Alter_inplace_info* changes) {
  if (RaiseError(ha_thd(), CheckAlteredOptions(ha_thd())) != 0) return HA_ALTER_ERROR;
  if (!KeysOfAlteredStay(access_->def(), *altered, *changes)) return HA_ALTER_ERROR;
  const HA_CREATE_INFO& create_info = *changes->create_info;
  alter_table_operations wanted = changes->handler_flags;
  if ((create_info.used_fields & ~kCreateFieldsOfDefinition) == 0) wanted &= ~ALTER_OPTIONS;
  if ((wanted & ~(kDictionaryOnly | kIndexChanges)) != 0 || (create_info.used_fields & HA_CREATE_USED_CHARSET) != 0 ||
      SetsCounterByCopy(*table, *altered, *changes) || ChangesLiterals(*table, *altered) ||
      table_share->row_type != create_info.row_type || create_info.sequence || altered->versioned() != table->versioned()) {
    const char* const reason = PrimaryKeyReason(*changes);
    changes->unsupported_reason = reason != nullptr ? reason : ReasonToCopy(ha_thd(), *changes);
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  if (ChangesStoredValues(*table, *altered, *changes) || ChangesColumnCheck(*changes)) {
    changes->unsupported_reason = "values of existing rows have to be computed or checked";
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  if ((wanted & kIndexChanges) != 0) return CheckIndexChanges(*table, *altered, wanted, changes);
  catalog::TableDef def;
  Status status = AlteredDefinition(access_->def(), *altered, *changes, &def);
  if (status.ok()) status = catalog::Succeed(access_->def(), &def);
  if (status.ok()) return HA_ALTER_INPLACE_INSTANT;
  if (status.Is(Status::Code::kNotSupported)) {
    changes->unsupported_reason = thd_strmake(ha_thd(), status.message().data(), status.message().size());
    // Another partition may have a shorter history and nothing against the change, and the server takes what the partition with the least
    // against it says. It asks all of them again when a clause has been added, which none can do.
    changes->handler_flags |= ALTER_RECREATE_TABLE;
  }
  return HA_ALTER_INPLACE_NOT_SUPPORTED;
}

bool Handler::prepare_inplace_alter_table(TABLE* altered, Alter_inplace_info* changes) {
  // It may have numbers that are not committed, and comes with numbers of its own.
  if ((changes->create_info->used_fields & HA_CREATE_USED_AUTO) != 0 && HeldByPrepared(access_->def())) {
    my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0));
    return true;
  }
  if (ChangesIndexes(*changes)) return PrepareIndexChanges(ha_thd(), *table, *altered, changes, access_);
  auto* context = new (ha_thd()->mem_root) AlterContext();
  changes->handler_ctx = context;
  return RaiseError(ha_thd(), AlteredDefinition(access_->def(), *altered, *changes, &context->def)) != 0;
}

bool Handler::inplace_alter_table(TABLE* altered, Alter_inplace_info* changes) {
  return ChangesIndexes(*changes) && BuildIndexes(ha_thd(), altered, changes);
}

// Of a partitioned table the server calls this for the first partition to commit all, and for each to roll back.
bool Handler::commit_inplace_alter_table(TABLE* altered, Alter_inplace_info* changes, bool commit) {
  if (ChangesIndexes(*changes)) {
    if (commit) return CommitIndexChanges(ha_thd(), altered, changes);
    RollBackIndexChanges(changes);
  }
  if (!commit) return false;
  if ((changes->create_info->used_fields & HA_CREATE_USED_AUTO) != 0) {
    if (const int error = MoveAutoIncrement(changes->create_info->auto_increment_value); error != 0) {
      print_error(error, MYF(0));
      return true;
    }
  }
  std::vector<catalog::TableDef> defs;
  for (AlterContext* context : ContextsOf(*changes)) defs.push_back(std::move(context->def));
  // All partitions have changed at once: the server is not to go on with the others.
  changes->group_commit_ctx = nullptr;
  return RaiseError(ha_thd(), GlobalEngine()->catalog().Redefine(std::move(defs))) != 0;
}

}  // namespace cairn::server

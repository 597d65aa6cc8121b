// SPDX-License-Identifier: GPL-2.0-only
// What the engine can do, and opening and closing of tables.
#include "server/handler.h"

#include "server/commands.h"
#include "server/errors.h"
#include "server/table_map.h"

namespace cairn::server {
namespace {

// The server lets a key that is not unique go on with the columns of the primary key that it lacks, and means to stop at two places. One is before
// the first that the primary key has a prefix of: entries do not give a prefix back, and beside the whole column they have it as a part
// of its own. The other is before the key gets too long for the buffers that are made for keys, some of them on the stack. But it goes on where it has
// appended no more parts than come before that one in the primary key (init_from_binary_frm_image() compares the two counts).
// Here it stops, for this open table. What is left are the first of the entry's parts behind the key's own.
void EndExtendedKeys(TABLE* table) {
  if (table->s->primary_key == MAX_KEY) return;
  const KEY& primary = table->key_info[table->s->primary_key];
  for (KEY* key = table->key_info; key != table->key_info + table->s->keys; ++key) {
    uint part = 0;
    uint bytes = 0;
    for (; part < key->user_defined_key_parts; ++part) bytes += key->key_part[part].store_length;
    key_part_map kept = 0;
    for (uint place = 0; part < key->ext_key_parts; ++place) {
      if ((primary.key_part[place].key_part_flag & HA_PART_KEY_SEG) != 0) break;
      const key_part_map bit = key_part_map{1} << place;
      if ((key->ext_key_part_map & bit) == 0) continue;
      bytes += key->key_part[part].store_length;
      if (bytes > MAX_DATA_LENGTH_FOR_KEY) break;
      kept |= bit;
      ++part;
    }
    if (part == key->ext_key_parts) continue;
    key->ext_key_part_map = kept;
    key->ext_key_parts = part;
    key->ext_key_flags &= ~HA_EXT_NOSAME;
  }
}

}  // namespace

Handler::Handler(handlerton* hton, TABLE_SHARE* share) : handler(hton, share) {}

Handler::~Handler() { LeaveSession(); }

// While a scan may have a cursor in the session's transaction, the session must know this handler.
void Handler::JoinSession() {
  if (is_registered_) return;
  session_->AddHolder(this);
  is_registered_ = true;
}

// The cursor goes, its position stays. A handler may serve another connection next.
void Handler::LeaveSession() {
  scan_.Detach();
  if (is_registered_) session_->RemoveHolder(this);
  is_registered_ = false;
}

handler::Table_flags Handler::table_flags() const {
  // Statements can be replayed in the order of their commits only if what they have read stays as it
  // is until then. READ COMMITTED does not see to that.
  const bool replayable = ha_thd() != nullptr && thd_tx_isolation(ha_thd()) >= ISO_REPEATABLE_READ;
  return (replayable ? HA_BINLOG_STMT_CAPABLE : 0) | HA_REC_NOT_IN_SEQ | HA_NULL_IN_KEY | HA_CAN_VIRTUAL_COLUMNS | HA_CAN_INDEX_BLOBS | HA_CAN_SQL_HANDLER |
         HA_PRIMARY_KEY_REQUIRED_FOR_POSITION | HA_PRIMARY_KEY_IN_READ_INDEX | HA_REQUIRES_KEY_COLUMNS_FOR_DELETE |
         HA_BINLOG_ROW_CAPABLE | HA_CAN_GEOMETRY | HA_PARTIAL_COLUMN_READ | HA_TABLE_SCAN_ON_INDEX |
         HA_ONLINE_ANALYZE | HA_CAN_TABLES_WITHOUT_ROLLBACK | HA_CONCURRENT_OPTIMIZE | HA_CAN_SKIP_LOCKED |
         HA_CRASH_SAFE;
}

ulong Handler::index_flags(uint key, uint, bool) const {
  const ulong flags =
      HA_READ_NEXT | HA_READ_PREV | HA_READ_ORDER | HA_READ_RANGE | HA_DO_INDEX_COND_PUSHDOWN;
  return flags | HA_KEYREAD_ONLY | (key == table_share->primary_key ? HA_CLUSTERED_INDEX : 0);
}

unsigned Handler::IndexOf(uint key) const { return IndexOfKey(*table, key); }

Status Handler::AccessOf(const char* name, std::shared_ptr<catalog::TableAccess>* access) {
  std::shared_ptr<catalog::Table> found;
  CAIRN_RETURN_IF_ERROR(GlobalEngine()->catalog().Find(TableNameOfPath(name), &found));
  codec::RecordLayout layout;
  CAIRN_RETURN_IF_ERROR(LayoutOf(*table, &layout));
  CAIRN_RETURN_IF_ERROR(catalog::CheckSameIndexes(found->def(), DefinitionOf(*table, layout, found->def().name).indexes));
  CAIRN_RETURN_IF_ERROR(CheckSameNames(found->def(), *table));
  return catalog::TableAccess::Make(std::move(found), std::move(layout), access);
}

// Takes what the handlers of this definition share, making it if this is the first.
Status Handler::BindAccess() {
  lock_shared_ha_data();
  auto* share = static_cast<TableShare*>(get_ha_share_ptr());
  Status status;
  if (share == nullptr) {
    std::shared_ptr<catalog::TableAccess> access;
    status = AccessOf(name_.c_str(), &access);
    if (status.ok()) {
      share = new TableShare();
      share->set_access(std::move(access));
      set_ha_share_ptr(share);
    }
  }
  if (share != nullptr) TakeAccess(*share);
  unlock_shared_ha_data();
  return status;
}

void Handler::TakeAccess(const TableShare& share) {
  access_version_ = share.version();
  access_ = share.access();
}

// A position is the primary key. Encoded keys of a fixed size compare fastest; keys with text would
// have to reserve room for the widest weights, so those stay in the server's own form.
void Handler::ChoosePositionForm() {
  if (access_->def().HasHiddenPrimaryKey()) {
    position_form_ = PositionForm::kRowId;
    ref_length = sizeof(uint64_t);
    return;
  }
  const KEY& key = table->key_info[table_share->primary_key];
  uint encoded_bytes = 0;
  bool fixed = true;
  for (const catalog::KeyPartDef& part : access_->def().indexes.front().parts) {
    const codec::ColumnLayout& column = access_->layout().columns[part.column];
    fixed &= column.type == codec::ColumnType::kInteger || column.type == codec::ColumnType::kFixedBytes;
    fixed &= part.prefix_bytes == 0 && !column.nullable;
    encoded_bytes += column.pack_length;
  }
  position_form_ = fixed ? PositionForm::kEncodedKey : PositionForm::kServerKey;
  ref_length = fixed ? encoded_bytes : key.key_length;
}

int Handler::open(const char* name, int, uint) {
  name_ = name;
  const Status status = BindAccess();
  if (status.Is(Status::Code::kNotFound)) return HA_ERR_NO_SUCH_TABLE;
  if (status.Is(Status::Code::kCorruption)) return FailForDefinition(status);
  if (!status.ok()) return Fail(status);
  has_blobs_ = table_share->blob_fields != 0;
  // A scan of the table may come to rows that an UPDATE has given another primary key: the server collects
  // positions first if it knows.
  key_used_on_scan = table_share->primary_key;
  ChoosePositionForm();
  EndExtendedKeys(table);
  stats.block_size = kCostedBlockBytes;
  // Statistics of indexes are common to all partitions. The server asks the largest one for them when all are open.
  const uint statistics = table->part_info == nullptr ? HA_STATUS_CONST : 0;
  const int error = info(HA_STATUS_NO_LOCK | HA_STATUS_VARIABLE | statistics);
  TellWhereLate();
  return error;
}

// Where the first to use an open table has named some of its partitions, the others are opened for who uses it next, and the server asks none of
// them. A table has its place for positions once it is open; while it is locked its partitions are only cloned. Its number of rows is that of what
// was read last, and counted anew when it is asked for.
void Handler::TellWhereLate() {
  handler* const whole = table->file;
  if (table->part_info == nullptr || whole->ref == nullptr || whole->get_lock_type() != F_UNLCK) return;
  const uint64_t rows = access_->table().row_count();
  if (rows <= whole->stats.records) return;
  whole->stats.records = rows;  // of those that are opened after this one, the larger ones tell
  (void)UpdateIndexStatistics();
}

int Handler::close() {
  EndCopy();
  LeaveSession();
  scan_.Close();
  referee_.reset();
  is_refereed_ = false;
  access_.reset();
  return 0;
}

int Handler::extra(ha_extra_function operation) {
  switch (operation) {
    case HA_EXTRA_KEYREAD:
      keyread_ = true;
      // Only who looks for overlapping periods begins to read keys in a walk that is open.
      if (scan_.is_open() && look_ == Look::kMaybe) look_ = Look::kForOverlap;
      break;
    case HA_EXTRA_NO_KEYREAD: keyread_ = false; break;
    case HA_EXTRA_IGNORE_DUP_KEY:
    case HA_EXTRA_WRITE_CAN_REPLACE:
    case HA_EXTRA_INSERT_WITH_UPDATE: tolerates_duplicates_ = true; break;
    // Also said of a history partition that the server adds before a statement writes (SYSTEM_TIME ... AUTO). Nothing is copied into that, and
    // the transaction is the user's.
    case HA_EXTRA_BEGIN_COPY: copy_begun_ = FillsNewTable(thd_sql_command(ha_thd())); break;
    case HA_EXTRA_BEGIN_ALTER_IGNORE_COPY: copy_begun_ = copy_ignores_duplicates_ = true; break;
    case HA_EXTRA_END_COPY: return FinishLoad();
    case HA_EXTRA_ABORT_COPY: EndCopy(); break;
    default: break;
  }
  return 0;
}

// The end of a statement for this table.
int Handler::reset() {
  EndCopy();
  tolerates_duplicates_ = false;
  LeaveSession();
  scan_.Close();
  row_condition_in_use_ = false;
  row_condition_.reset();
  inspected_condition_ = nullptr;
  reader_.Reset();
  writer_.Reset();
  if (is_refereed_) referee_->End();
  is_refereed_ = false;
  key_of_one_row_ = MAX_KEY;
  kept_value_.ShrinkAbove(size_t{1} << 20);
  caught_up_value_.ShrinkAbove(0);
  caught_up_before_.ShrinkAbove(0);
  keyread_ = false;
  covering_ = false;
  virtual_from_entry_ = false;
  plans_are_current_ = false;
  entry_plan_.reset();
  computed_texts_.reset();
  written_texts_.reset();
  changed_texts_.reset();
  old_texts_.reset();
  filter_plan_.reset();
  filter_row_plan_.reset();
  pushed_idx_cond = nullptr;
  pushed_idx_cond_keyno = MAX_KEY;
  in_range_check_pushed_down = false;
  return 0;
}

// The end of the whole transaction is told at once, as the first error of a statement stays: the server, on its way to print_error(), looks
// for a kill, and one that comes meanwhile would have the client hear of the end of its statement alone.
int Handler::Fail(const Status& status) {
  const int error = NoteErrorMessage(ServerError(ha_thd(), status, &error_message_));
  if (UndoesTransaction(error)) handler::print_error(error, MYF(0));
  return error;
}

// Of kCorruption where a definition was looked for. The server's own text for damage names the table of this handler, which need not be the
// damaged one, and blames an index.
int Handler::FailForDefinition(const Status& status) {
  sql_print_error("CAIRN: %s", status.ToString().c_str());
  error_message_ = status.ToString();
  return NoteErrorMessage(kErrorWithMessage);
}

int Handler::NoteErrorMessage(int error) {
  if (Session* const session = HasMessage(error) ? Session::Existing(ha_thd()) : nullptr) {
    session->error_message = error_message_;
  }
  return error;
}

int Handler::FailAtEnd(const Status& status, int end_error) {
  return status.Is(Status::Code::kNotFound) ? end_error : Fail(status);
}

void Handler::print_error(int error, myf flags) {
  if (UndoesTransaction(error) && ha_thd()->is_error()) {  // Fail() has told it
    if ((flags & ME_FATAL) != 0) ha_thd()->fatal_error();
    return;
  }
  if (error == HA_ERR_UNSUPPORTED && !error_message_.empty()) {
    my_error(ER_NOT_SUPPORTED_YET, MYF(0), error_message_.c_str());
    return;
  }
  handler::print_error(error, flags);
}

bool Handler::get_error_message(int error, String* text) {
  const bool names_foreign_key = error == HA_ERR_NO_REFERENCED_ROW || error == HA_ERR_ROW_IS_REFERENCED ||
                                 error == HA_ERR_FK_DEPTH_EXCEEDED;
  if (!HasMessage(error) && !names_foreign_key) return false;
  const Session* const session = Session::Existing(ha_thd());
  // A table that is dropped names no key.
  const std::string none;
  const std::string& message = names_foreign_key && access_ == nullptr ? none
                               : session == nullptr                    ? error_message_
                                                                       : session->error_message;
  text->copy(message.data(), message.size(), system_charset_info);
  return false;
}

void Handler::DetachCursors() { scan_.Detach(); }

void Handler::OnSessionEnd() {
  scan_.Close();
  reader_.Reset();
  referee_.reset();
  is_refereed_ = false;
  is_registered_ = false;
  session_ = nullptr;
}

}  // namespace cairn::server

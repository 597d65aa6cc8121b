// SPDX-License-Identifier: GPL-2.0-only
// Reading: scans, index reads, positions.
#include "server/handler.h"

#include "base/index_bounds.h"
#include "server/commands.h"

namespace cairn::server {

using codec::ColumnSet;
using scan::FoundRow;

namespace {

// A position's row id or encoded key leaves the index id out.
constexpr size_t kIndexIdBytes = 4;

}  // namespace

// --- What to decode ---

// A statement that writes needs whole rows: it encodes them again. Before it writes a sequence's row, the server compares it with the one that
// there is, also where it has not said that it writes (BeginUntold).
ColumnSet Handler::WantedColumns() const {
  const size_t column_count = access_->layout().columns.size();
  if (WritesRows() || IsSequence()) return ColumnSet::All(column_count);
  ColumnSet wanted(column_count);
  for (uint column = 0; column < column_count; ++column) {
    if (bitmap_is_set(table->read_set, column)) wanted.Add(column);
  }
  return wanted;
}

// With `keyread` the server wants only what the index holds, and will not compute the index's virtual
// columns itself: they come from the entry even when the row has to be read (to lock it, say). It need not have said so of its columns:
// while an index merge gathers positions, they still are those that it wants of the rows.
void Handler::PlanEntry(unsigned index) {
  ColumnSet held = access_->columns_of(index);
  held.AddAll(access_->columns_of(0));
  ColumnSet wanted = WantedColumns();
  wanted.KeepOnly(held);
  entry_plan_.emplace(access_->indexes()[index].Plan(wanted));
  covering_ = entry_plan_->complete() && !reader_.mode().locking && !WritesRows();
  if (covering_ || !access_->HasVirtualColumn(index)) return;
  ColumnSet columns(wanted.column_count());
  for (size_t column = 0; column < wanted.column_count(); ++column) {
    if (!access_->layout().columns[column].stored && access_->columns_of(index).Has(column)) columns.Add(column);
  }
  entry_plan_.emplace(access_->indexes()[index].Plan(columns));
  virtual_from_entry_ = true;
}

void Handler::PlanRow() {
  row_plan_is_stale_ = false;
  if (LacksVirtualColumns()) ReadVirtualColumns();
  ColumnSet wanted = WantedColumns();
  PlanVirtualColumns(&wanted);
  if (planned_access_ == access_.get() && *planned_columns_ == wanted) return;
  planned_access_ = access_.get();
  row_plan_.emplace(access_->rows().Plan(wanted));
  planned_columns_.emplace(std::move(wanted));
}

void Handler::MakePlans(unsigned index, bool keyread) {
  covering_ = virtual_from_entry_ = false;
  if (keyread && index != 0) PlanEntry(index);
  PlanRow();
  plans_are_current_ = true;
}

// The server changed which columns it wants in the middle of a statement. A sort does so twice a row, and back, before it reads the next.
void Handler::column_bitmaps_signal() {
  handler::column_bitmaps_signal();
  row_plan_is_stale_ = plans_are_current_;
}

// --- Delivering rows ---

// Whether something may detach the scan's cursor before it gives the next row: a change of this table, of rows that depend on others by
// foreign keys, or the begin of a load, by this statement or by what it calls. The server may have passed pointers on to another record.
bool Handler::MayLoseCursor() const {
  THD* const thd = ha_thd();
  return WritesRows() || thd_sql_command(thd) != SQLCOM_SELECT || thd->locked_tables_mode >= LTM_PRELOCKED ||
         reader_.transaction().HasWritten(access_->primary().id());
}

// Blob columns will point into the value, but a cursor's views die with it.
ByteView Handler::KeepValue(ByteView value) {
  if (!has_blobs_ || !MayLoseCursor()) return value;
  kept_value_.Assign(value);
  return kept_value_.view();
}

Status Handler::DecodeRow(uchar* record, const FoundRow& row) {
  if (covering_) {
    const codec::IndexCodec& codec = access_->indexes()[IndexOf(active_index)];
    if (access_->primary().has_hidden_row_id()) {
      lower_.Clear();  // search_key_ may be the entry's
      CAIRN_RETURN_IF_ERROR(codec.PrimaryKeyOf(row.key, row.value, &lower_));
      CAIRN_RETURN_IF_ERROR(access_->primary().HiddenRowIdOf(lower_.view(), &hidden_row_id_));
    }
    return codec.DecodeColumns(*entry_plan_, row.key, row.value, record);
  }
  if (row_plan_is_stale_) PlanRow();
  if (virtual_from_entry_ && !row.key.empty()) {
    CAIRN_RETURN_IF_ERROR(
        access_->indexes()[IndexOf(active_index)].DecodeColumns(*entry_plan_, row.key, row.value, record));
  }
  if (access_->primary().has_hidden_row_id()) {
    CAIRN_RETURN_IF_ERROR(access_->primary().HiddenRowIdOf(row.row.primary_key, &hidden_row_id_));
  }
  return access_->rows().Decode(*row_plan_, row.row.primary_key, KeepValue(row.row.value), record);
}

int Handler::Deliver(uchar* record, const Status& status, const FoundRow& row, int end_error) {
  if (!status.ok()) return FailAtEnd(status, end_error);
  changes_when_read_ = ChangesBeside();
  const Status decoded = DecodeRow(record, row);
  if (!decoded.ok()) return Fail(decoded);
  // Not what an entry has given: a row that was read by its position meanwhile may have planned more.
  if (!computed_.empty() && !covering_ && !ServerComputes(record)) ComputeForServer(record);
  return 0;
}

// --- Scans ---

void Handler::IndexBounds(unsigned index, ByteBuffer* lower, ByteBuffer* upper) const {
  const cairn::IndexBounds bounds(access_->indexes()[index].id());
  lower->Assign(bounds.lower());
  upper->Assign(bounds.upper());
}

int Handler::OpenScan(unsigned index) {
  using Ranges = scan::IndexScan::Options::Ranges;
  if (const int error = CheckReadView(index); error != 0) return error;
  JoinSession();
  const bool filtered = pushed_idx_cond != nullptr && pushed_idx_cond_keyno == active_index;
  look_ = reader_.mode().locking ? LookOf(active_index) : Look::kNone;
  // A transaction that a start found prepared has no lock on its hashes any more, but its entries are found by a walk that locks ranges.
  const bool is_hash_enough = look_ == Look::kForHash && !GlobalEngine()->transactions().FoundPrepared(access_->indexes()[index].id());
  const Ranges ranges = look_ == Look::kNone ? Ranges::kByMode : is_hash_enough ? Ranges::kNever : Ranges::kAlways;
  scan_.Open(&reader_, {.index = index, .covering = covering_, .filter = filtered ? this : nullptr, .ranges = ranges});
  narrowed_ = Narrowed::kNo;
  return 0;
}

int Handler::BeginRange(uchar* record, ByteView lower, ByteView upper, bool forward, int end_error) {
  FoundRow row;
  const Status status = forward ? scan_.First(lower, upper, &row) : scan_.Last(lower, upper, &row);
  return Deliver(record, status, row, end_error);
}

int Handler::MoveScan(uchar* record, bool forward) {
  JoinSession();
  FoundRow row;
  const Status status = forward ? scan_.Next(&row) : scan_.Previous(&row);
  return Deliver(record, status, row, HA_ERR_END_OF_FILE);
}

// XA COMMIT by name needs no metadata lock, so what is found to be held by nobody may have been until a moment ago. Partitions are copied one after
// the other: the view that the first has been read through may be older than what has been committed to a later one since.
int Handler::rnd_init(bool scan) {
  const bool may_copy = MayCopyTable(thd_sql_command(ha_thd()));
  if (may_copy && HeldByPrepared(access_->def())) return HA_ERR_LOCK_WAIT_TIMEOUT;
  if (const int error = BeginUntold(); error != 0) return error;
  // Positions that the walk has gathered are read through its own view.
  if (may_copy && scan) session_->DropReadView();
  BindReader();
  MakePlans(0, false);
  scan_started_ = false;
  row_condition_in_use_ = false;
  if (!scan) return 0;
  if (const int error = OpenScan(0); error != 0) return error;
  BeginRowCondition();
  return 0;
}

// A sequence's row is changed within a walk.
int Handler::rnd_end() {
  scan_.Close();
  row_condition_in_use_ = false;
  return EndAutonomous();
}

int Handler::rnd_next(uchar* record) {
  int error;
  if (scan_started_) {
    error = MoveScan(record, true);
  } else {
    scan_started_ = true;
    IndexBounds(0, &lower_, &upper_);
    error = BeginRange(record, lower_.view(), upper_.view(), true, HA_ERR_END_OF_FILE);
  }
  if (row_condition_in_use_) {
    CountPassedBy();
    EndIdleRowCondition();
  }
  return error;
}

int Handler::index_init(uint key, bool) {
  active_index = key;
  range_begin_.Clear();
  BindReader();
  const unsigned index = IndexOf(key);
  MakePlans(index, keyread_);
  const bool is_only_range = std::exchange(opens_only_range_, false);
  // Else it is a look at each row as well, or, once the transaction has changed the table, at entries.
  if (is_only_range && (index == 0 || covering_) && !reader_.ChangedByTransaction() && IsOnlyLook()) reader_.SetOnlyLook();
  return OpenScan(index);
}

int Handler::index_end() {
  scan_.Close();
  active_index = MAX_KEY;
  covering_ = virtual_from_entry_ = false;
  return 0;
}

// Says both ends of a range that is read backward, one range before each read. What is below its begin
// is then not asked for.
int Handler::prepare_range_scan(const key_range* begin, const key_range*) {
  range_begin_.Clear();
  if (begin == nullptr) return 0;
  const unsigned index = IndexOf(active_index);
  access_->indexes()[index].EncodeSearchKey(begin->key, PartCount(active_index, begin->keypart_map), &range_begin_);
  if (begin->flag == HA_READ_AFTER_KEY && !codec::AdvancePastPrefix(&range_begin_)) range_begin_.Clear();
  return 0;
}

// Narrows `lower` to the begin of the range that was prepared, if one was.
void Handler::LowerBoundOfRange(ByteBuffer* lower) {
  narrowed_ = Narrowed::kToRange;
  if (range_begin_.view().empty()) return;
  lower->Assign(range_begin_.view());
  range_begin_.Clear();
}

int Handler::index_first(uchar* record) {
  range_begin_.Clear();
  IndexBounds(IndexOf(active_index), &lower_, &upper_);
  UpperBoundOfRange(&upper_);
  narrowed_ = Narrowed::kNo;
  if (lower_.view() >= upper_.view()) return HA_ERR_END_OF_FILE;
  return BeginRange(record, lower_.view(), upper_.view(), true, HA_ERR_END_OF_FILE);
}

int Handler::index_last(uchar* record) {
  // Not narrowed: the server takes an error of the read that begins at the index's end for an empty table, and
  // asks for no range below this one.
  range_begin_.Clear();
  IndexBounds(IndexOf(active_index), &lower_, &upper_);
  narrowed_ = Narrowed::kNo;
  return BeginRange(record, lower_.view(), upper_.view(), false, HA_ERR_END_OF_FILE);
}

// How many parts of a search tuple are given. HA_WHOLE_KEY means all that the user declared.
unsigned Handler::PartCount(uint key, key_part_map parts) const {
  return parts == HA_WHOLE_KEY ? table->key_info[key].user_defined_key_parts
                               : static_cast<unsigned>(my_count_bits(parts));
}

// Narrows `upper` to where the server will stop anyway, so that the cursor does not wade through
// deleted entries behind it.
void Handler::UpperBoundOfRange(ByteBuffer* upper) const {
  if (end_range == nullptr) return;
  const uint part_count = PartCount(active_index, end_range->keypart_map);
  upper->Clear();
  access_->indexes()[IndexOf(active_index)].EncodeSearchKey(end_range->key, part_count, upper);
  if (end_range->flag != HA_READ_BEFORE_KEY && !codec::AdvancePastPrefix(upper)) {
    ByteBuffer unused_lower;
    IndexBounds(IndexOf(active_index), &unused_lower, upper);
  }
}

int Handler::index_read_map(uchar* record, const uchar* key, key_part_map parts, ha_rkey_function find_flag) {
  if (key == nullptr) return index_first(record);
  const unsigned index = IndexOf(active_index);
  const uint part_count = PartCount(active_index, parts);
  search_key_.Clear();
  access_->indexes()[index].EncodeSearchKey(key, part_count, &search_key_);
  if (look_ == Look::kForHash) {
    if (const Status locked = LockHash(); !locked.ok()) return Fail(locked);
  }
  const bool filtered = pushed_idx_cond != nullptr && pushed_idx_cond_keyno == active_index;
  if (find_flag == HA_READ_KEY_EXACT && MayReadPoint() && !filtered && IsPointKey(key, part_count)) {
    range_begin_.Clear();
    return ReadPoint(record);
  }

  ByteBuffer past;
  past.Assign(search_key_.view());
  if (!codec::AdvancePastPrefix(&past)) return HA_ERR_KEY_NOT_FOUND;
  IndexBounds(index, &lower_, &upper_);
  narrowed_ = Narrowed::kNo;
  bool forward = true;
  switch (find_flag) {
    case HA_READ_KEY_EXACT:
    case HA_READ_PREFIX:
      lower_.Assign(search_key_.view());
      upper_.Assign(past.view());
      narrowed_ = Narrowed::kToPrefix;
      break;
    case HA_READ_KEY_OR_NEXT:
      lower_.Assign(search_key_.view());
      UpperBoundOfRange(&upper_);
      break;
    case HA_READ_AFTER_KEY:
      lower_.Assign(past.view());
      UpperBoundOfRange(&upper_);
      // Nothing with other values in the columns before the period can overlap, nor has to stay away.
      if (look_ == Look::kForOverlap) {
        upper_.Clear();
        access_->indexes()[index].EncodeSearchKey(key, part_count - 1, &upper_);
        if (!codec::AdvancePastPrefix(&upper_)) return HA_ERR_KEY_NOT_FOUND;
      }
      break;
    case HA_READ_BEFORE_KEY:
      LowerBoundOfRange(&lower_);
      upper_.Assign(search_key_.view());
      forward = false;
      break;
    case HA_READ_KEY_OR_PREV:
    case HA_READ_PREFIX_LAST_OR_PREV:
      LowerBoundOfRange(&lower_);
      upper_.Assign(past.view());
      forward = false;
      break;
    case HA_READ_PREFIX_LAST:
      lower_.Assign(search_key_.view());
      upper_.Assign(past.view());
      narrowed_ = Narrowed::kToRange;  // who reads on backward wants no more than these
      forward = false;
      break;
    default:
      return HA_ERR_WRONG_COMMAND;
  }
  range_begin_.Clear();
  if (lower_.view() >= upper_.view()) return HA_ERR_KEY_NOT_FOUND;
  const int error = BeginRange(record, lower_.view(), upper_.view(), forward, HA_ERR_KEY_NOT_FOUND);
  return error == 0 && find_flag == HA_READ_AFTER_KEY && IsPastOverlaps(record) ? HA_ERR_KEY_NOT_FOUND : error;
}

int Handler::index_read_last_map(uchar* record, const uchar* key, key_part_map parts) {
  return index_read_map(record, key, parts, HA_READ_PREFIX_LAST);
}

int Handler::index_next(uchar* record) {
  if (narrowed_ == Narrowed::kToPoint) return ContinueFromPoint(record, true);
  if (narrowed_ != Narrowed::kNo) {
    scan_.Widen();
    narrowed_ = Narrowed::kNo;
  }
  const int error = MoveScan(record, true);
  return error == 0 && IsPastOverlaps(record) ? HA_ERR_END_OF_FILE : error;
}

int Handler::index_prev(uchar* record) {
  if (narrowed_ == Narrowed::kToPoint) return ContinueFromPoint(record, false);
  if (narrowed_ == Narrowed::kToRange) return MoveScan(record, false);
  // A forward read begins at its lower bound, so going back leaves the bounds.
  scan_.WidenDownwards();
  narrowed_ = Narrowed::kNo;
  return MoveScan(record, false);
}

int Handler::index_next_same(uchar* record, const uchar* key, uint key_length) {
  switch (narrowed_) {
    case Narrowed::kToPoint: return HA_ERR_END_OF_FILE;
    case Narrowed::kToPrefix: return MoveScan(record, true);
    case Narrowed::kToRange:
    case Narrowed::kNo: break;
  }
  return handler::index_next_same(record, key, key_length);
}

// --- Positions ---

void Handler::position(const uchar* record) {
  switch (position_form_) {
    case PositionForm::kRowId:
      StoreBe64(ref, hidden_row_id_);
      return;
    case PositionForm::kEncodedKey:
      lower_.Clear();  // search_key_ is that of a point, from which the server may read on
      access_->primary().EncodePrimaryKey(record, 0, &lower_);
      std::memcpy(ref, lower_.data() + kIndexIdBytes, ref_length);
      return;
    case PositionForm::kServerKey:
      key_copy(ref, record, &table->key_info[table_share->primary_key], ref_length);
      return;
  }
}

void Handler::EncodePosition(const uchar* position, ByteBuffer* key) const {
  key->Clear();
  if (position_form_ == PositionForm::kServerKey) {
    access_->primary().EncodeSearchKey(position, access_->primary().own_part_count(), key);
    return;
  }
  access_->primary().EncodeIndexPrefix(key);
  key->Append(position, ref_length);
}

int Handler::rnd_pos(uchar* record, uchar* position) {
  if (!plans_are_current_) MakePlans(0, false);
  EncodePosition(position, &lower_);
  scan_.PassUnlocked();
  FoundRow row;
  const bool covering = std::exchange(covering_, false);
  Status status = reader_.ByPrimaryKey(lower_.view(), &row.row);
  if (status.Is(Status::Code::kLockBusy) && skip_locked_) status = Status::NotFound();
  const int error = Deliver(record, status, row, HA_ERR_KEY_NOT_FOUND);
  covering_ = covering;
  return error;
}

// Positions order as the primary key does.
int Handler::cmp_ref(const uchar* a, const uchar* b) {
  if (position_form_ != PositionForm::kServerKey) return std::memcmp(a, b, ref_length);
  EncodePosition(a, &lower_);
  EncodePosition(b, &upper_);
  return lower_.view().compare(upper_.view());
}

}  // namespace cairn::server

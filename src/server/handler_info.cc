// SPDX-License-Identifier: GPL-2.0-only
// What the optimizer asks about a table, and CHECK, ANALYZE and OPTIMIZE.
#include "server/handler.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/index_bounds.h"
#include "scan/table_check.h"
#include "server/partitions.h"
#include "stats/cardinality.h"
#include "stats/dense_numbers.h"
#include "stats/range_estimate.h"

namespace cairn::server {
namespace {

constexpr ulong kMeanRowBytesUnknown = 100;

// Seconds since 1970; 0 where it cannot be told. The server writes a table's definition file when it is made or altered.
ulong TimeOfDefinition(const TABLE_SHARE& share) {
  char path[FN_REFLEN];
  strxnmov(path, sizeof path - 1, share.normalized_path.str, reg_ext, NullS);
  MY_STAT file;
  return my_stat(path, &file, MYF(0)) == nullptr ? 0 : static_cast<ulong>(file.st_ctime);
}

}  // namespace

// What the rows and the other indexes take, in files (compressed) and memory, with what is not compacted away yet.
void Handler::MeasureIndexes() {
  const std::vector<codec::IndexCodec>& indexes = access_->indexes();
  std::vector<cairn::IndexBounds> bounds;
  std::vector<store::KeyRange> ranges;
  bounds.reserve(indexes.size());  // the ranges point into it
  for (const codec::IndexCodec& index : indexes) {
    bounds.emplace_back(index.id());
    ranges.push_back({bounds.back().lower(), bounds.back().upper()});
  }
  std::vector<store::RangeEstimate> sizes(ranges.size());
  if (!GlobalEngine()->store().EstimateRanges(store::Family::kData, ranges, sizes).ok()) return;
  stats.index_file_length = 0;
  for (size_t index = 0; index < sizes.size(); ++index) {
    const uint64_t bytes = sizes[index].file_bytes + sizes[index].memory_bytes;
    if (index == 0) {
      stats.data_file_length = bytes;
    } else {
      stats.index_file_length += bytes;
    }
  }
}

Status Handler::SampleIndexes() {
  catalog::Table& live = access_->table();
  const uint64_t rows = live.row_count();
  const uint64_t changed = live.changed_rows();
  std::vector<std::vector<double>> sampled(access_->indexes().size());
  for (size_t index = 0; index < sampled.size(); ++index) {
    CAIRN_RETURN_IF_ERROR(
        stats::SampleIndex(GlobalEngine()->store(), access_->indexes()[index], rows, &sampled[index]));
  }
  live.SetStatistics(std::move(sampled), rows, changed);
  return Status::Ok();
}

// Copies the index statistics of the table into the server's structures, sampling them anew when
// the table has changed a lot since they were made. Those are common to all partitions: the server asks the largest one last that it has opened
// (TellWhereLate). Where a statement names partitions that is not the largest of all, and must not hide from others what that has told.
Status Handler::UpdateIndexStatistics() {
  catalog::Table& live = access_->table();
  // It may be the largest for this transaction alone, by rows of which no sample can be taken.
  if (table->part_info != nullptr && live.row_count() == 0 && OwnRows() > 0) return Status::Ok();
  if (live.StatisticsAreStale()) {
    // Others who open the table meanwhile go on with the sample before, if there is one.
    const bool is_first = live.BeginSample();
    Status sampled = is_first || live.statistics() == nullptr ? SampleIndexes() : Status::Ok();
    if (is_first) live.EndSample();
    CAIRN_RETURN_IF_ERROR(std::move(sampled));
  }
  const auto statistics = live.statistics();
  if (statistics == nullptr) return Status::Ok();
  const bool only_raises = !ReadsAllPartitions(*table);
  for (uint key = 0; key < table_share->keys; ++key) {
    const KEY& info = table->key_info[key];
    const std::vector<double>& per_value = statistics->rows_per_value[IndexOf(key)];
    const uint known = (info.flags & HA_NOSAME) ? info.user_defined_key_parts - 1 : info.ext_key_parts;
    for (uint part = 0; part < info.ext_key_parts; ++part) {
      const double value = part < per_value.size() && part < known ? per_value[part] : 1;
      // They are the share's: several who open the table may write them at once, and the optimizer reads them.
      const std::atomic_ref<ulong> shared(info.rec_per_key[part]);
      const ulong rows = static_cast<ulong>(std::max(1.0, value));
      if (!only_raises || rows > shared.load(std::memory_order_relaxed)) shared.store(rows, std::memory_order_relaxed);
    }
  }
  return Status::Ok();
}

// Rows that the connection's transaction has added, less those that it has removed: they are counted when it commits.
int64_t Handler::OwnRows() const {
  Session* const session = Session::Existing(ha_thd());
  return session == nullptr ? 0 : session->transaction().PendingTableCounters(access_->def().id).row_count;
}

// The same of a range of an index. A change of a row that stays puts it again into the index of rows: of those no more count than were added
// anywhere.
int64_t Handler::OwnRowsIn(unsigned index, ByteView lower, ByteView upper) const {
  Session* const session = Session::Existing(ha_thd());
  if (session == nullptr) return 0;
  const int64_t rows = session->transaction().CountOwn(lower, upper);
  return index == 0 ? std::min(rows, std::max<int64_t>(OwnRows(), 0)) : rows;
}

int Handler::info(uint flags) {
  if (flags & HA_STATUS_ERRKEY) errkey = session_ == nullptr ? MAX_KEY : session_->duplicate_key;
  if (flags & HA_STATUS_AUTO) {
    // A number given to a table without such a column counts nothing, and is not shown.
    const uint64_t next = table_share->found_next_number_field == nullptr ? 0 : access_->table().auto_increment_next();
    stats.auto_increment_value = next == 0 ? 1 : next;
  }
  // What has to be looked for is for users to see; the optimizer, and who opens a table of a thousand partitions, do without.
  const bool is_shown = (flags & (HA_STATUS_TIME | HA_STATUS_VARIABLE_EXTRA)) != 0;
  if (flags & HA_STATUS_VARIABLE) {
    const uint64_t committed = access_->table().row_count();
    stats.records = static_cast<ha_rows>(std::max<int64_t>(static_cast<int64_t>(committed) + OwnRows(), 0));
    stats.deleted = 0;
    // Never what an earlier call has measured: this handler is kept while the table grows and shrinks, and costs of scans follow.
    stats.data_file_length = 0;
    if (is_shown) MeasureIndexes();
    // What is measured is what is committed.
    stats.mean_rec_length = committed == 0 || stats.data_file_length == 0
                                ? kMeanRowBytesUnknown
                                : static_cast<ulong>(stats.data_file_length / committed) + 1;
    // The server reckons by blocks what it costs to read rows by positions that are no primary key.
    if (stats.data_file_length == 0) stats.data_file_length = stats.records * stats.mean_rec_length;
    // The optimizer takes a table of no rows for granted; ours may get some at any moment. HA_STATUS_OPEN is how the server counts history.
    if (stats.records == 0 && !(flags & (HA_STATUS_TIME | HA_STATUS_OPEN))) stats.records = 1;
  }
  const bool is_opened = (flags & HA_STATUS_CONST) && !(flags & HA_STATUS_NO_LOCK);  // partitions are not asked later
  if (is_shown || is_opened) stats.create_time = TimeOfDefinition(*table_share);
  // The table can do without; who reads what cannot be read is told.
  if (flags & HA_STATUS_CONST) (void)UpdateIndexStatistics();
  return 0;
}

// A sort takes it for how many rows its buffer has to hold.
ha_rows Handler::estimate_rows_upper_bound() {
  const auto own = static_cast<ha_rows>(std::max<int64_t>(OwnRows(), 0));
  return std::max<ha_rows>((access_->table().row_count() + own) * 2, 10);
}

// In units of the server's cost model: reads of blocks.
double Handler::scan_time() {
  return static_cast<double>(stats.records) * static_cast<double>(stats.mean_rec_length) / kCostedBlockBytes + 1;
}

// Rows of the primary index come one after the other, so each range is a search and a share of a scan. As the server has it, each
// of them would be a search: an UPDATE by the whole primary key then walked over, and locked, what another index has.
double Handler::read_time(uint key, uint ranges, ha_rows rows) {
  if (key != table_share->primary_key) return handler::read_time(key, ranges, rows);
  const double followers = rows > ranges ? static_cast<double>(rows - ranges) : 0;
  const double all = std::max(static_cast<double>(stats.records), 1.0);
  return ranges + std::min(followers / all, 1.0) * scan_time();
}

// Whether the statement names the index that is to be used, so that no estimate will choose another.
bool Handler::IsForced(uint key) const {
  return table->force_index && table->keys_in_use_for_query.bits_set() == 1 && table->keys_in_use_for_query.is_set(key);
}

// By the statistics: rows that share those leading values of the index that both ends have. 0: none are shared.
ha_rows Handler::RowsOfSharedValues(uint key, const key_range& min_key, const key_range& max_key) const {
  const KEY& info = table->key_info[key];
  const uint parts_max = std::min(PartCount(key, min_key.keypart_map), PartCount(key, max_key.keypart_map));
  uint parts = 0;
  for (uint offset = 0; parts < parts_max; ++parts) {
    const uint bytes = info.key_part[parts].store_length;
    if (std::memcmp(min_key.key + offset, max_key.key + offset, bytes) != 0) break;
    offset += bytes;
  }
  if (parts == 0) return 0;
  // The share's, which another who opens the table may be writing.
  const ulong rows = std::atomic_ref<ulong>(info.rec_per_key[parts - 1]).load(std::memory_order_relaxed);
  return std::max<ha_rows>(1, rows);
}

// Of the key over AUTO_INCREMENT numbers alone; 0: to be looked for, as for any other key.
ha_rows Handler::RowsOfNumbers(uint key, const key_range& min_key, const key_range& max_key) const {
  if (table_share->found_next_number_field == nullptr || table_share->next_number_index != key) return 0;
  const KEY& info = table->key_info[key];
  const KEY_PART_INFO& part = info.key_part[0];
  if (info.user_defined_key_parts != 1 || (info.flags & HA_NOSAME) == 0 || part.null_bit != 0 ||
      (part.key_part_flag & HA_REVERSE_SORT) != 0 || part.field->cmp_type() != INT_RESULT) {
    return 0;
  }
  // The image of such a part is that of its column. What int64_t cannot hold comes as negative, and is looked for.
  const auto first = static_cast<ulonglong>(part.field->val_int(min_key.key)) + (min_key.flag == HA_READ_AFTER_KEY ? 1 : 0);
  const auto last = static_cast<ulonglong>(part.field->val_int(max_key.key)) - (max_key.flag == HA_READ_BEFORE_KEY ? 1 : 0);
  const catalog::Table& live = access_->table();
  return stats::RowsOfDenseNumbers(static_cast<longlong>(first), static_cast<longlong>(last), live.row_count(),
                                   live.auto_increment_next());
}

// A range of a whole unique key the server counts as one row without asking. Where that is all of a key's ranges, and the key is one that
// the whole condition uses (opt_range_keys: not a part of an OR), no range of another key will be chosen, so that statistics are good
// enough for those (records_in_range). An UPDATE of a row asks for all keys.
ha_rows Handler::multi_range_read_info_const(uint key, RANGE_SEQ_IF* ranges, void* argument, uint count, uint* buffer_bytes,
                                             uint* flags, Cost_estimate* cost) {
  has_looked_ = false;
  const ha_rows rows = handler::multi_range_read_info_const(key, ranges, argument, count, buffer_bytes, flags, cost);
  if (rows == 1 && !has_looked_ && (table->key_info[key].flags & HA_NOSAME) != 0) {
    key_of_one_row_ = key;
  } else if (key_of_one_row_ == key) {
    key_of_one_row_ = MAX_KEY;
  }
  return rows;
}

ha_rows Handler::records_in_range(uint key, const key_range* min_key, const key_range* max_key, page_range*) {
  has_looked_ = true;
  const bool has_one_row =
      key_of_one_row_ != MAX_KEY && key_of_one_row_ != key && table->opt_range_keys.is_set(key_of_one_row_);
  if (min_key != nullptr && max_key != nullptr && (has_one_row || IsForced(key))) {
    const ha_rows rows = RowsOfSharedValues(key, *min_key, *max_key);
    if (rows != 0) return has_one_row ? std::max<ha_rows>(2, rows) : rows;
  }
  if (min_key != nullptr && max_key != nullptr) {
    const ha_rows rows = RowsOfNumbers(key, *min_key, *max_key);
    if (rows != 0) return rows;
  }
  const unsigned index = IndexOf(key);
  const codec::IndexCodec& codec = access_->indexes()[index];
  IndexBounds(index, &lower_, &upper_);
  if (min_key != nullptr) {
    lower_.Clear();
    codec.EncodeSearchKey(min_key->key, PartCount(key, min_key->keypart_map), &lower_);
    if (min_key->flag == HA_READ_AFTER_KEY && !codec::AdvancePastPrefix(&lower_)) return 0;
  }
  if (max_key != nullptr) {
    upper_.Clear();
    codec.EncodeSearchKey(max_key->key, PartCount(key, max_key->keypart_map), &upper_);
    if (max_key->flag != HA_READ_BEFORE_KEY && !codec::AdvancePastPrefix(&upper_)) return HA_POS_ERROR;
  }
  stats::RangeCount count;
  const stats::IndexSize size{access_->table().row_count(), &access_->table().density(index)};
  const Status status =
      stats::CountRange(GlobalEngine()->store(), codec.id(), lower_.view(), upper_.view(), size, &count);
  if (!status.ok()) return HA_POS_ERROR;
  // Nobody needs to know of own ones where another key leaves one row, and they would have to be put in order for it.
  const int64_t own = has_one_row ? 0 : OwnRowsIn(index, lower_.view(), upper_.view());
  // 0 would let the optimizer skip the range although rows may come.
  return static_cast<ha_rows>(std::max<int64_t>(1, static_cast<int64_t>(count.rows) + own));
}

// To who asked for maintenance, and to the error log.
void Handler::ReportProblem(THD* thd, const std::string& problem) {
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_NOT_KEYFILE, "CAIRN: %s", problem.c_str());
  sql_print_error("CAIRN: table %s: %s", access_->def().name.c_str(), problem.c_str());
}

int Handler::AnswerMaintenance(THD* thd, const Status& status) {
  if (status.ok()) return HA_ADMIN_OK;
  if (status.Is(Status::Code::kInterrupted)) return HA_ADMIN_FAILED;
  ReportProblem(thd, status.ToString());
  return status.Is(Status::Code::kCorruption) ? HA_ADMIN_CORRUPT : HA_ADMIN_FAILED;
}

int Handler::check(THD* thd, HA_CHECK_OPT* options) {
  scan::CheckOptions check;
  check.extended = !(options->flags & T_QUICK);
  check.interrupted = [thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; };
  // The statement has begun as the table was locked, and has forgotten there what was killed before.
  check.interrupt_flag = &Session::Of(thd)->transaction().interrupt_flag();
  check.complete_record = [this](uint8_t* record) {
    std::memcpy(table->record[0], record, table_share->reclength);
    if (table->vfield != nullptr) table->update_virtual_fields(this, VCOL_UPDATE_FOR_READ);
    std::memcpy(record, table->record[0], table_share->reclength);
  };
  MY_BITMAP* const old_read_set = table->read_set;
  MY_BITMAP* const old_write_set = table->write_set;
  table->use_all_columns();
  scan::CheckResult result;
  const Status status = scan::CheckTable(GlobalEngine()->store(), *access_, check, &result);
  table->column_bitmaps_set(old_read_set, old_write_set);
  if (status.Is(Status::Code::kInterrupted)) return HA_ADMIN_FAILED;
  if (!status.ok()) result.problems.push_back(status.ToString());
  for (const std::string& problem : result.problems) ReportProblem(thd, problem);
  return result.problems.empty() ? HA_ADMIN_OK : HA_ADMIN_CORRUPT;
}

int Handler::analyze(THD* thd, HA_CHECK_OPT*) {
  access_->table().InvalidateStatistics();
  return AnswerMaintenance(thd, UpdateIndexStatistics());
}

// The numbers of the table's indexes, in the store's order.
std::vector<uint32_t> Handler::SortedIndexNumbers() const {
  std::vector<uint32_t> numbers;
  for (const codec::IndexCodec& index : access_->indexes()) numbers.push_back(index.id().value);
  std::ranges::sort(numbers);
  return numbers;
}

// Small indexes lie in one file, which a compaction for each would write as many times. So there is one for all whose numbers follow each
// other: mostly one for those of unique keys and one for the others, whose numbers are far from those.
int Handler::optimize(THD* thd, HA_CHECK_OPT*) {
  store::CompactionInterrupt* const interrupt = Session::Of(thd)->AwaitInterrupt();
  const std::vector<uint32_t> numbers = SortedIndexNumbers();
  for (size_t first = 0, next; first < numbers.size(); first = next) {
    if (thd_kill_level(thd) != THD_IS_NOT_KILLED) return HA_ADMIN_FAILED;
    for (next = first + 1; next < numbers.size() && numbers[next] == numbers[next - 1] + 1;) ++next;
    const cairn::IndexBounds bounds(IndexId(numbers[first]), IndexId(numbers[next - 1]));
    const Status status =
        GlobalEngine()->store().CompactRange(store::Family::kData, bounds.lower(), bounds.upper(), interrupt);
    if (!status.ok()) return AnswerMaintenance(thd, status);
  }
  return analyze(thd, nullptr);
}

}  // namespace cairn::server

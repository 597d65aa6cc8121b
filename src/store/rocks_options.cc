// SPDX-License-Identifier: GPL-2.0-only
// All settings of RocksDB, derived from a memory budget and a number of cores.
#include "store/rocks_options.h"

#include <algorithm>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include "store/block_allocator.h"
#include "store/block_compression.h"
#include "store/counters_merge.h"
#include "store/deletion_marks.h"
#include "store/file_filters.h"
#include "store/load_pace.h"
#include "store/memtable_filter.h"
#include "store/memtable_rep.h"
#include "store/rocks_status.h"
#include "store/tickers.h"
#include "store/zstd_blocks.h"

namespace cairn::store {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

constexpr uint64_t kMemtableBytesMax = 128 * kMiB;
constexpr int kLevel0Files = 4;

rocks::BlockBasedTableOptions TableOptions(const StoreOptions& options, std::shared_ptr<rocks::Cache> cache) {
  rocks::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  // Of a block that the cache has not, most queries want a few rows. Twice this costs LinkBench's requests a
  // fifth more CPU time and twice the bytes read, and saves 5 % of space.
  table.block_size = 8 << 10;
  table.filter_policy = NewFileFilters();
  table.whole_key_filtering = true;
  // One bounded budget holds the metadata too; what every read needs stays in it.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.metadata_cache_options.unpartitioned_pinning = rocks::PinningTier::kFlushedAndSimilar;
  table.metadata_cache_options.top_level_index_pinning = rocks::PinningTier::kAll;
  if (options.paranoid) table.detect_filter_construct_corruption = true;
  return table;
}

void SetCompression(rocks::ColumnFamilyOptions* family, const std::shared_ptr<rocks::Cache>& cache) {
  // LZ4 from the first flush on, and in the level that takes in level 0; what gets farther is merged less often, and stays longer.
  family->compression_per_level.assign(family->num_levels, rocks::kZSTD);
  std::fill_n(family->compression_per_level.begin(), 2, rocks::kLZ4Compression);
  family->bottommost_compression = rocks::kZSTD;
  family->bottommost_compression_opts.enabled = true;
  family->bottommost_compression_opts.level = kZstdLevel;
  // Of a file's blocks, what waits in memory until they have a dictionary. With a whole file it would take 1 % less.
  family->bottommost_compression_opts.max_dict_buffer_bytes = 4 * kMiB;
  family->compression_manager = NewBlockCompression(cache);
}

rocks::ColumnFamilyOptions DataFamily(const StoreOptions& options, const rocks::BlockBasedTableOptions& table) {
  rocks::ColumnFamilyOptions family;
  family.table_factory.reset(rocks::NewBlockBasedTableFactory(table));
  family.write_buffer_size = UsualWriteBuffers(options.memory_bytes).each_bytes;
  family.max_write_buffer_number = 3;
  // History of flushed memtables serves only RocksDB's own conflict checks; 0 would mean a lot.
  family.max_write_buffer_size_to_maintain = 1;
  // Filters know the beginnings of keys too: a range within one of them passes by files that have none.
  family.prefix_extractor.reset(rocks::NewCappedPrefixTransform(kFilteredPrefixBytes));
  family.memtable_factory = std::make_shared<MemtableTreeFactory>();
  family.level_compaction_dynamic_level_bytes = true;
  family.level0_file_num_compaction_trigger = kLevel0Files;  // many times as many in a load: store/load_pace.h
  // While a load's files are compacted as many come again, on a busy machine.
  family.level0_slowdown_writes_trigger = 2 * kLevel0Files * static_cast<int>(kLoadTimes) + 8;
  family.level0_stop_writes_trigger = family.level0_slowdown_writes_trigger + 24;
  // The level below holds what level 0 hands down at once, four memtables compressed to half their size. With
  // 256 MiB at least, a LinkBench of 400 MB had a third of its data there.
  family.max_bytes_for_level_base = 2 * family.write_buffer_size;
  // A level of a few files only would be rewritten as a whole.
  family.target_file_size_base = std::clamp(family.write_buffer_size / 2, 8 * kMiB, 64 * kMiB);
  family.bottommost_file_compaction_delay = 300;
  family.memtable_op_scan_flush_trigger = 10'000;
  family.memtable_max_range_deletions = 100;
  family.optimize_filters_for_hits = false;  // unique checks mostly miss
  family.table_properties_collector_factories.push_back(NewDeletionMarks());
  SetCompression(&family, table.block_cache);
  if (options.paranoid) {
    family.memtable_protection_bytes_per_key = 8;
    family.block_protection_bytes_per_key = 8;
    family.paranoid_file_checks = true;
  }
  return family;
}

rocks::ColumnFamilyOptions DictionaryFamily(const rocks::ColumnFamilyOptions& data) {
  rocks::ColumnFamilyOptions family = data;
  family.write_buffer_size = 4 * kMiB;
  family.max_bytes_for_level_base = 16 * kMiB;
  family.merge_operator = NewCountersMergeOperator();
  return family;
}

void SetWal(const StoreOptions& options, rocks::DBOptions* db) {
  db->wal_recovery_mode = rocks::WALRecoveryMode::kPointInTimeRecovery;
  // A full memtable's log has three quarters of its size, and is there until the memtable has been flushed and the dictionary
  // lets go of it (store/log_release.h): three of them. With less, a load's memtables would be flushed before they are full. It
  // cannot be changed with a load's pace: that waits for writers, who may wait for compactions.
  db->max_total_wal_size = std::max(3 * LoadWriteBuffers(options.memory_bytes).each_bytes, 16 * kMiB);
  // Space allocated ahead, 35 MB for the log of a memtable of 32 MB, is space taken: half of what a small database
  // has beside its files. A sync of a log takes as long without (ext4: 3.4 ms each).
  db->allow_fallocate = false;
  db->bytes_per_sync = kMiB;
  db->wal_bytes_per_sync = kMiB;
  db->manual_wal_flush = false;
  // What is written without the log (store_open.cc) is nothing that a close would have to flush.
  db->avoid_flush_during_shutdown = true;
  db->two_write_queues = false;
  db->enable_pipelined_write = false;
  db->unordered_write = false;
}

}  // namespace

WriteBuffers UsualWriteBuffers(uint64_t memory_bytes) {
  // A fifth, but never most of a small budget.
  const uint64_t least = std::min(64 * kMiB, memory_bytes / 2);
  const uint64_t all_bytes = std::clamp(memory_bytes / 5, least, 4 * kGiB);
  // One memtable that fills and one on its way to disk take it. With four to share it, files of level 0
  // are half as large: LinkBench's load compacted a third more bytes.
  return {.each_bytes = std::clamp(all_bytes / 2, 4 * kMiB, kMemtableBytesMax), .all_bytes = all_bytes};
}

WriteBuffers LoadWriteBuffers(uint64_t memory_bytes) {
  const WriteBuffers usual = UsualWriteBuffers(memory_bytes);
  const uint64_t each_bytes = std::max(usual.each_bytes, std::min(memory_bytes / 4, kMemtableBytesMax));
  return {.each_bytes = each_bytes, .all_bytes = std::max(usual.all_bytes, 2 * each_bytes)};
}

Status DeriveRocksOptions(const StoreOptions& options, rocks::Env* env,
                          std::shared_ptr<rocks::SstFileManager> files,
                          std::vector<std::shared_ptr<rocks::EventListener>> listeners, RocksOptions* derived) {
  const unsigned cores = std::max(options.cores, 1u);
  const uint64_t cache_bytes = options.memory_bytes / 100 * 85;
  rocks::HyperClockCacheOptions cache_options(cache_bytes, 0);
  cache_options.memory_allocator = NewBlockAllocator(cache_bytes);
  const auto cache = cache_options.MakeSharedCache();

  rocks::DBOptions db;
  db.env = env;
  db.create_if_missing = options.create_if_missing;
  db.create_missing_column_families = options.create_if_missing;
  db.write_buffer_manager = std::make_shared<rocks::WriteBufferManager>(
      UsualWriteBuffers(options.memory_bytes).all_bytes, cache, /*allow_stall=*/false);
  db.max_background_jobs = static_cast<int>(std::clamp(cores / 2, 2u, 16u));
  db.max_subcompactions = std::clamp(cores / 8, 1u, 4u);
  db.sst_file_manager = std::move(files);
  db.listeners = std::move(listeners);
  db.statistics = std::make_shared<Tickers>();
  // Of each file, up to a hundred at once, beside the budget.
  db.compaction_readahead_size = std::clamp(options.memory_bytes / 1536, kMiB / 8, 2 * kMiB);
  db.prefix_seek_opt_in_only = true;
  db.keep_log_file_num = 5;
  db.max_log_file_size = 16 * kMiB;
  SetWal(options, &db);

  rocks::ConfigOptions config;
  config.env = env;
  config.input_strings_escaped = false;
  CAIRN_RETURN_IF_ERROR(FromRocks(
      rocks::GetDBOptionsFromString(config, db, options.expert_db_options, &derived->db)));
  if (!derived->db.wal_dir.empty() && derived->db.wal_dir != options.directory) {
    return Status::InvalidArgument("wal_dir: the logs are checked, synced and counted where the store is");
  }
  if (derived->db.allow_mmap_writes) {
    return Status::InvalidArgument("allow_mmap_writes: the logs could not be synced while others write to them");
  }
  if (!derived->db.paranoid_checks) {
    return Status::InvalidArgument("paranoid_checks=false: logs that cannot be written or read would pass for good ones");
  }
  const auto data = DataFamily(options, TableOptions(options, cache));
  CAIRN_RETURN_IF_ERROR(FromRocks(rocks::GetColumnFamilyOptionsFromString(
      config, data, options.expert_family_options, &derived->data)));
  derived->dictionary = DictionaryFamily(derived->data);
  // The dictionary's memtables have no filters: what is looked up there is there, and each commit of new rows writes there.
  if (derived->data.memtable_factory == data.memtable_factory) {
    derived->memtables = std::make_shared<MemtableTreeFactory>(derived->data.write_buffer_size);
    derived->data.memtable_factory = derived->memtables;
  }
  return Status::Ok();
}

}  // namespace cairn::store

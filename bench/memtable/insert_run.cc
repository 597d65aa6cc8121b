// SPDX-License-Identifier: GPL-2.0-only
// One measured fill of an empty RocksDB with random keys.
#include "insert_run.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>

#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include "random.h"
#include "store/memtable_rep.h"

namespace cairn::bench::memtable {
namespace {

namespace rocks = ROCKSDB_NAMESPACE;

constexpr size_t kNumberBytes = 8;
constexpr size_t kValuePoolBytes = size_t{1} << 20;

void Check(const rocks::Status& status, const char* what) {
  if (!status.ok()) throw std::runtime_error(std::string(what) + ": " + status.ToString());
}

double ClockSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Keys as db_bench's fillrandom makes them: a big-endian number, filled up with '0'.
class KeyText {
 public:
  explicit KeyText(uint32_t bytes) : text_(bytes, '0') {}

  rocks::Slice Of(uint64_t number) {
    for (size_t i = 0; i < kNumberBytes; ++i) text_[i] = static_cast<char>(number >> (56 - 8 * i));
    return text_;
  }

 private:
  std::string text_;
};

rocks::Options RocksOptions(const InsertOptions& options) {
  rocks::Options rocks;
  rocks.create_if_missing = true;
  rocks.error_if_exists = true;
  rocks.write_buffer_size = options.write_buffer_bytes;
  rocks.max_write_buffer_number = static_cast<int>(options.write_buffers);
  rocks.disable_auto_compactions = true;
  rocks.compression = rocks::kNoCompression;
  // Without compaction level 0 only grows; its length must not hold up the writer.
  constexpr int kNever = 1 << 30;
  rocks.level0_slowdown_writes_trigger = kNever;
  rocks.level0_stop_writes_trigger = kNever;
  rocks.soft_pending_compaction_bytes_limit = 0;
  rocks.hard_pending_compaction_bytes_limit = 0;
  rocks.allow_concurrent_memtable_write = false;
  rocks.enable_pipelined_write = true;
  rocks.enable_write_thread_adaptive_yield = true;
  // Small buffers leave more files than a process may usually have open.
  rocks.max_open_files = 256;
  if (options.representation == Representation::kTree) {
    rocks.memtable_factory = std::make_shared<store::MemtableTreeFactory>();
  } else if (options.representation == Representation::kVector) {
    rocks.memtable_factory = std::make_shared<rocks::VectorRepFactory>();
  }
  rocks.statistics = rocks::CreateDBStatistics();
  rocks.statistics->set_stats_level(rocks::StatsLevel::kExceptDetailedTimers);
  return rocks;
}

void Insert(rocks::DB* db, const InsertOptions& options, Random* random) {
  rocks::WriteOptions write;
  write.disableWAL = true;
  std::string pool(std::max<size_t>(kValuePoolBytes, options.value_bytes), '\0');
  Random content(options.seed, 1);
  for (char& byte : pool) byte = static_cast<char>(content.Next());
  KeyText key(options.key_bytes);
  rocks::WriteBatch batch;
  for (uint64_t done = 0; done < options.keys;) {
    batch.Clear();
    for (uint32_t i = 0; i < options.batch && done < options.keys; ++i, ++done) {
      const size_t start = done * options.value_bytes % (pool.size() - options.value_bytes + 1);
      Check(batch.Put(key.Of(random->Below(options.keys)), rocks::Slice(pool.data() + start, options.value_bytes)),
            "batch");
    }
    Check(db->Write(write, &batch), "insert");
  }
}

// The first keys of the same random stream must be there.
uint64_t ReadBack(rocks::DB* db, const InsertOptions& options) {
  const uint64_t sample = std::min<uint64_t>(options.keys, 1000);
  Random random(options.seed);
  KeyText key(options.key_bytes);
  std::string value;
  for (uint64_t i = 0; i < sample; ++i) {
    Check(db->Get(rocks::ReadOptions(), key.Of(random.Below(options.keys)), &value), "read back");
    if (value.size() != options.value_bytes) throw std::runtime_error("read back: a value has another length");
  }
  return sample;
}

InsertResult Measure(rocks::DB* db, const InsertOptions& options, rocks::Statistics& statistics) {
  InsertResult result;
  Random random(options.seed);
  const double wall = ClockSeconds(CLOCK_MONOTONIC);
  const double process = ClockSeconds(CLOCK_PROCESS_CPUTIME_ID);
  const double writer = ClockSeconds(CLOCK_THREAD_CPUTIME_ID);
  Insert(db, options, &random);
  result.seconds = ClockSeconds(CLOCK_MONOTONIC) - wall;
  result.process_cpu_seconds = ClockSeconds(CLOCK_PROCESS_CPUTIME_ID) - process;
  result.writer_cpu_seconds = ClockSeconds(CLOCK_THREAD_CPUTIME_ID) - writer;
  result.inserted = statistics.getTickerCount(rocks::NUMBER_KEYS_WRITTEN);
  result.stall_us = statistics.getTickerCount(rocks::STALL_MICROS);
  result.flushed_bytes = statistics.getTickerCount(rocks::FLUSH_WRITE_BYTES);
  std::string files;
  if (db->GetProperty(rocks::DB::Properties::kNumFilesAtLevelPrefix + "0", &files)) result.files = std::stoull(files);
  if (result.inserted != options.keys) throw std::runtime_error("RocksDB counted another number of inserts");
  return result;
}

}  // namespace

InsertResult RunInserts(const InsertOptions& options) {
  rocks::Options rocks = RocksOptions(options);
  Check(rocks::DestroyDB(options.directory, rocks), "delete the old database");
  std::unique_ptr<rocks::DB> db;
  Check(rocks::DB::Open(rocks, options.directory, &db), "open");
  InsertResult result = Measure(db.get(), options, *rocks.statistics);
  // A vector memtable sorts itself anew for each reader.
  Check(db->Flush(rocks::FlushOptions()), "flush");
  result.checked = ReadBack(db.get(), options);
  Check(db->Close(), "close");
  db.reset();
  Check(rocks::DestroyDB(options.directory, rocks), "delete the database");
  return result;
}

std::string RocksdbVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." + std::to_string(ROCKSDB_PATCH);
}

}  // namespace cairn::bench::memtable

// SPDX-License-Identifier: GPL-2.0-only
// One measured fill of an empty RocksDB with random keys.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::bench::memtable {

enum class Representation { kTree, kSkipList, kVector };  // kTree: the engine's own

struct InsertOptions {
  std::string directory;  // made anew; an existing database in it is deleted
  uint64_t keys = 10'000'000;  // inserts, and the range keys are drawn from
  uint64_t write_buffer_bytes = uint64_t{32} << 20;
  uint32_t write_buffers = 8;
  uint32_t batch = 8;
  uint32_t key_bytes = 16;  // at least 8
  uint32_t value_bytes = 100;
  uint64_t seed = 1;
  Representation representation = Representation::kTree;
};

// What the fill took. Times are of the inserts alone: neither opening, nor flushes that are still
// under way at the last insert, nor the check.
struct InsertResult {
  uint64_t inserted = 0;
  double seconds = 0;
  double process_cpu_seconds = 0;  // with the flushes of the background
  double writer_cpu_seconds = 0;   // of the one thread that inserts
  uint64_t stall_us = 0;           // the writer waited for flushes
  uint64_t flushed_bytes = 0;      // until the last insert
  uint64_t files = 0;              // in level 0 after the last insert
  uint64_t checked = 0;            // keys read back
};

// Inserts on the calling thread: no write-ahead log, no compaction, no compression. Then reads a sample
// of the keys back and deletes the database. Throws std::runtime_error with what failed.
InsertResult RunInserts(const InsertOptions& options);

// The version of RocksDB it was linked with, e.g. "11.8.1".
std::string RocksdbVersion();

}  // namespace cairn::bench::memtable

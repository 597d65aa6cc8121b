// SPDX-License-Identifier: GPL-2.0-only
// What the engine is started with, and what may change while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/log_sink.h"
#include "base/status.h"
#include "store/types.h"
#include "txn/row_locks.h"

namespace cairn::engine {

struct EngineOptions {
  std::string directory;
  uint64_t memory_bytes = 0;  // 0: derived from the machine's or the cgroup's memory
  unsigned cores = 0;         // 0: as many as this process may use
  std::string expert_db_options;
  std::string expert_family_options;
  LogSink* log = nullptr;               // optional; longer-lived than the engine
  txn::WaitObserver* observer = nullptr;  // optional; longer-lived than the engine
  std::function<std::string(ByteView)> name_text;  // of a prepared transaction's name, for the log; optional
  // Optional; shown the name of every prepared transaction once a second: see TransactionManager::VisitPrepared().
  std::function<void(const std::string& name)> on_prepared;
};

// The memory budget where the user gives none: a third of what the machine or the process's cgroup (base/cgroup_memory.h), whichever has
// less, has beyond 256 MiB; at least 32 MiB. Most of the rest is the operating system's cache of files, where blocks are compressed.
uint64_t DefaultMemoryBytes();

// Keeps the C library from giving each of many threads a heap of its own: what is free in one serves no
// other, so the process outgrew the budget. One heap a core, two at least, unless the environment says
// something else. Call it before threads are many; for glibc only, and for the whole process.
void LimitHeaps(unsigned cores);

// When a commit reaches the disk. The numbers are those of the setting.
enum class FlushAtCommit : uint8_t {
  kEverySecond = 0,  // at most a second of commits may be lost with the process or the machine
  kSync = 1,         // nothing acknowledged is lost
  kOs = 2,           // at most a second may be lost with the machine, nothing with the process
};

inline store::Durability DurabilityOf(FlushAtCommit flush) {
  switch (flush) {
    case FlushAtCommit::kEverySecond: return store::Durability::kBuffered;
    case FlushAtCommit::kOs: return store::Durability::kOs;
    case FlushAtCommit::kSync: break;
  }
  return store::Durability::kSync;
}

}  // namespace cairn::engine

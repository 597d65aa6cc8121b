// SPDX-License-Identifier: GPL-2.0-only
// For tests: a store in memory that can crash and come back.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/fault_environment.h"
#include "store/store.h"

namespace cairn::store {

// Gathers log lines. Thread rule: as LogSink; lines() only when nobody logs.
class LogLines final : public LogSink {
 public:
  void Log(LogLevel, std::string_view line) override {
    std::lock_guard lock(mutex_);
    text_.append(line).push_back('\n');
  }
  std::string text() {
    std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

class StoreFixture {
 public:
  StoreFixture() {
    options.directory = "/db";
    options.memory_bytes = uint64_t{32} << 20;
    options.environment = &env;
    options.log = &log;
  }

  void Open() {
    const Status status = Store::Open(options, &store);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Reopen() {
    store.reset();
    Open();
  }
  // The machine loses power.
  void Crash() {
    env.Freeze();
    store.reset();
    env.LoseUnsynced();
  }
  // The process dies; what the operating system has, remains.
  void Kill() {
    env.Freeze();
    store.reset();
    env.Thaw();
  }

  // The value of a key, "-" when there is none, or the error.
  std::string Get(ByteView key, const Snapshot* snapshot = nullptr, Family family = Family::kData) {
    PinnedValue value;
    const Status status = store->Get(family, key, snapshot, &value);
    if (status.Is(Status::Code::kNotFound)) return "-";
    return status.ok() ? std::string(value.view()) : status.ToString();
  }

  Status Put(ByteView key, ByteView value, Durability durability = Durability::kSync) {
    Batch batch(*store);
    batch.Put(Family::kData, key, value);
    return store->Write(batch, durability);
  }

  Status Delete(ByteView key) {
    Batch batch(*store);
    batch.Delete(Family::kData, key);
    return store->Write(batch, Durability::kSync, Urgency::kRemovesRows);
  }

  // One of the store's statistics; there must be one of that name.
  uint64_t Number(const std::string& name) {
    for (const NamedNumber& row : store->Statistics()) {
      if (row.name == name) return row.value;
    }
    ADD_FAILURE() << "no number " << name;
    return 0;
  }
  int LevelFiles(int level) {
    return std::stoi(store->TextProperty(Family::kData, "rocksdb.num-files-at-level" + std::to_string(level)));
  }
  int Level0Files() { return LevelFiles(0); }

  FaultEnvironment env;
  LogLines log;
  StoreOptions options;
  std::unique_ptr<Store> store;
};

// "a=1 b=2", or the error at the end.
inline std::string Forward(Cursor& cursor) {
  std::string text;
  for (; cursor.Valid(); cursor.Next()) {
    if (!text.empty()) text += ' ';
    text.append(cursor.key()).append("=").append(cursor.value());
  }
  return cursor.status().ok() ? text : cursor.status().ToString();
}

inline std::string Backward(Cursor& cursor) {
  std::string text;
  for (; cursor.Valid(); cursor.Prev()) {
    if (!text.empty()) text += ' ';
    text.append(cursor.key()).append("=").append(cursor.value());
  }
  return cursor.status().ok() ? text : cursor.status().ToString();
}

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// Many point reads of one statement, which share what they need.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"
#include "store/types.h"

namespace cairn::store {

class PointFinder;

// Reads keys of the data family one after the other, as Store::Get would, for two thirds of its price. From the second on they share
// memtables, files and positions in files: half of a read is spared, and nearly all of it where a key comes right
// behind the one before.
//
// Lifetime: holds memtables, files and cached blocks from the second read until Close(), which must come at the end of
// the statement, and before the store closes.
// Thread rule: one thread at a time.
class PointReader {
 public:
  // What most keys are thought to be. Of absent ones nothing but filters is read.
  enum class Expects : uint8_t { kThere, kAbsent };

  explicit PointReader(Expects expects = Expects::kThere);
  PointReader(const PointReader&) = delete;
  PointReader& operator=(const PointReader&) = delete;
  ~PointReader();

  // As store.Get, but that `value` is valid only until the next call of this or of Close().
  Status Get(const Store& store, ByteView key, const Snapshot* snapshot, PinnedValue* value);

  void Close();

 private:
  const Expects expects_;
  bool is_first_ = true;
  std::unique_ptr<PointFinder> finder_;  // made at the second read, then kept
};

}  // namespace cairn::store

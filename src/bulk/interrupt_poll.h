// SPDX-License-Identifier: GPL-2.0-only
// Asks now and then, while many entries go by, whether to go on.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"

namespace cairn::bulk {

// Thread rule: one thread at a time.
class InterruptPoll {
 public:
  // `interrupted` (empty: never) must outlive it.
  explicit InterruptPoll(const std::function<bool()>& interrupted) : interrupted_(interrupted) {}
  InterruptPoll(const InterruptPoll&) = delete;

  // Once for each entry, with its size. kInterrupted, or Ok.
  Status Count(uint64_t bytes) {
    constexpr uint64_t kEntriesBetween = 1024, kBytesBetween = uint64_t{1} << 20;
    ++entries_;
    bytes_ += bytes;
    if (entries_ < kEntriesBetween && bytes_ < kBytesBetween) return Status::Ok();
    entries_ = bytes_ = 0;
    return interrupted_ && interrupted_() ? Status::Of(Status::Code::kInterrupted) : Status::Ok();
  }

 private:
  const std::function<bool()>& interrupted_;
  uint64_t entries_ = 0, bytes_ = 0;  // since it was asked
};

}  // namespace cairn::bulk

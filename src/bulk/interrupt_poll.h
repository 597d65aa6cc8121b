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

  // Once for each entry. kInterrupted, or Ok.
  Status Count() {
    constexpr uint64_t kEntriesBetween = 1024;
    const bool stops = ++count_ % kEntriesBetween == 0 && interrupted_ && interrupted_();
    return stops ? Status::Of(Status::Code::kInterrupted) : Status::Ok();
  }

 private:
  const std::function<bool()>& interrupted_;
  uint64_t count_ = 0;
};

}  // namespace cairn::bulk

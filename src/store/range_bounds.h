// SPDX-License-Identifier: GPL-2.0-only
// A range's bounds as searches of blocks and memtables take them.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "db/dbformat.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "store/internal_key.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The bounds of a range: lower <= key < upper. Copies the keys. Each is followed by what makes it an internal key that is before
// all versions of it.
class RangeBounds final {
 public:
  RangeBounds(ByteView lower, ByteView upper) : lower_bytes_(lower.size()), upper_bytes_(upper.size()) {
    const size_t bytes = lower_bytes_ + upper_bytes_ + 2 * kTrailerBytes;
    if (bytes > sizeof room_) long_room_ = std::make_unique_for_overwrite<char[]>(bytes);
    lower_ = long_room_ != nullptr ? long_room_.get() : room_;
    upper_ = Write(lower, lower_);
    Write(upper, upper_);
  }
  RangeBounds(const RangeBounds&) = delete;
  RangeBounds& operator=(const RangeBounds&) = delete;

  ByteView lower() const { return {lower_, lower_bytes_}; }
  ByteView upper() const { return {upper_, upper_bytes_}; }
  ByteView internal_lower() const { return {lower_, lower_bytes_ + kTrailerBytes}; }
  ByteView internal_upper() const { return {upper_, upper_bytes_ + kTrailerBytes}; }

 private:
  static char* Write(ByteView key, char* to) {
    std::memcpy(to, key.data(), key.size());
    StoreLe64(to + key.size(), rocks::PackSequenceAndType(rocks::kMaxSequenceNumber, rocks::kValueTypeForSeek));
    return to + key.size() + kTrailerBytes;
  }

  const size_t lower_bytes_, upper_bytes_;
  char* lower_;
  char* upper_;
  std::unique_ptr<char[]> long_room_;
  char room_[256];
};

}  // namespace cairn::store

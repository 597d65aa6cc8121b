// SPDX-License-Identifier: GPL-2.0-only
// Sorted entries in a temporary file, in checksummed blocks.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"
#include "store/store.h"
#include "store/temp_file.h"

namespace cairn::bulk {

// A run is written once, in order, and read once, in order. Its bytes: blocks of
// `le32 payload bytes, le32 CRC-32C of the payload, payload`; a payload is whole entries, each
// `varint key bytes, varint value bytes, key, value`.
//
// Thread rule: one thread at a time. Errors: those of TempFile; kCorruption names the file.
class SortRun {
 public:
  static constexpr size_t kBlockBytes = size_t{256} << 10;

  static Status Create(store::Store& store, std::unique_ptr<SortRun>* run);

  // Precondition: it can be stored (store/entry_limits.h).
  Status Append(ByteView key, ByteView value);

  // Ends writing, frees the buffer until it is read, and reads from the front on with StartReading().
  Status FinishWriting();

  // What reading takes of memory, once all is written: the largest block. That is kBlockBytes at most, or one entry that is larger by itself.
  size_t block_bytes_max() const { return block_bytes_max_; }

  // Goes to the first entry, or past the end of an empty run.
  Status StartReading();
  bool Valid() const { return valid_; }
  // Views into the current block; they die at the next move.
  ByteView key() const { return key_; }
  ByteView value() const { return value_; }
  Status Next();

 private:
  SortRun() = default;
  Status FlushBlock();
  Status ReadBlock();
  Status Corrupt(const char* what) const;

  std::unique_ptr<store::TempFile> file_;
  ByteBuffer block_;
  size_t block_bytes_max_ = 0;
  ByteReader entries_{ByteView()};
  bool valid_ = false;
  ByteView key_;
  ByteView value_;
};

}  // namespace cairn::bulk

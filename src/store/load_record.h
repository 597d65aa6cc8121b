// SPDX-License-Identifier: GPL-2.0-only
// The record of a load that comes into the store with its transaction (docs/formats/dictionary.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"

namespace cairn::store {

// The first byte of its key in the dictionary family; 8 bytes big-endian, the load's number, follow.
inline constexpr char kLoadRecordKind = 8;

// Says which files beside the store a transaction brings. It is written with the transaction, so it is there exactly
// when that is prepared or has committed, and is removed once the files are a part of the store.
struct LoadRecord {
  uint64_t number = 0;  // in the key; of no other load that is there
  uint64_t file_count = 0;
  std::string first_key;           // of all entries: whether the store has it tells whether it has the files
  std::string last_row_key;        // of the first index: hidden row ids up to that one are taken
  std::vector<IndexId> indexes;    // whose entries are in the files, the primary one first
};

std::string LoadRecordKey(uint64_t number);
bool IsLoadRecordKey(ByteView key);

void EncodeLoadRecord(const LoadRecord& record, ByteBuffer* value);

// kFormatTooNew for a later version, kCorruption for bytes no version allows; `*record` is then unspecified.
Status DecodeLoadRecord(ByteView key, ByteView value, LoadRecord* record);

}  // namespace cairn::store

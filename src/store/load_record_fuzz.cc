// SPDX-License-Identifier: GPL-2.0-only
// Any bytes as the record of a load: an error, or a record that encodes to one that is the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/crc32c.h"
#include "base/endian.h"
#include "store/load_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  // With the right checksum, or nothing behind it would ever be seen.
  char checksum[4];
  cairn::StoreLe32(checksum, cairn::Crc32c(bytes));
  bytes.append(checksum, sizeof checksum);
  const std::string key = cairn::store::LoadRecordKey(7);
  cairn::store::LoadRecord record, again;
  if (!cairn::store::DecodeLoadRecord(key, bytes, &record).ok()) return 0;
  cairn::ByteBuffer encoded;
  cairn::store::EncodeLoadRecord(record, &encoded);
  if (!cairn::store::DecodeLoadRecord(key, encoded.view(), &again).ok() || again.number != record.number ||
      again.file_count != record.file_count || again.first_key != record.first_key ||
      again.last_row_key != record.last_row_key || again.indexes != record.indexes) {
    std::abort();
  }
  return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
// Any bytes as a foreign key: an error, or a definition that encodes to what it was decoded from.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/crc32c.h"
#include "base/endian.h"
#include "catalog/foreign_key.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  // With the right checksum, or nothing behind it would ever be seen.
  char checksum[4];
  cairn::StoreLe32(checksum, cairn::Crc32c(bytes));
  bytes.append(checksum, sizeof checksum);
  cairn::catalog::ForeignKeyDef key, again;
  if (!cairn::catalog::DecodeForeignKey(bytes, &key).ok()) return 0;
  cairn::ByteBuffer encoded;
  cairn::catalog::EncodeForeignKey(key, &encoded);
  if (!cairn::catalog::DecodeForeignKey(encoded.view(), &again).ok() || !(again == key)) std::abort();
  return 0;
}

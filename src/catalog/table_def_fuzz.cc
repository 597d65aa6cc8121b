// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes the reading of table definitions. Whatever the bytes: no step outside, and what decodes
// must, encoded again, decode to the same definition.
//
// Input: a definition without its checksum, which is added here; the bytes are also read as they are.
#include <cstdint>
#include <cstdlib>

#include "base/crc32c.h"
#include "catalog/table_def.h"

namespace {

using namespace cairn;
using namespace cairn::catalog;

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckBytes(ByteView bytes) {
  TableDef def;
  const Status status = DecodeTableDef(bytes, &def);
  if (!status.ok()) {
    Require(status.Is(Status::Code::kCorruption) || status.Is(Status::Code::kFormatTooNew));
    return;
  }
  ByteBuffer again;
  EncodeTableDef(def, &again);
  TableDef back;
  Require(DecodeTableDef(again.view(), &back).ok());
  Require(back == def);
  Require(again.size() <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CheckBytes(AsBytes(data, size));
  ByteBuffer bytes;
  bytes.Append(data, size);
  bytes.AppendLe32(Crc32c(bytes.view()));
  CheckBytes(bytes.view());
  // Random bytes seldom begin as a definition does.
  for (const uint8_t version : {1, 2}) {
    bytes.Clear();
    bytes.AppendU8(version);
    bytes.Append(data, size);
    bytes.AppendLe32(Crc32c(bytes.view()));
    CheckBytes(bytes.view());
  }
  return 0;
}

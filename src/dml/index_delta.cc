// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a delta.
#include "dml/index_delta.h"

namespace cairn::dml {
namespace {

constexpr size_t kIdBytes = 4;
constexpr uint8_t kPresent = 1;
constexpr uint8_t kAbsent = 2;

}  // namespace

void EncodeDelta(const catalog::IndexBuild& build, bool present, ByteView entry_key, ByteView entry_value,
                 ByteView primary_key, ByteBuffer* key, ByteBuffer* value) {
  key->AppendBe32(build.delta.value);
  key->Append(entry_key.substr(kIdBytes));
  if (build.def.kind == catalog::IndexKind::kUnique) key->Append(primary_key.substr(kIdBytes));
  value->AppendU8(present ? kPresent : kAbsent);
  value->AppendVarint(entry_key.size() - kIdBytes);
  if (present) value->Append(entry_value);
}

Status DecodeDelta(ByteView key, ByteView value, IndexDelta* delta) {
  ByteReader reader(value);
  uint8_t kind;
  uint64_t entry_bytes;
  if (key.size() < kIdBytes || !reader.ReadU8(&kind) || (kind != kPresent && kind != kAbsent) ||
      !reader.ReadVarint(&entry_bytes) || entry_bytes > key.size() - kIdBytes) {
    return Status::Corruption("a change noted for an index that is being built is malformed");
  }
  delta->present = kind == kPresent;
  delta->entry_key_rest = key.substr(kIdBytes, entry_bytes);
  delta->primary_key_rest = key.substr(kIdBytes + entry_bytes);
  delta->value = value.substr(value.size() - reader.remaining());
  return Status::Ok();
}

}  // namespace cairn::dml

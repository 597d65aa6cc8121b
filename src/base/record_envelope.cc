// SPDX-License-Identifier: GPL-2.0-only
// Versions and checksums of the dictionary's definitions.
#include "base/record_envelope.h"

#include <string>

#include "base/crc32c.h"

namespace cairn {
namespace {

constexpr size_t kVersionBytes = 1;
constexpr size_t kChecksumBytes = 4;

}  // namespace

void SealRecord(size_t start, ByteBuffer* out) { out->AppendLe32(Crc32c(out->view().substr(start))); }

Status OpenRecord(ByteView bytes, std::string_view what, uint8_t newest, uint8_t* version, ByteView* body) {
  const auto damaged = [what](const char* how) { return Status::Corruption(std::string(what) + " of the dictionary " + how); };
  if (bytes.size() < kVersionBytes + kChecksumBytes) return damaged("is truncated");
  const ByteView covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (Crc32c(covered) != LoadLe32(bytes.data() + covered.size())) return damaged("fails its checksum");
  // Believed only now: a bit that has flipped in it is no newer version.
  *version = static_cast<uint8_t>(bytes[0]);
  if (*version > newest) {
    return Status(Status::Code::kFormatTooNew, std::string(what) + " was written by a newer version of the engine");
  }
  if (*version == 0) return damaged("is malformed");
  *body = covered.substr(kVersionBytes);
  return Status::Ok();
}

}  // namespace cairn

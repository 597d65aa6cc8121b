// SPDX-License-Identifier: GPL-2.0-only
// Bytes as text in messages about damage.
#include "codec/evidence.h"

namespace cairn::codec {

std::string HexEvidence(ByteView bytes, size_t bytes_max) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes.substr(0, bytes_max)) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  if (bytes.size() > bytes_max) text += "... (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

}  // namespace cairn::codec

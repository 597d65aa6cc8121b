// SPDX-License-Identifier: GPL-2.0-only
// CRC-32C (Castagnoli), the checksum of the dictionary's records.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace cairn {

// The checksum of `bytes` (polynomial 0x1EDC6F41 reflected, initial value and final xor all
// ones; RFC 3720 appendix B.4 has test vectors). Meant for small records: a table of 256 entries.
uint32_t Crc32c(ByteView bytes);

}  // namespace cairn

// SPDX-License-Identifier: GPL-2.0-only
// CRC-32C (Castagnoli), the checksum of the dictionary's records and of RocksDB's logs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace cairn {

// The checksum of `bytes` (polynomial 0x1EDC6F41 reflected, initial value and final xor all
// ones; RFC 3720 appendix B.4 has test vectors). Meant for small records: a table of 256 entries.
uint32_t Crc32c(ByteView bytes);

// The checksum of two strings one after the other, of which the first has the checksum `first`, the second has `second` and
// `second_bytes` bytes. Takes some 20 instructions, and 14 more for each 1-bit of `second_bytes` / 8.
//
// A register of a CRC is a polynomial over GF(2) modulo the CRC's own, P, and n zero bytes multiply it by x^(8n). With initial
// value and final xor all ones, C(ab) = C(a) x^(8n) + C(b) mod P for b of n bytes: the ones cancel. The factor is put together of
// the powers x^(8 * 2^k) for the 1-bits of n, as zlib's crc32_combine does. Each is one multiplication without carries, and the
// crc32 instruction takes the product modulo P (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009, and "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction", Intel 2011).
uint32_t JoinCrc32c(uint32_t first, uint32_t second, size_t second_bytes);

}  // namespace cairn

// SPDX-License-Identifier: GPL-2.0-only
// Self-delimiting, order-keeping byte forms of streams of weights (docs/formats/key.md, section 3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace cairn::codec {

// A stream is units of 1 to 4 bytes. Both forms below are prefix-free: no encoded stream is the
// beginning of another, so they may be concatenated and inverted. `mask` is 0x00 for ascending
// and 0xff for descending parts, whose bytes are all inverted. Thread rule: pure functions.

// Ends the stream that begins at byte `start` of `out`, in place, as if padded with endless
// units equal to `space`: trailing ones go, the others get a class byte, and the end is marked.
void FinishPadded(size_t start, unsigned unit_bytes, const uint8_t* space, ByteBuffer* out);

// Ends it so that the end sorts before every unit.
void FinishUnpadded(size_t start, unsigned unit_bytes, ByteBuffer* out);

// The bytes the stream takes at the start of `bytes`, its end included; 0 when it has no end or
// is malformed.
size_t PaddedBytes(ByteView bytes, unsigned unit_bytes, const uint8_t* space, uint8_t mask);
size_t UnpaddedBytes(ByteView bytes, unsigned unit_bytes, uint8_t mask);

// What was read of the stream at the start of some bytes. No bytes: it is malformed, or its units did not fit.
struct Unpacked {
  size_t stream_bytes = 0;  // its end included
  size_t unit_bytes = 0;    // of all units
};

// Writes the units of the stream at the start of `bytes` to `to`, at most `to_bytes`. Behind them nothing is written.
Unpacked UnpackPadded(ByteView bytes, unsigned unit_bytes, const uint8_t* space, uint8_t mask, uint8_t* to,
                      size_t to_bytes);
Unpacked UnpackUnpadded(ByteView bytes, unsigned unit_bytes, uint8_t mask, uint8_t* to, size_t to_bytes);

}  // namespace cairn::codec

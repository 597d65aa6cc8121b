// SPDX-License-Identifier: GPL-2.0-only
// What definitions in the dictionary are wrapped in: a version before them, a checksum behind (docs/formats/dictionary.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace cairn {

// Appends the checksum of what was appended from `start` on: the version's byte, then the body.
void SealRecord(size_t start, ByteBuffer* out);

// Finds the version and the body again; `body` points into `bytes`. kCorruption for bytes that are not what was sealed, whatever version they
// seem to have, as the checksum comes last in every version, and for version 0; kFormatTooNew for a version above `newest`. `what` says in
// messages what the record is, such as "a foreign key".
Status OpenRecord(ByteView bytes, std::string_view what, uint8_t newest, uint8_t* version, ByteView* body);

}  // namespace cairn

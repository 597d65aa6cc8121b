// SPDX-License-Identifier: GPL-2.0-only
// Bytes as text in messages about damage. Internal to the codec layer.
#pragma once

#include <string>

#include "base/bytes.h"

namespace cairn::codec {

// "0a1b2c" of at most `bytes_max` bytes, then "... (n bytes)" when there are more.
std::string HexEvidence(ByteView bytes, size_t bytes_max = 48);

}  // namespace cairn::codec

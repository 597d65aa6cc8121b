// SPDX-License-Identifier: GPL-2.0-only
// Numbers of the format of index entries (docs/formats/key.md). Internal to the codec layer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::codec {

constexpr size_t kIndexIdBytes = 4;

// The first byte of an entry's value that is not empty. Never reused.
enum class ValueFormat : uint8_t {
  kPlain = 1,       // rest of the primary key (unique entries), then originals
  kClustering = 2,  // reserved: the whole row follows as well
};

}  // namespace cairn::codec

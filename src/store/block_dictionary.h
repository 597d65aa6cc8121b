// SPDX-License-Identifier: GPL-2.0-only
// A dictionary for the blocks of a file, made from some of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cairn::store {

// Blocks of 8 KiB are too short to show Zstandard what all of them repeat: the parts of their keys and rows, and how often each byte
// comes. A dictionary tells it beforehand.

constexpr size_t kBlockDictionaryBytes = 8 << 10;
// What a dictionary is learned from, at most: 15 to 20 ms of one core.
constexpr size_t kDictionarySampleBytesMax = 50 * kBlockDictionaryBytes;
// With less, a file is too small for a dictionary to pay for its own bytes.
constexpr size_t kDictionarySampleBytesMin = 256 << 10;

// A dictionary in Zstandard's format (RFC 8878 section 5) for blocks that are compressed at Zstandard's `level`, from `samples`, which
// holds blocks of those sizes one after the other. Empty where it would not pay: the samples are few, or the last of them become no
// smaller by a thirty-second with what the others had; where nothing could be learned, or Zstandard had no memory for it.
//
// At most kBlockDictionaryBytes long. Takes up to 10 MB of memory meanwhile. Threads: any.
std::string MakeBlockDictionary(std::string_view samples, std::span<const size_t> block_bytes, int level);

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// A dictionary for the blocks of a file, made from some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cairn::store {

// Blocks of 8 KiB are too short to show Zstandard what all of them repeat: the parts of their keys and rows, and how often each byte
// comes. A dictionary tells it beforehand.

constexpr size_t kBlockDictionaryBytes = 8 << 10;
// What is looked at for a dictionary, at most. A sixth of it judges what is learned from the others: 400 KB, 15 to 20 ms of one core.
constexpr size_t kDictionarySampleBytesMax = 60 * kBlockDictionaryBytes;
// With less, a file is too small for a dictionary to pay for its own bytes.
constexpr size_t kDictionarySampleBytesMin = 256 << 10;

// What samples take that a dictionary has not seen, each compressed by itself. 0: there was no memory to find out.
struct DictionaryTrial {
  uint64_t without = 0;  // bytes
  uint64_t with = 0;     // bytes

  // They become smaller by a thirty-second. Random digits lose less: their bytes' frequencies, which each block tells else.
  bool Pays() const { return without != 0 && with != 0 && with + without / 32 <= without; }
  // What the dictionary leaves of each byte is within a hundredth of what was left in `other`, or less.
  // Precondition: both are of some megabytes at most.
  bool IsAsGoodAs(const DictionaryTrial& other) const { return 100 * with * other.without <= 101 * other.with * without; }
};

struct BlockDictionary {
  std::string bytes;      // in Zstandard's format (RFC 8878 section 5), kBlockDictionaryBytes at most
  DictionaryTrial trial;  // when it was trained
};

// A dictionary for blocks that are compressed at Zstandard's `level`, from `samples`, which holds blocks of those sizes one after the
// other. It is `known` (may be null), where that takes off as much of the last sixth of them as it took off its own when it was
// trained; else one is trained of the others. Null where none would pay: the samples are few, or the last of them become no smaller by a
// thirty-second; where nothing could be learned, or Zstandard had no memory for it.
//
// Takes up to 10 MB of memory meanwhile. Threads: any.
std::shared_ptr<const BlockDictionary> MakeBlockDictionary(std::string_view samples, std::span<const size_t> block_bytes, int level,
                                                           std::shared_ptr<const BlockDictionary> known);

}  // namespace cairn::store

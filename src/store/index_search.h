// SPDX-License-Identifier: GPL-2.0-only
// Finds the separator of a key in a file's index in few steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "store/index_separators.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// A bisection of a large index misses the processor's caches at most of its steps. For each index of the server that was
// learned, the numbers that some of its separators make, at even distances, let it be expected where among them a key is
// (interpolation search), and the search goes on from there in steps that double. A wrong expectation costs steps; what is
// found is told by the separators alone.
//
// Lifetime: whoever loads `separators` has the index block held. Thread rule: any number of threads may search while nobody
// loads, learns or forgets.
class IndexSearch {
 public:
  IndexSeparators separators;

  // Of one index of the server, or of the first ones of the file that have some separators; that is given up where one is
  // malformed. Precondition: the separators are loaded.
  void Learn(uint32_t index_id);
  void LearnAll();
  bool HasLearned(uint32_t index_id) const;
  void Forget() { learned_.clear(); }

  // The first separator that is not before the internal key. False: the index is malformed.
  bool Find(ByteView internal_key, uint32_t* found) const;

  enum class Where : uint8_t { kInBlock, kBehindAll, kUnknown, kMalformed };
  // The block of that separator: the only one that can have the first entry not before the internal key, or else that is first
  // in the next one. Unknown: another entry may be before it; of what follows it nothing is known. `handle` is of kInBlock only.
  Where FindBlock(ByteView internal_key, uint32_t* found, rocks::BlockHandle* handle) const;

  size_t learned_bytes() const { return learned_.capacity() * sizeof(Learned); }

 private:
  static constexpr size_t kParts = 16;
  static constexpr size_t kLearnedMax = 16;
  static constexpr uint32_t kCountMin = 32;
  static constexpr size_t kSharedMax = 38;

  // Separators of one index.
  struct alignas(64) Learned {
    uint32_t index_id = 0;
    uint32_t first = 0;
    uint32_t count = 0;
    uint16_t shared_bytes = 0;  // of the keys that all of them begin with
    std::array<char, kSharedMax> shared;
    std::array<uint64_t, kParts + 1> numbers;  // that follow these bytes, of the first, the last, and some between

    uint32_t At(size_t part) const { return first + static_cast<uint32_t>(uint64_t{count - 1} * part / kParts); }
    uint32_t Expect(ByteView key) const;
  };

  bool FindEnds(uint32_t index_id, uint32_t* first, uint32_t* end) const;
  void LearnBetween(uint32_t index_id, uint32_t first, uint32_t end);
  bool Gallop(ByteView internal_key, uint32_t at, uint32_t* low, uint32_t* high) const;

  std::vector<Learned> learned_;
};

}  // namespace cairn::store

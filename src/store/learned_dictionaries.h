// SPDX-License-Identifier: GPL-2.0-only
// The last dictionary of each index, for its next file.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "store/block_dictionary.h"

namespace cairn::store {

// Files of one index hold the same bytes where what one has learned is as good for the next: it is not trained again, and made ready
// once for all that are read (store/ready_dictionaries.h). docs/decisions/0058-shared-dictionaries.md.
//
// Of the kKept indexes that had files last. What is kept takes 130 KB at most, little beside the 10 MB that the training of one takes, and
// is not counted.
//
// Of one store. Threads: any. Two that write files of one index at once may train two; the later one is kept.
class LearnedDictionaries final {
 public:
  static constexpr size_t kKept = 16;

  // The bytes of a dictionary for a file, as MakeBlockDictionary() has it of these samples and of what is known of their index. Empty:
  // none. What is known stays if the file has none.
  std::string For(std::string_view samples, std::span<const size_t> block_bytes, int level);

  // Whose blocks they are: of the index that has most of them, where it has more than half; else of one in the middle of them. None: they
  // are none of an index.
  static IndexId IndexOf(std::string_view samples, std::span<const size_t> block_bytes);

 private:
  struct Kept {
    IndexId index;
    std::shared_ptr<const BlockDictionary> dictionary;  // null: an empty place
  };

  std::shared_ptr<const BlockDictionary> Find(IndexId index);
  void Keep(IndexId index, std::shared_ptr<const BlockDictionary> dictionary);

  std::mutex mutex_;
  std::array<Kept, kKept> kept_;  // the last one first
};

}  // namespace cairn::store

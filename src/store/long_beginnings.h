// SPDX-License-Identifier: GPL-2.0-only
// Of which indexes a file's filter has long beginnings, decided while the file is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/slice.h>

#include "base/endian.h"
#include "base/ids.h"
#include "store/file_filters.h"
#include "store/filter_format.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// An index has them if it has lists: several entries with one long beginning, or they would be as many bits as whole keys; and more long beginnings
// than short ones (kFilteredPrefixBytes), or they would tell what these tell. What an index is like is seen by its first entries in the file.
// In levels above the last, which are a tenth of all, a list has few entries, and an owner of several most often has one of them in a file, so
// that the one that is asked for is another: there some lists are enough.
//
// Thread rule: one thread at a time.
class LongBeginnings final {
 public:
  explicit LongBeginnings(bool is_upper) : is_upper_(is_upper) {}

  // Whether the filter is to have that of the next key, which is at least as long, and of an index whose keys come in one run. Those of keys
  // before that waited for the answer are given to `add`, in order.
  template <typename Add>
  bool Takes(const rocks::Slice& key, const Add& add) {
    const IndexId index(LoadBe32(key.data()));
    if (index != index_) {
      EndIndex(add);
      index_ = index;
      state_ = State::kSampling;
    }
    if (state_ == State::kSampling) Sample(key.data());
    if (state_ == State::kSampling && entries_ == kSampled) Decide(add);
    return state_ == State::kTaken;
  }

  // There are no further keys in the filter: gives the indexes whose keys it took, in order. Keys after that are of another filter of the file, of
  // which one in parts has several.
  template <typename Add>
  std::vector<IndexId> EndFilter(const Add& add) {
    EndIndex(add);
    index_ = IndexId();
    return std::exchange(indexes_, {});
  }

 private:
  enum class State { kLeft, kSampling, kTaken };
  static constexpr size_t kSampled = 1024;

  template <typename Add>
  void EndIndex(const Add& add) {
    if (state_ == State::kSampling) Decide(add);
    state_ = State::kLeft;
  }

  void Sample(const char* key) {
    const std::string_view last = std::string_view(waiting_).substr(waiting_.empty() ? 0 : waiting_.size() - kLongBeginningBytes);
    if (!last.starts_with(std::string_view(key, kFilteredPrefixBytes))) ++short_count_;
    if (last != std::string_view(key, kLongBeginningBytes)) waiting_.append(key, kLongBeginningBytes);
    ++entries_;
  }

  template <typename Add>
  void Decide(const Add& add) {
    const size_t long_count = waiting_.size() / kLongBeginningBytes;
    const bool pays = is_upper_ ? long_count * 5 <= entries_ * 4 : long_count * 2 <= entries_ && long_count * 16 >= short_count_ * 17;
    state_ = pays && indexes_.size() < kLongIndexesMax ? State::kTaken : State::kLeft;
    if (state_ == State::kTaken) {
      indexes_.push_back(index_);
      for (size_t at = 0; at < waiting_.size(); at += kLongBeginningBytes) add(rocks::Slice(waiting_.data() + at, kLongBeginningBytes));
    }
    waiting_.clear();
    entries_ = short_count_ = 0;
  }

  const bool is_upper_;
  State state_ = State::kLeft;
  IndexId index_;  // none: 0, of which there are no keys
  size_t entries_ = 0;
  size_t short_count_ = 0;
  std::string waiting_;  // long beginnings, each once
  std::vector<IndexId> indexes_;
};

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// Merging many sorted sequences with one comparison per level and entry.
#pragma once

#include <cstddef>
#include <vector>

namespace cairn::bulk {

// Knuth, The Art of Computer Programming 3, 5.4.1: a tournament whose inner nodes keep the losers, so
// that after the winner has moved on only its path to the root is played again.
//
// `Before(a, b)` says whether source `a`'s current entry comes before source `b`'s; a source at its end
// comes after all others. Sources are numbered from 0.
template <typename Before>
class LoserTree {
 public:
  LoserTree(size_t source_count, Before before) : before_(before), losers_(source_count), count_(source_count) {
    std::vector<size_t> winners(2 * count_);
    for (size_t source = 0; source < count_; ++source) winners[count_ + source] = source;
    for (size_t node = count_ - 1; node >= 1; --node) {
      const size_t a = winners[2 * node], b = winners[2 * node + 1];
      winners[node] = before_(b, a) ? b : a;
      losers_[node] = winners[node] == a ? b : a;
    }
    winner_ = count_ > 1 ? winners[1] : 0;
  }

  // The source whose current entry is the first. Precondition: source_count > 0.
  size_t winner() const { return winner_; }

  // The winner's source has moved to its next entry, or its end.
  void Replay() {
    size_t current = winner_;
    for (size_t node = (count_ + current) / 2; node >= 1; node /= 2) {
      if (before_(losers_[node], current)) std::swap(losers_[node], current);
    }
    winner_ = current;
  }

 private:
  const Before before_;
  std::vector<size_t> losers_;  // of inner nodes 1 .. count - 1
  const size_t count_;
  size_t winner_;
};

}  // namespace cairn::bulk

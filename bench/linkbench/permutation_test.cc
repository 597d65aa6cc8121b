// SPDX-License-Identifier: GPL-2.0-only
// The permutation is a bijection of every size, and its inverse is one.
#include "permutation.h"

#include <gtest/gtest.h>

namespace cairn::bench::linkbench {
namespace {

TEST(Permutation, IsBijectiveAndInvertible) {
  for (const uint64_t n : {1u, 2u, 7u, 1023u, 1024u, 1025u, 2047u, 2048u, 5000u, 100'003u}) {
    const Permutation permutation(n, 1);
    std::vector<bool> hit(n, false);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t to = permutation.Permute(i);
      ASSERT_LT(to, n);
      ASSERT_FALSE(hit[to]) << "n " << n << ", i " << i;
      hit[to] = true;
      ASSERT_EQ(permutation.Invert(to), i) << "n " << n;
    }
  }
}

TEST(Permutation, RotatesEachOf1024RingsByLessThanItsLength) {
  constexpr uint64_t kIds = 100'000;
  const Permutation permutation(kIds, 3);
  for (uint64_t rank = 0; rank < kIds; ++rank) {
    ASSERT_EQ(permutation.Permute(rank) % 1024, rank % 1024);
    // The next rank of the ring lies one step further on, but where the ring closes.
    if (const uint64_t next = rank + 1024; next < kIds && permutation.Permute(next) > permutation.Permute(rank)) {
      ASSERT_EQ(permutation.Permute(next), permutation.Permute(rank) + 1024);
    }
  }
}

TEST(Permutation, DependsOnTheSeedAlone) {
  constexpr uint64_t kIds = 1'000'000;
  const Permutation first(kIds, 1), same(kIds, 1), other(kIds, 2);
  uint64_t equal = 0;
  for (uint64_t i = 0; i < kIds; ++i) {
    ASSERT_EQ(first.Permute(i), same.Permute(i));
    equal += first.Permute(i) == other.Permute(i);
  }
  EXPECT_LT(equal, kIds / 100);
}

}  // namespace
}  // namespace cairn::bench::linkbench

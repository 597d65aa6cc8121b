// SPDX-License-Identifier: GPL-2.0-only
// When objects are made and destroyed.
#include "base/in_place_list.h"

#include <vector>

#include <gtest/gtest.h>

namespace cairn {
namespace {

// Tells when it is destroyed.
class Witness {
 public:
  Witness(int number, std::vector<int>* destroyed) : number_(number), destroyed_(*destroyed) {}
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness() { destroyed_.push_back(number_); }

  int number() const { return number_; }

 private:
  const int number_;
  std::vector<int>& destroyed_;
};

TEST(InPlaceListTest, MakesAndDestroysWhatIsAppended) {
  std::vector<int> destroyed;
  {
    InPlaceList<Witness, 3> list;
    EXPECT_EQ(list.begin(), list.end());
    EXPECT_EQ(list.Append(1, &destroyed).number(), 1);
    const Witness* const first = &list[0];
    list.Append(2, &destroyed);
    EXPECT_FALSE(list.full());
    list.Append(3, &destroyed);
    EXPECT_TRUE(list.full());
    list.DropLast();
    EXPECT_EQ(destroyed, std::vector<int>({3}));
    EXPECT_EQ(list.Append(4, &destroyed).number(), 4);
    EXPECT_EQ(&list[0], first);
    int sum = 0;
    for (const Witness& witness : list) sum += witness.number();
    EXPECT_EQ(sum, 7);
    EXPECT_EQ(list.size(), 3u);
  }
  EXPECT_EQ(destroyed, std::vector<int>({3, 4, 2, 1}));
}

}  // namespace
}  // namespace cairn

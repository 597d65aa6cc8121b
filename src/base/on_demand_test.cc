// SPDX-License-Identifier: GPL-2.0-only
// What nobody asks for is not made; what is made is made and kept once.
#include "base/on_demand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace cairn {
namespace {

// Counts those of its kind.
class Counted {
 public:
  explicit Counted(int number) : number_(number) { ++alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }

  int number() const { return number_; }

  inline static std::atomic<int> alive{0};

 private:
  const int number_;
};

TEST(OnDemand, OnlyWhatIsAskedForIsMadeAndThatOnce) {
  {
    OnDemand<Counted> objects(1000);
    EXPECT_EQ(objects.count(), 1000u);
    EXPECT_EQ(Counted::alive, 0);
    int made = 0;
    const auto of = [&](size_t index) -> const Counted& {
      return objects.Of(index, [&] { return std::make_unique<Counted>(++made); });
    };
    const Counted& first = of(7);
    EXPECT_EQ(first.number(), 1);
    EXPECT_EQ(of(999).number(), 2);
    EXPECT_EQ(&of(7), &first);
    EXPECT_EQ(made, 2);
    EXPECT_EQ(Counted::alive, 2);
  }
  EXPECT_EQ(Counted::alive, 0);
}

// All are in the making before any is made, so all but one are thrown away.
TEST(OnDemand, ThreadsThatAskTogetherGetTheSame) {
  constexpr int kThreads = 4;
  {
    OnDemand<Counted> objects(1);
    std::latch all_make(kThreads);
    std::vector<const Counted*> got(kThreads);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        got[static_cast<size_t>(thread)] = &objects.Of(0, [&] {
          all_make.arrive_and_wait();
          return std::make_unique<Counted>(thread);
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::set<const Counted*>(got.begin(), got.end()).size(), 1u);
    EXPECT_EQ(Counted::alive, 1);
  }
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace cairn

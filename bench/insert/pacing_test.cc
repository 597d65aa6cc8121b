// SPDX-License-Identifier: GPL-2.0-only
// Writers keep to their rate and deleters follow them.
#include <gtest/gtest.h>

#include <thread>

#include "delete_queue.h"
#include "meter.h"
#include "rate_limit.h"

namespace cairn::bench::insert {
namespace {

using std::chrono::milliseconds;

TEST(RateLimit, RestsAfterTheSecondsRounds) {
  const Clock::time_point start{};
  RateLimit limit(100, 50);
  EXPECT_EQ(limit.rounds_per_second(), 2u);
  limit.Start(start);
  EXPECT_FALSE(limit.EndRound(start + milliseconds(10)));
  EXPECT_EQ(limit.EndRound(start + milliseconds(20)), start + milliseconds(1000));
  EXPECT_FALSE(limit.EndRound(start + milliseconds(1010)));
  EXPECT_EQ(limit.EndRound(start + milliseconds(1900)), start + milliseconds(2000));
}

TEST(RateLimit, DoesNotMakeUpForWhatWasMissed) {
  const Clock::time_point start{};
  RateLimit limit(50, 50);
  limit.Start(start);
  EXPECT_FALSE(limit.EndRound(start + milliseconds(960))) << "a rest of less than 0.05 s is skipped";
  EXPECT_FALSE(limit.EndRound(start + milliseconds(5000)));
  EXPECT_EQ(limit.EndRound(start + milliseconds(5010)), start + milliseconds(6000));
}

TEST(RateLimit, RoundsUpAndMayBeAbsent) {
  EXPECT_EQ(RateLimit(101, 50).rounds_per_second(), 3u);
  RateLimit none(0, 50);
  none.Start(Clock::time_point{});
  EXPECT_FALSE(none.EndRound(Clock::time_point{} + milliseconds(1)));
}

TEST(DeleteQueue, HandsOutRequestsInOrderAndThenEnds) {
  DeleteQueue queue;
  queue.Push(1);
  queue.Push(2);
  queue.Close(/*drop=*/false);
  queue.Push(3);
  EXPECT_EQ(queue.Pop(), 1u);
  EXPECT_EQ(queue.Pop(), 2u);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(DeleteQueue, HoldsWritersBack) {
  DeleteQueue queue;
  constexpr uint64_t kRequests = 1000;
  std::atomic<uint64_t> pushed{0};
  std::thread writer([&] {
    for (uint64_t i = 1; i <= kRequests; ++i) {
      queue.Push(i);
      pushed = i;
    }
    queue.Close(/*drop=*/false);
  });
  uint64_t popped = 0;
  while (const auto rows = queue.Pop()) {
    EXPECT_EQ(*rows, ++popped);
    EXPECT_LE(pushed, popped + DeleteQueue::kDepth);
  }
  writer.join();
  EXPECT_EQ(popped, kRequests);
}

TEST(DeleteQueue, ReleasesAWriterWhenItsReaderFails) {
  DeleteQueue queue;
  std::thread writer([&] {
    for (size_t i = 0; i < 2 * DeleteQueue::kDepth; ++i) queue.Push(1);
  });
  queue.Close(/*drop=*/true);
  writer.join();
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(Meter, TellsTheLongestAndWhatIsUnderWay) {
  Meter meter;
  EXPECT_EQ(meter.Take().stall_ns, 0u);
  meter.Begin();
  const Meter::Sample under_way = meter.Take();
  EXPECT_EQ(under_way.max_ns, 0u);
  meter.End(5);
  const Meter::Sample ended = meter.Take();
  EXPECT_GT(ended.max_ns, 0u);
  EXPECT_GE(ended.stall_ns, under_way.stall_ns);
  EXPECT_EQ(meter.Take().stall_ns, 0u);
  EXPECT_EQ(meter.done(), 5u);
  EXPECT_EQ(meter.times().latency_ns.count(), 1u);
}

TEST(ResponseTimes, FallIntoTheReportedClasses) {
  ResponseTimes times;
  times.Add(256'000);
  times.Add(256'001);
  times.Add(16'000'000'000);
  times.Add(16'000'000'001);
  EXPECT_EQ(times.classes, (std::array<uint64_t, 10>{1, 1, 0, 0, 0, 0, 0, 0, 1, 1}));
  ResponseTimes sum;
  sum.Merge(times);
  sum.Merge(times);
  EXPECT_EQ(sum.classes[0], 2u);
  EXPECT_EQ(sum.latency_ns.count(), 8u);
}

}  // namespace
}  // namespace cairn::bench::insert

// SPDX-License-Identifier: GPL-2.0-only
// Rates over time are summed up as they should be.
#include "timeline.h"

#include <gtest/gtest.h>

namespace cairn::bench::insert {
namespace {

// Seconds with these numbers of inserts.
std::vector<Second> Seconds(const std::vector<uint64_t>& inserts) {
  std::vector<Second> seconds;
  for (const uint64_t each : inserts) {
    seconds.push_back({.end_second = static_cast<double>(seconds.size() + 1), .length_seconds = 1,
                       .done = {each, 0, 0}, .max_ns = {each, 0, 0}, .stall_ns = {}});
  }
  return seconds;
}

TEST(RateOfLast, CutsBetweenCheckpoints) {
  // 100 rows per second, then 10.
  const std::vector<Checkpoint> checkpoints = {{500, 5}, {1000, 10}};
  EXPECT_DOUBLE_EQ(RateOfLast(0.1, checkpoints, {1000, 10}), 100);
  EXPECT_DOUBLE_EQ(RateOfLast(0.1, checkpoints, {1100, 20}), 110 / (20 - 9.9));
  EXPECT_DOUBLE_EQ(RateOfLast(1, checkpoints, {1100, 20}), 55);
  EXPECT_DOUBLE_EQ(RateOfLast(0.1, {}, {1000, 10}), 100) << "without checkpoints the rate is the average";
  EXPECT_DOUBLE_EQ(RateOfLast(0.1, {}, {0, 0}), 0);
}

TEST(RateOfLast, OfRowsStartsAtACheckpoint) {
  const std::vector<Checkpoint> checkpoints = {{500, 5}, {1000, 10}};
  EXPECT_DOUBLE_EQ(RateOfLastRows(500, checkpoints, {1000, 10}), 100);
  EXPECT_DOUBLE_EQ(RateOfLastRows(100, checkpoints, {1100, 20}), 10);
  EXPECT_DOUBLE_EQ(RateOfLastRows(500, {}, {100, 2}), 50);
}

TEST(Rates, ArePercentilesFromTheFastestDown) {
  std::vector<uint64_t> inserts;
  for (uint64_t i = 1; i <= 100; ++i) inserts.push_back(i);
  const std::vector<Second> seconds = Seconds(inserts);
  EXPECT_DOUBLE_EQ(RateReachedBy(50, Kind::kInsert, seconds), 51);
  EXPECT_DOUBLE_EQ(RateReachedBy(99, Kind::kInsert, seconds), 2);
  EXPECT_DOUBLE_EQ(RateReachedBy(50, Kind::kQuery, seconds), 0);
  EXPECT_DOUBLE_EQ(RateReachedBy(50, Kind::kInsert, {}), 0);
}

TEST(Rates, SlicesAreOfEqualLength) {
  EXPECT_EQ(RateSlices(2, Kind::kInsert, Seconds({10, 20, 30, 40})), (std::vector<double>{15, 35}));
  EXPECT_EQ(RateSlices(4, Kind::kInsert, Seconds({10, 20})), (std::vector<double>{10, 10, 20, 20}));
  EXPECT_EQ(RateSlices(2, Kind::kInsert, {}), (std::vector<double>{0, 0}));
}

TEST(Rates, LargestComeFirst) {
  EXPECT_EQ(LargestNs(3, Kind::kInsert, Seconds({5, 9, 7, 1})), (std::vector<uint64_t>{9, 7, 5}));
  EXPECT_EQ(LargestNs(3, Kind::kInsert, Seconds({5})), (std::vector<uint64_t>{5}));
}

TEST(CheckpointLog, NotesEachMultipleOnceAndInOrder) {
  CheckpointLog log(100);
  log.Pass(0, 50, 1);
  log.Pass(50, 100, 2);
  log.Pass(250, 310, 4);
  log.Pass(190, 250, 5);  // counted before the one above, but noted after it
  ASSERT_EQ(log.checkpoints().size(), 2u);
  EXPECT_EQ(log.checkpoints()[0].rows, 100u);
  EXPECT_EQ(log.checkpoints()[1].rows, 310u);
}

}  // namespace
}  // namespace cairn::bench::insert

// SPDX-License-Identifier: GPL-2.0-only
#include "jobs/worker.h"

#include <gtest/gtest.h>

#include <future>

namespace cairn::jobs {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Worker, RunsATaskAgainAndAgain) {
  std::promise<void> third;
  int runs = 0;
  Worker worker;
  worker.Add("count", milliseconds(1), [&] {
    if (++runs == 3) third.set_value();
  });
  worker.Start();
  third.get_future().wait();
  worker.Stop();
  EXPECT_GE(runs, 3);
}

TEST(Worker, WakeMakesATaskDueAtOnce) {
  std::promise<void> ran;
  Worker worker;
  worker.Add("rare", hours(1), [&] { ran.set_value(); });
  worker.Start();
  worker.Wake("unknown");
  worker.Wake("rare");
  ran.get_future().wait();
}

// Were it due once more, it would be so before the other one.
TEST(Worker, ATaskThatIsWokenAgainKeepsItsRunsApart) {
  std::promise<void> ran, other_ran;
  int runs = 0;
  Worker worker;
  const auto task = [&] {
    if (++runs == 1) ran.set_value();
  };
  worker.Add("apart", hours(2), task, hours(1));
  worker.Add("other", hours(2), [&] { other_ran.set_value(); });
  worker.Start();
  worker.Wake("apart");
  ran.get_future().wait();
  worker.Wake("apart");
  worker.Wake("other");
  other_ran.get_future().wait();
  worker.Stop();
  EXPECT_EQ(runs, 1);
}

TEST(Worker, StopWaitsForTheRunningTask) {
  std::promise<void> started;
  bool ended = false;
  Worker worker;
  worker.Add("long", hours(1), [&] {
    started.set_value();
    while (!worker.stopping()) std::this_thread::yield();
    ended = true;
  });
  worker.Start();
  worker.Wake("long");
  started.get_future().wait();
  worker.Stop();
  EXPECT_TRUE(ended);
}

TEST(Worker, StopsWithoutTasks) {
  Worker worker;
  worker.Start();
  worker.Stop();
  worker.Stop();
}

}  // namespace
}  // namespace cairn::jobs

// SPDX-License-Identifier: GPL-2.0-only
// For tests: point reads of a store that goes through a random history, held against a model.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/point_reader.h"
#include "store/store_testing.h"

namespace cairn::store {

// Tests say what a step of the history is, and which keys are read.
class PointModelFixture : public StoreFixture {
 protected:
  using Model = std::map<std::string, std::string>;
  struct Moment {
    Snapshot snapshot;
    Model model;
  };

  virtual ~PointModelFixture() = default;
  virtual void Change() = 0;
  virtual void Step() = 0;
  virtual void ReadSome(const Snapshot* snapshot, const Model& model) = 0;

  unsigned Below(size_t n) { return static_cast<unsigned>(random_() % n); }

  void KeepMoment() { moments_.push_back({store->TakeSnapshot(), now_}); }
  void ForgetMoment() {
    if (!moments_.empty()) moments_.erase(moments_.begin() + Below(moments_.size()));
  }

  // For some reads: one of those that share what they need, expecting to find or not to find.
  PointReader& AnyReader() { return Below(3) == 0 ? doubtful_points_ : points_; }

  void Read(PointReader& points, const std::string& key, const Snapshot* snapshot, const Model& model) {
    const Status status = points.Get(*store, key, snapshot, &value_);
    const auto found = model.find(key);
    if (found == model.end()) {
      ASSERT_TRUE(status.Is(Status::Code::kNotFound)) << ::testing::PrintToString(key) << ": " << status.ToString();
      return;
    }
    ASSERT_TRUE(status.ok()) << ::testing::PrintToString(key) << ": " << status.ToString();
    ASSERT_EQ(value_.view(), found->second) << ::testing::PrintToString(key);
  }

  // Sixty rounds of at most so many steps, then reads between changes, then of earlier moments.
  void Play(unsigned steps_max) {
    for (unsigned round = 0; round < 60; ++round) {
      for (unsigned i = Below(steps_max); i > 0; --i) ASSERT_NO_FATAL_FAILURE(Step());
      for (unsigned i = Below(4); i > 0; --i) {
        ASSERT_NO_FATAL_FAILURE(ReadSome(nullptr, now_));
        ASSERT_NO_FATAL_FAILURE(Change());
      }
      for (unsigned i = Below(4); i > 0 && !moments_.empty(); --i) {
        const Moment& moment = moments_[Below(moments_.size())];
        ASSERT_NO_FATAL_FAILURE(ReadSome(&moment.snapshot, moment.model));
      }
      if (Below(3) == 0) points_.Close();
    }
    points_.Close();
    doubtful_points_.Close();
    value_.Reset();
    moments_.clear();
  }

  std::mt19937 random_;
  unsigned written_ = 0;  // values, which are told apart by it
  Model now_;
  std::vector<Moment> moments_;

 private:
  PointReader points_;
  PointReader doubtful_points_{PointReader::Expects::kAbsent};
  PinnedValue value_;
};

}  // namespace cairn::store

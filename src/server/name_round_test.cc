// SPDX-License-Identifier: GPL-2.0-only
// A round gives each name once, and it ends.
#include "server/name_round.h"

#include <gtest/gtest.h>

namespace cairn::server {
namespace {

using Names = std::vector<std::string>;

// One list; "bad" gets no place.
unsigned Give(NameRound* round, const Names& names, unsigned length, Names* given) {
  return round->Give(names, length, [&](const std::string& name, unsigned place) {
    EXPECT_LT(place, length);
    if (name == "bad") return false;
    given->push_back(name);
    return true;
  });
}

// As the server asks at its start. More than all names: it would ask for ever.
Names GiveAll(NameRound* round, const Names& names, unsigned length) {
  Names given;
  while (Give(round, names, length, &given) == length && given.size() <= names.size()) {
  }
  return given;
}

TEST(NameRoundTest, EndsAlsoWhereTheLastListIsFull) {
  NameRound round;
  for (const unsigned count : {0u, 1u, 3u, 4u, 5u, 8u, 9u}) {
    SCOPED_TRACE(count);
    Names names;
    for (unsigned i = 0; i < count; ++i) names.push_back("x" + std::to_string(i));
    for (int repeat = 0; repeat < 2; ++repeat) EXPECT_EQ(GiveAll(&round, names, 4), names);
  }
}

// The server ends its own ones as it goes.
TEST(NameRoundTest, NamesMayGoMeanwhile) {
  NameRound round;
  Names given;
  EXPECT_EQ(Give(&round, {"a", "b", "c"}, 2, &given), 2u);
  EXPECT_EQ(Give(&round, {"c"}, 2, &given), 1u);
  EXPECT_EQ(given, (Names{"a", "b", "c"}));
}

TEST(NameRoundTest, WhatCannotBeGivenTakesNoPlace) {
  NameRound round;
  EXPECT_EQ(GiveAll(&round, {"bad", "a", "b", "c"}, 2), (Names{"a", "b", "c"}));
  EXPECT_EQ(GiveAll(&round, {"a", "b", "bad"}, 2), (Names{"a", "b"}));
}

}  // namespace
}  // namespace cairn::server

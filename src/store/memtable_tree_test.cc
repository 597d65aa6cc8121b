// SPDX-License-Identifier: GPL-2.0-only
// The memtable's tree against a sorted map, by one thread and by several.
#include "store/memtable_tree.h"

#include <map>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "memory/concurrent_arena.h"

namespace cairn::store {
namespace {

constexpr uint8_t kType = 1;

// As RocksDB encodes it, without a value.
std::string Encode(std::string_view key, uint64_t sequence) {
  std::string entry;
  size_t size = key.size() + kTrailerBytes;
  for (; size >= 0x80; size >>= 7) entry.push_back(static_cast<char>(size | 0x80));
  entry.push_back(static_cast<char>(size));
  entry += key;
  char trailer[kTrailerBytes];
  StoreLe64(trailer, sequence << 8 | kType);
  return entry.append(trailer, sizeof trailer);
}

// Keys upwards, sequence numbers downwards.
struct Versioned {
  std::string key;
  uint64_t sequence;
  auto operator<=>(const Versioned& other) const {
    const auto order = key.compare(other.key) <=> 0;
    return order != 0 ? order : other.sequence <=> sequence;
  }
  bool operator==(const Versioned&) const = default;
};

Versioned Decode(const char* entry) {
  const EntryKey key = EntryKey::Of(entry);
  return {std::string(key.data, key.size), key.sequence()};
}

struct Tree {
  bool Insert(const Versioned& of) {
    const std::string entry = Encode(of.key, of.sequence);
    char* kept = arena.Allocate(entry.size());
    memcpy(kept, entry.data(), entry.size());
    return tree.Insert(kept);
  }

  rocks::ConcurrentArena arena{1 << 20};
  MemtableTree tree{&arena};
};

using Model = std::set<Versioned>;

std::string Shown(const MemtableTree::Position& position) {
  if (position.entry == nullptr) return "none";
  const Versioned at = Decode(position.entry);
  return at.key + "@" + std::to_string(at.sequence);
}

std::string Shown(const Model& model, Model::const_iterator at) {
  return at == model.end() ? "none" : at->key + "@" + std::to_string(at->sequence);
}

std::string ShownBefore(const Model& model, Model::const_iterator at) {
  return at == model.begin() ? "none" : Shown(model, std::prev(at));
}

void ExpectWalks(const Tree& tree, const Model& model) {
  MemtableTree::Position position;
  tree.tree.FindFirst(&position);
  for (auto at = model.begin(); at != model.end(); ++at) {
    ASSERT_EQ(Shown(position), Shown(model, at));
    tree.tree.Next(&position);
  }
  EXPECT_EQ(Shown(position), "none");
  tree.tree.FindLast(&position);
  for (auto at = model.end(); at != model.begin();) {
    --at;
    ASSERT_EQ(Shown(position), Shown(model, at));
    tree.tree.Prev(&position);
  }
  EXPECT_EQ(Shown(position), "none");
}

// From each entry a step over its key meets the newest version of the next, or an older one of its own with which a leaf begins.
void ExpectStepsOverKeys(const Tree& tree, const Model& model) {
  MemtableTree::Position position;
  tree.tree.FindFirst(&position);
  for (auto at = model.begin(); at != model.end(); ++at, tree.tree.Next(&position)) {
    MemtableTree::Position next = position;
    tree.tree.NextKey(&next);
    auto expected = std::next(at);
    while (expected != model.end() && expected->key == at->key && Shown(next) != Shown(model, expected)) ++expected;
    ASSERT_EQ(Shown(next), Shown(model, expected));
    if (expected == model.end() || expected->key != at->key) continue;
    ASSERT_NE(next.leaf, position.leaf);
    ASSERT_EQ(next.slot, 0u);
  }
}

void ExpectSeeks(const Tree& tree, const Model& model, const Versioned& wanted) {
  const std::string entry = Encode(wanted.key, wanted.sequence);
  const MemtableTarget target(EntryKey::Of(entry.data()));
  MemtableTree::Position position;
  tree.tree.FindAtLeast(target, &position);
  ASSERT_EQ(Shown(position), Shown(model, model.lower_bound(wanted)));
  tree.tree.FindBefore(target, /*or_equal=*/true, &position);
  ASSERT_EQ(Shown(position), ShownBefore(model, model.upper_bound(wanted)));
  tree.tree.FindBefore(target, /*or_equal=*/false, &position);
  ASSERT_EQ(Shown(position), ShownBefore(model, model.lower_bound(wanted)));
}

// A way of making keys.
struct KeyShape {
  const char* name;
  std::string (*make)(std::mt19937_64&);
};

std::string FromLetters(std::mt19937_64& random, size_t size_max, unsigned letters) {
  std::string key(random() % (size_max + 1), '\0');
  for (char& byte : key) byte = static_cast<char>(random() % letters);
  return key;
}

std::string Number(uint32_t index, uint64_t number) {
  char bytes[12];
  StoreBe32(bytes, index);
  StoreBe64(bytes + 4, number);
  return {bytes, sizeof bytes};
}

constexpr KeyShape kShapes[] = {
    {"short keys with zeros", [](std::mt19937_64& random) { return FromLetters(random, 6, 3); }},
    {"numbers of three indexes", [](std::mt19937_64& random) { return Number(random() % 3, random() % 5000); }},
    {"one of a few long beginnings",
     [](std::mt19937_64& random) { return std::string(20 + random() % 20, 'x') + FromLetters(random, 9, 4); }},
    {"long keys", [](std::mt19937_64& random) { return std::string(300, 'y') + FromLetters(random, 200, 256); }},
    {"few keys with many versions", [](std::mt19937_64& random) { return FromLetters(random, 2, 2); }},
};

class MemtableTreeTest : public testing::TestWithParam<KeyShape> {};

TEST_P(MemtableTreeTest, IsASortedSet) {
  std::mt19937_64 random(7);
  Tree tree;
  Model model;
  ExpectWalks(tree, model);
  for (int round = 0; round < 6000; ++round) {
    const Versioned entry{GetParam().make(random), random() % 100};
    ASSERT_EQ(tree.Insert(entry), model.insert(entry).second);
    if (round % 10 == 0) {
      ASSERT_NO_FATAL_FAILURE(ExpectSeeks(tree, model, {GetParam().make(random), random() % 100}));
    }
    if (round % 100 == 0) {
      ASSERT_NO_FATAL_FAILURE(ExpectStepsOverKeys(tree, model));
    }
  }
  ExpectWalks(tree, model);
  ExpectStepsOverKeys(tree, model);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MemtableTreeTest, testing::ValuesIn(kShapes));

TEST(MemtableTree, KeysInOrderUpAndDown) {
  for (const bool up : {true, false}) {
    Tree tree;
    Model model;
    for (uint64_t i = 0; i < 20'000; ++i) {
      const Versioned entry{Number(i % 2, up ? i : 1'000'000 - i), i};
      ASSERT_TRUE(tree.Insert(entry));
      model.insert(entry);
    }
    ExpectWalks(tree, model);
  }
}

TEST(MemtableTree, KeysInOrderFillTheirLeaves) {
  Tree tree;
  size_t entry_bytes = 0;
  constexpr uint64_t kRows = 100'000;
  for (uint64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(tree.Insert({Number(1 + i % 2, i), i}));
    entry_bytes += Encode(Number(0, 0), 0).size();
  }
  const size_t bytes = tree.arena.ApproximateMemoryUsage() - entry_bytes;
  EXPECT_LT(bytes, 15 * kRows);
}

TEST(MemtableTree, AWalkGoesOnInLeavesThatWereSplit) {
  Tree tree;
  for (uint64_t i = 0; i < 100; i += 10) ASSERT_TRUE(tree.Insert({Number(1, i), 1}));
  MemtableTree::Position up, down;
  const std::string middle = Encode(Number(1, 50), 1);
  tree.tree.FindAtLeast(MemtableTarget(EntryKey::Of(middle.data())), &up);
  down = up;
  for (uint64_t i = 0; i < 10'000; ++i) {
    const bool is_new = tree.Insert({Number(1, i), 1});
    ASSERT_EQ(is_new, i % 10 != 0 || i >= 100);
  }
  for (uint64_t i = 50; i < 10'000; ++i) {
    ASSERT_EQ(Decode(up.entry), (Versioned{Number(1, i), 1}));
    tree.tree.Next(&up);
  }
  EXPECT_EQ(up.entry, nullptr);
  for (int i = 50; i >= 0; --i) {
    ASSERT_EQ(Decode(down.entry), (Versioned{Number(1, static_cast<uint64_t>(i)), 1}));
    tree.tree.Prev(&down);
  }
  EXPECT_EQ(down.entry, nullptr);
}

// As updates make them: newer and newer versions of rows that come in any order.
TEST(MemtableTree, AWalkOverKeysStepsOncePerKey) {
  constexpr uint64_t kKeys = 1000, kVersions = 20;
  std::mt19937_64 random(5);
  Tree tree;
  for (uint64_t i = 0; i < kKeys * kVersions; ++i) ASSERT_TRUE(tree.Insert({Number(1, random() % kKeys), i}));
  uint64_t keys = 0, steps = 0;
  std::string before;
  MemtableTree::Position position;
  for (tree.tree.FindFirst(&position); position.entry != nullptr; tree.tree.NextKey(&position), ++steps) {
    const std::string key = Decode(position.entry).key;
    keys += key != before;
    before = key;
  }
  EXPECT_EQ(keys, kKeys);
  EXPECT_LT(steps, 2 * kKeys);  // some keys lie in two leaves
}

uint64_t Estimate(const Tree& tree, const std::string& from, const std::string& to) {
  const std::string first = Encode(from, 1000), end = Encode(to, 1000);
  return tree.tree.EstimateBetween(MemtableTarget(EntryKey::Of(first.data())), MemtableTarget(EntryKey::Of(end.data())));
}

TEST(MemtableTree, EstimatesAreNearTheTruth) {
  std::mt19937_64 random(3);
  Tree tree;
  EXPECT_EQ(Estimate(tree, "a", "z"), 0u);
  std::vector<uint64_t> numbers(50'000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::shuffle(numbers.begin(), numbers.end(), random);
  for (const uint64_t number : numbers) ASSERT_TRUE(tree.Insert({Number(1, number), 1}));
  EXPECT_EQ(Estimate(tree, Number(2, 0), Number(3, 0)), 0u);
  EXPECT_EQ(Estimate(tree, Number(1, 500), Number(1, 400)), 0u);
  for (const uint64_t width : {1000u, 5000u, 30'000u}) {
    const double estimate = static_cast<double>(Estimate(tree, Number(1, 15'000), Number(1, 15'000 + width)));
    EXPECT_NEAR(estimate / static_cast<double>(width), 1, 0.4) << width;
  }
  EXPECT_EQ(Estimate(tree, Number(1, 15'000), Number(1, 15'001)), 1u);
}

// Writers insert disjoint keys while readers walk up and down: each walk is in order and has all that was
// reported as inserted before it began.
TEST(MemtableTree, ReadersSeeAllThatWasInsertedBeforeThem) {
  constexpr uint64_t kWriters = 3;
  constexpr uint64_t kEach = 8000;
  Tree tree;
  std::atomic<uint64_t> inserted[kWriters] = {};
  std::atomic<uint64_t> running = kWriters;
  // Two writers scatter their keys over one index, the third's come in order.
  const auto key_of = [](uint64_t writer, uint64_t i) {
    return writer == 2 ? Number(2, i) : Number(1, (i * 7919 % kEach) * 2 + writer);
  };
  const auto write = [&](uint64_t writer) {
    for (uint64_t i = 0; i < kEach; ++i) {
      EXPECT_TRUE(tree.Insert({key_of(writer, i), 1}));
      inserted[writer].store(i + 1, std::memory_order_release);
    }
    running.fetch_sub(1);
  };
  const auto read = [&](bool up) {
    for (bool last = false; !last;) {
      last = running.load() == 0;
      uint64_t least[kWriters], seen[kWriters] = {};
      std::set<std::string> expected;
      for (uint64_t w = 0; w < kWriters; ++w) {
        least[w] = inserted[w].load(std::memory_order_acquire);
        for (uint64_t i = least[w] - std::min<uint64_t>(least[w], 50); i < least[w]; ++i) expected.insert(key_of(w, i));
      }
      MemtableTree::Position position;
      std::string before;
      for (up ? tree.tree.FindFirst(&position) : tree.tree.FindLast(&position); position.entry != nullptr;
           up ? tree.tree.Next(&position) : tree.tree.Prev(&position)) {
        const Versioned at = Decode(position.entry);
        ASSERT_TRUE(before.empty() || (before < at.key) == up);
        before = at.key;
        expected.erase(at.key);
        ++seen[at.key[3] == 2 ? 2 : at.key.back() & 1];
      }
      for (uint64_t w = 0; w < kWriters; ++w) ASSERT_GE(seen[w], least[w]);
      ASSERT_TRUE(expected.empty());
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t w = 0; w < kWriters; ++w) threads.emplace_back(write, w);
  threads.emplace_back(read, true);
  threads.emplace_back(read, false);
  for (std::thread& thread : threads) thread.join();
  Model model;
  for (uint64_t w = 0; w < kWriters; ++w) {
    for (uint64_t i = 0; i < kEach; ++i) model.insert({key_of(w, i), 1});
  }
  ExpectWalks(tree, model);
}

// A reader steps over keys once it has seen what was committed when it began, while newer versions and keys come in.
TEST(MemtableTree, StepsOverKeysKeepToTheReadersMoment) {
  constexpr uint64_t kEntries = 60'000;
  std::mt19937_64 random(13);
  std::vector<std::string> keys;  // of the sequence numbers from 1 on
  for (uint64_t i = 0; i < kEntries; ++i) keys.push_back(Number(1, random() % (i / 16 + 50)));
  Tree tree;
  std::atomic<uint64_t> committed = 0;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kEntries; ++i) {
      ASSERT_TRUE(tree.Insert({keys[i], i + 1}));
      committed.store(i + 1, std::memory_order_release);
    }
  });
  std::map<std::string, uint64_t> expected;
  for (uint64_t moment = 0; moment < kEntries;) {
    for (const uint64_t now = committed.load(std::memory_order_acquire); moment < now; ++moment) expected[keys[moment]] = moment + 1;
    MemtableTree::Position position;
    tree.tree.FindFirst(&position);
    auto next = expected.begin();
    std::string seen;
    while (position.entry != nullptr) {
      const Versioned at = Decode(position.entry);
      if (at.sequence > moment) {
        tree.tree.Next(&position);
        continue;
      }
      if (at.key != seen) {
        ASSERT_NE(next, expected.end());
        ASSERT_EQ(at, (Versioned{next->first, next->second}));
        ++next;
        seen = at.key;
      }
      tree.tree.NextKey(&position);
    }
    ASSERT_EQ(next, expected.end());
  }
  writer.join();
}

// What look-ups may give for an entry that was inserted before, and is not the first, while others come in around it.
void ExpectFound(const Tree& tree, const Versioned& wanted) {
  const std::string entry = Encode(wanted.key, wanted.sequence);
  const MemtableTarget target(EntryKey::Of(entry.data()));
  MemtableTree::Position position;
  tree.tree.FindAtLeast(target, &position);
  ASSERT_EQ(Shown(position), Shown({.entry = entry.data()}));
  tree.tree.FindBefore(target, /*or_equal=*/true, &position);
  ASSERT_EQ(Shown(position), Shown({.entry = entry.data()}));
  tree.tree.FindBefore(target, /*or_equal=*/false, &position);
  ASSERT_NE(position.entry, nullptr);
  ASSERT_LT(Decode(position.entry), wanted);
  for (Versioned last = Decode(position.entry); last < wanted; last = Decode(position.entry)) {
    tree.tree.Next(&position);
    ASSERT_NE(position.entry, nullptr);
    ASSERT_LT(last, Decode(position.entry));
  }
  ASSERT_EQ(Shown(position), Shown({.entry = entry.data()}));
}

// Two writers insert what they share out by turns, of keys of all shapes, so that beginnings grow shorter and nodes of all levels are
// split, while others look for what is in already.
TEST_P(MemtableTreeTest, LooksFindWhatWasInsertedBeforeThem) {
  constexpr size_t kWriters = 2;
  constexpr size_t kEntries = 12'000;
  std::mt19937_64 random(11);
  Model model;
  for (size_t tries = 0; tries < kEntries; ++tries) model.insert({GetParam().make(random), random() % 1000});
  std::vector<Versioned> entries(std::next(model.begin()), model.end());
  std::shuffle(entries.begin(), entries.end(), random);
  Tree tree;
  ASSERT_TRUE(tree.Insert(*model.begin()));
  std::atomic<size_t> inserted[kWriters] = {};
  std::atomic<size_t> running = kWriters;
  const auto write = [&](size_t writer) {
    for (size_t i = writer; i < entries.size(); i += kWriters) {
      EXPECT_TRUE(tree.Insert(entries[i]));
      inserted[writer].store(i + 1, std::memory_order_release);
    }
    running.fetch_sub(1);
  };
  const auto look = [&](size_t reader) {
    std::mt19937_64 choice(reader);
    while (running.load() != 0) {
      const size_t writer = choice() % kWriters;
      const size_t end = inserted[writer].load(std::memory_order_acquire);
      if (end == 0) continue;
      // The newest are where nodes change.
      const size_t newest = (end - 1) / kWriters;
      const size_t back = choice() % 2 == 0 ? 0 : choice() % (newest + 1);
      ASSERT_NO_FATAL_FAILURE(ExpectFound(tree, entries[writer + (newest - back) * kWriters]));
      const std::string from = Encode("", 0), to = Encode(std::string(600, '\xff'), 0);
      const uint64_t about = tree.tree.EstimateBetween(MemtableTarget(EntryKey::Of(from.data())),
                                                       MemtableTarget(EntryKey::Of(to.data())));
      ASSERT_LT(about, 1000 * kEntries);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kWriters; ++i) threads.emplace_back(write, i);
  for (size_t i = 0; i < 2; ++i) threads.emplace_back(look, i);
  for (std::thread& thread : threads) thread.join();
  ExpectWalks(tree, model);
}

// All writers try to insert the same entries: each is taken once.
TEST(MemtableTree, OneOfManyEqualInsertsIsTaken) {
  constexpr uint64_t kKeys = 4000;
  Tree tree;
  std::atomic<uint64_t> taken = 0;
  const auto write = [&](uint64_t step) {
    for (uint64_t i = 0; i < kKeys; ++i) taken += tree.Insert({Number(1, i * step % kKeys), 5}) ? 1 : 0;
  };
  std::thread other(write, 7919);
  write(1);
  other.join();
  EXPECT_EQ(taken, kKeys);
  Model model;
  for (uint64_t i = 0; i < kKeys; ++i) model.insert({Number(1, i), 5});
  ExpectWalks(tree, model);
}

}  // namespace
}  // namespace cairn::store

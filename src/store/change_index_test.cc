// SPDX-License-Identifier: GPL-2.0-only
// The order of changes, and reads of a transaction's own ones, against a map.
#include "store/change_index.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Random = std::mt19937_64;

// Keys that often share their first sixteen bytes, end within them, or contain zeros.
std::string DrawKey(Random* random) {
  static constexpr char kLetters[] = {'\0', 'a', 'b', '\xff'};
  std::string key((*random)() % 2 == 0 ? "0123456789abcdef" : "0123");
  key.resize((*random)() % 3 == 0 ? key.size() : 1 + (*random)() % key.size());
  for (size_t i = (*random)() % 4; i > 0; --i) key.push_back(kLetters[(*random)() % 4]);
  return key;
}

// Appends changes to bytes as a batch does.
class Bytes {
 public:
  ChangeIndex::Place Append(ByteView key, const std::optional<std::string>& value) {
    ByteBuffer entry;
    entry.AppendU8(1);
    entry.AppendLengthPrefixed(key);
    const ChangeIndex::Place place{.key_offset = text.size() + entry.size() - key.size(),
                                   .key_bytes = static_cast<uint32_t>(key.size()),
                                   .is_put = value.has_value()};
    if (value.has_value()) entry.AppendLengthPrefixed(*value);
    text.append(entry.view());
    return place;
  }

  std::string text;
};

using Changes = std::map<std::string, std::optional<std::string>>;

void ExpectSame(const ChangeIndex& index, const Changes& changes, Random* random) {
  const ChangeIndex::Node* node = index.First();
  const ChangeIndex::Node* previous = nullptr;
  for (const auto& [key, value] : changes) {
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(index.KeyOf(node), key);
    ASSERT_EQ(index.IsPut(node), value.has_value());
    if (value.has_value()) {
      EXPECT_EQ(index.ValueOf(node), *value);
    }
    EXPECT_EQ(index.Previous(node), previous);
    previous = std::exchange(node, index.Next(node));
  }
  EXPECT_EQ(node, nullptr);
  EXPECT_EQ(index.Last(), previous);
  const auto key_at = [&](auto at) { return at == changes.end() ? "-" : at->first; };
  const auto key_before = [&](auto at) { return at == changes.begin() ? "-" : std::prev(at)->first; };
  const auto key_of = [&](const ChangeIndex::Node* one) { return one == nullptr ? "-" : std::string(index.KeyOf(one)); };
  for (int i = 0; i < 10; ++i) {
    const std::string key = DrawKey(random);
    EXPECT_EQ(key_of(index.Find(key)), key_at(changes.find(key)));
    EXPECT_EQ(key_of(index.FirstFrom(key)), key_at(changes.lower_bound(key)));
    EXPECT_EQ(key_of(index.FirstAfter(key)), key_at(changes.upper_bound(key)));
    EXPECT_EQ(key_of(index.LastUpTo(key)), key_before(changes.upper_bound(key)));
    EXPECT_EQ(key_of(index.LastBefore(key)), key_before(changes.lower_bound(key)));
  }
}

TEST(ChangeIndexTest, AgreesWithAMap) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Bytes bytes;
    Changes changes;
    ChangeIndex index;
    index.Clear(&bytes.text);
    std::vector<ChangeIndex::Place> places;
    const auto change = [&] {
      const std::string key = DrawKey(&random);
      std::optional<std::string> value;
      if (random() % 4 != 0) value.emplace(random() % 300, static_cast<char>(random()));
      changes[key] = value;
      return bytes.Append(key, value);
    };
    for (size_t i = random() % 300; i > 0; --i) places.push_back(change());
    ASSERT_TRUE(index.AddAll(places, {}));
    ExpectSame(index, changes, &random);
    for (int round = 0; round < 10; ++round) {
      const Changes before = changes;
      const size_t bytes_before = bytes.text.size();
      std::vector<std::string> keys;
      for (size_t i = random() % 100; i > 0; --i) {
        const ChangeIndex::Place place = change();
        keys.emplace_back(bytes.text, place.key_offset, place.key_bytes);
        index.Add(place);
      }
      ExpectSame(index, changes, &random);
      if (random() % 2 == 0) continue;
      for (const std::string& key : keys) index.Undo(key, bytes_before);
      bytes.text.resize(bytes_before);
      changes = before;
      ExpectSame(index, changes, &random);
    }
  }
}

TEST(ChangeIndexTest, HoldsAscendingKeysAndIsUsedAgain) {
  Bytes bytes;
  ChangeIndex index;
  Random random(1);
  for (int round = 0; round < 3; ++round) {
    bytes.text.clear();
    index.Clear(&bytes.text);
    EXPECT_EQ(index.First(), nullptr);
    EXPECT_EQ(index.Last(), nullptr);
    Changes changes;
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = "key" + std::to_string(100'000 + i);
      changes[key] = "v";
      index.Add(bytes.Append(key, "v"));
    }
    ExpectSame(index, changes, &random);
  }
}

TEST(ChangeIndexTest, CountsFewExactlyAndManyAboutRight) {
  Bytes bytes;
  ChangeIndex index;
  index.Clear(&bytes.text);
  const auto key = [](int i) { return "key" + std::to_string(100'000 + i); };
  EXPECT_EQ(index.CountBetween(key(0), key(1)).puts, 0U);
  std::vector<ChangeIndex::Place> places;
  const std::optional<std::string> put("v");
  for (int i = 0; i < 40'000; ++i) places.push_back(bytes.Append(key(i), i % 4 == 0 ? std::nullopt : put));
  ASSERT_TRUE(index.AddAll(places, {}));
  const auto expect_exact = [&](int begin, int end, uint64_t puts, uint64_t removals) {
    const ChangeIndex::Count count = index.CountBetween(key(begin), key(end));
    EXPECT_EQ(count.puts, puts);
    EXPECT_EQ(count.removals, removals);
  };
  expect_exact(8, 20, 9, 3);
  expect_exact(100, 356, 192, 64);
  expect_exact(39'996, 50'000, 3, 1);
  expect_exact(20, 20, 0, 0);
  expect_exact(20, 8, 0, 0);
  expect_exact(40'000, 50'000, 0, 0);
  const ChangeIndex::Count many = index.CountBetween(key(100), key(30'100));
  EXPECT_NEAR(static_cast<double>(many.puts), 22'500, 7'500);
  EXPECT_NEAR(static_cast<double>(many.removals), 7'500, 5'000);
}

TEST(ChangeIndexTest, ManyAreSortedInPiecesForWhoMayHaveToStop) {
  Bytes bytes;
  Changes changes;
  Random random(1);
  std::vector<ChangeIndex::Place> places;
  while (places.size() < 3 * ChangeIndex::kSortedAtOnceMax) {
    const std::string key = std::to_string(random() % 100'000);
    changes[key] = std::to_string(places.size());
    places.push_back(bytes.Append(key, changes[key]));
  }
  ChangeIndex index;
  index.Clear(&bytes.text);
  EXPECT_TRUE(index.AddAll(places, [] { return false; }));
  ExpectSame(index, changes, &random);
  for (const int asked_max : {1, 2, 5}) {
    index.Clear(&bytes.text);
    int asked = 0;
    EXPECT_FALSE(index.AddAll(places, [&] { return ++asked == asked_max; }));
    EXPECT_EQ(asked, asked_max);
  }
}

class StoppedOrderTest : public ::testing::Test, public StoreFixture {
 protected:
  void SetUp() override { Open(); }
};

TEST_F(StoppedOrderTest, IsMadeAnewWithWhatHasComeSince) {
  auto transaction = store->BeginWrite();
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(transaction->Put(Family::kData, std::to_string(i * 7919 % 10'000), std::to_string(i)).ok());
  }
  int stopped = 0;
  for (bool done = false; !done;) {
    ASSERT_TRUE(transaction->Put(Family::kData, "new" + std::to_string(stopped), "1").ok());
    int asked = 0;
    done = transaction->OrderUnless([&] { return ++asked > stopped; });
    EXPECT_EQ(transaction->is_ordered(), done);
    stopped += !done;
  }
  EXPECT_GT(stopped, 2);
  PinnedValue value;
  for (int i = 0; i <= stopped; ++i) EXPECT_TRUE(transaction->Get("new" + std::to_string(i), nullptr, &value).ok());
  ASSERT_TRUE(transaction->Get(std::to_string(7919 * 5000 % 10'000), nullptr, &value).ok());
  EXPECT_EQ(value.view(), "5000");
}

// A transaction over a store, and what it must see.
class OwnChangesTest : public ::testing::TestWithParam<uint64_t>, public StoreFixture {
 protected:
  void SetUp() override {
    Open();
    random_.seed(GetParam());
  }

  struct Model {
    std::map<std::string, std::string> seen;
    std::map<std::string, std::optional<std::string>> puts;  // changed keys, and the newest value put there, also if removed since
  };

  // Of keys that were put more than once, so what the store makes of it is not looked at.
  static bool removes_singly() { return GetParam() % 2 == 0; }

  std::string DrawValue() { return std::to_string(random_() % 1000); }

  void Change(WriteTransaction* txn, Model* model) {
    const std::string key = DrawKey(&random_);
    if (random_() % 3 != 0) {
      const std::string value = DrawValue();
      ASSERT_TRUE(txn->Put(Family::kData, key, value).ok());
      model->seen[key] = value;
      model->puts[key] = value;
      return;
    }
    ASSERT_TRUE((removes_singly() && random_() % 2 == 0 ? txn->SingleDelete(Family::kData, key)
                                                        : txn->Delete(Family::kData, key)).ok());
    model->seen.erase(key);
    model->puts.try_emplace(key);
  }

  // Moves a cursor to and fro, sometimes changing what is in its way.
  void Walk(WriteTransaction* txn, const Snapshot* snapshot, Model* model, bool changes) {
    std::string lower = DrawKey(&random_), upper = DrawKey(&random_);
    if (lower > upper) std::swap(lower, upper);
    if (random_() % 4 == 0) lower.clear();
    if (random_() % 4 == 0) upper.clear();
    Cursor cursor;
    ASSERT_TRUE(txn->OpenCursor({.snapshot = snapshot, .lower_bound = lower, .upper_bound = upper}, &cursor).ok());
    const auto& seen = model->seen;
    const auto in_bounds = [&](auto at) {
      return at != seen.end() && at->first >= lower && (upper.empty() || at->first < upper);
    };
    const auto before = [&](auto at) { return at == seen.begin() ? seen.end() : std::prev(at); };
    auto expected = seen.end();
    for (int move = 0; move < 60; ++move) {
      const std::string key = DrawKey(&random_);
      const bool is_at = cursor.Valid();
      switch (is_at ? random_() % 12 : random_() % 4) {
        case 0:
          cursor.Seek(key);
          expected = seen.lower_bound(std::max(key, lower));
          break;
        case 1:
          cursor.SeekForPrev(key);
          expected = before(!upper.empty() && key >= upper ? seen.lower_bound(upper) : seen.upper_bound(key));
          break;
        case 2:
          cursor.SeekToFirst();
          expected = seen.lower_bound(lower);
          break;
        case 3:
          cursor.SeekToLast();
          expected = before(upper.empty() ? seen.end() : seen.lower_bound(upper));
          break;
        default: {
          const std::string current(cursor.key());
          if (changes && random_() % 3 == 0) Change(txn, model);
          if (move / 8 % 2 == 0) {
            cursor.Next();
            expected = seen.upper_bound(current);
          } else {
            cursor.Prev();
            expected = before(seen.lower_bound(current));
          }
        }
      }
      ASSERT_EQ(cursor.Valid(), in_bounds(expected)) << move;
      ASSERT_TRUE(cursor.status().ok());
      if (!cursor.Valid()) continue;
      ASSERT_EQ(cursor.key(), expected->first) << move;
      ASSERT_EQ(cursor.value(), expected->second) << move;
    }
  }

  void LookUp(const WriteTransaction& txn, const Snapshot* snapshot, const Model& model) {
    for (int i = 0; i < 10; ++i) {
      const std::string key = DrawKey(&random_);
      PinnedValue value;
      const Status status = txn.Get(key, snapshot, &value);
      const auto at = model.seen.find(key);
      ASSERT_EQ(status.ok(), at != model.seen.end()) << status.ToString();
      ASSERT_EQ(value.view(), status.ok() ? at->second : "");
      ASSERT_EQ(txn.HasChanged(key), model.puts.contains(key));
      FindPuts(txn, model, key, DrawKey(&random_));
    }
  }

  void FindPuts(const WriteTransaction& txn, const Model& model, std::string lower, std::string upper) {
    if (lower > upper) std::swap(lower, upper);
    const bool forward = random_() % 2 == 0;
    WriteTransaction::FoundPut found;
    const bool any = txn.FindPut(lower, upper, forward, 1000, &found);
    std::optional<std::string> expected;
    for (const auto& [key, value] : model.puts) {
      if (value && key >= lower && key < upper && (!forward || !expected)) expected = key;
    }
    ASSERT_EQ(any, expected.has_value());
    if (!any) return;
    ASSERT_EQ(found.key, *expected);
    ASSERT_EQ(found.value, *model.puts.at(*expected));
    ASSERT_FALSE(found.is_removal);
  }

  Random random_;
};

TEST_P(OwnChangesTest, ReadsAgreeWithAMap) {
  Model model;
  for (int i = 0; i < 100; ++i) {
    const std::string key = DrawKey(&random_), value = DrawValue();
    ASSERT_TRUE(Put(key, value, Durability::kOs).ok());
    model.seen[key] = value;
    if (i % 40 == 39) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
  }
  const Snapshot snapshot = store->TakeSnapshot();
  auto txn = store->BeginWrite();
  std::vector<Model> savepoints;
  for (int step = 0; step < 150; ++step) {
    switch (random_() % 10) {
      case 0:
        txn->SetSavepoint();
        savepoints.push_back(model);
        break;
      case 1:
        if (savepoints.empty()) break;
        ASSERT_TRUE(txn->RollbackToSavepoint().ok());
        model = savepoints.back();
        savepoints.pop_back();
        break;
      case 2:
        if (savepoints.empty()) break;
        ASSERT_TRUE(txn->PopSavepoint().ok());
        savepoints.pop_back();
        break;
      case 3:
        if (step > 50) Walk(txn.get(), &snapshot, &model, random_() % 2 == 0);
        break;
      case 4:
        if (step > 50) LookUp(*txn, &snapshot, model);
        break;
      default:
        for (size_t i = random_() % 8; i > 0; --i) Change(txn.get(), &model);
    }
    if (HasFatalFailure()) return;
  }
  Walk(txn.get(), nullptr, &model, false);
  if (random_() % 2 == 0) {
    ASSERT_TRUE(txn->Prepare("x", Durability::kOs).ok());
    EXPECT_FALSE(txn->Put(Family::kData, "late", "1").ok());
    FindPuts(*txn, model, "", "\xff");
  }
  ASSERT_TRUE(txn->Commit(Durability::kOs).ok());
  for (const auto& [key, value] : model.seen) EXPECT_EQ(Get(key), value);
  for (const auto& [key, is_put] : model.puts) {
    if (!is_put && !removes_singly()) {
      EXPECT_EQ(Get(key), "-");
    }
  }
  txn->Restart();
  EXPECT_FALSE(txn->HasChanged(model.seen.begin()->first));
}

INSTANTIATE_TEST_SUITE_P(Seeds, OwnChangesTest, ::testing::Range<uint64_t>(1, 31));

// A walk is let go of after its transaction went on writing: its changes may lie elsewhere by then.
TEST(OwnChanges, AWalkKnowsWhereItIsAfterFurtherChanges) {
  class Fixture : public StoreFixture {} fixture;
  fixture.Open();
  auto txn = fixture.store->BeginWrite();
  ASSERT_TRUE(txn->Put(Family::kData, "a", std::string(300 << 10, 'x')).ok());
  ASSERT_TRUE(txn->Put(Family::kData, "b with a name", "1").ok());
  Cursor cursor;
  ASSERT_TRUE(txn->OpenCursor({.lower_bound = "a", .upper_bound = "c"}, &cursor).ok());
  cursor.Seek("b");
  ASSERT_TRUE(cursor.Valid());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(txn->Put(Family::kData, "d", std::string(300 << 10, 'x')).ok());
  EXPECT_EQ(cursor.PositionNow(), "b with a name");
  cursor.Close();
  ASSERT_TRUE(txn->Rollback().ok());
}

// More than the first doublings of its memory.
TEST(OwnChanges, OfALargeTransactionAreInOrder) {
  class Fixture : public StoreFixture {} fixture;
  fixture.Open();
  auto txn = fixture.store->BeginWrite();
  constexpr int kChanges = 500'000;
  const auto key = [](int i) { return "k" + std::to_string(1'000'000 + i); };
  ASSERT_TRUE(txn->Put(Family::kData, key(0), "").ok());
  ASSERT_TRUE(txn->HasChanged(key(0)));  // from here on they are ordered as they come
  for (int i = 1; i < kChanges; ++i) ASSERT_TRUE(txn->Put(Family::kData, key(i), "").ok());
  Cursor cursor;
  ASSERT_TRUE(txn->OpenCursor({.lower_bound = "k", .upper_bound = "l"}, &cursor).ok());
  int next = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) ASSERT_EQ(cursor.key(), key(next++));
  EXPECT_EQ(next, kChanges);
  cursor.Close();
  ASSERT_TRUE(txn->Rollback().ok());
}

TEST(OwnChanges, OfARecoveredTransactionAreFound) {
  class Fixture : public StoreFixture {} fixture;
  fixture.Open();
  {
    auto txn = fixture.store->BeginWrite();
    ASSERT_TRUE(txn->Put(Family::kData, "b", "1").ok());
    ASSERT_TRUE(txn->Delete(Family::kData, "c").ok());
    ASSERT_TRUE(txn->Prepare("x", Durability::kSync).ok());
  }
  fixture.Reopen();
  auto recovered = fixture.store->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1u);
  WriteTransaction::FoundPut found;
  ASSERT_TRUE(recovered[0]->FindPut("a", "z", true, 1000, &found));
  EXPECT_EQ(found.key, "b");
  EXPECT_EQ(found.value, "1");
  EXPECT_TRUE(recovered[0]->HasChanged("c"));
  ASSERT_TRUE(recovered[0]->Commit(Durability::kSync).ok());
  EXPECT_EQ(fixture.Get("b"), "1");
}

}  // namespace
}  // namespace cairn::store

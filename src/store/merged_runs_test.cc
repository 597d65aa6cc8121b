// SPDX-License-Identifier: GPL-2.0-only
// Walks over memtables and many small runs of files at once: against a model, beside writers, and with damage in one of them.
#include "store/merged_runs.h"

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Model = std::map<std::string, std::string>;

class MergedRunsTest : public ::testing::TestWithParam<unsigned>, public StoreFixture {
 protected:
  struct Moment {
    Snapshot snapshot;
    Model model;
  };

  void SetUp() override {
    random_.seed(GetParam());
  }
  unsigned Below(unsigned n) { return random_() % n; }

  // Keys that are beginnings of each other, that differ in bytes a comparison of words pads with, and only behind these words.
  std::string Key() {
    static const std::string kBeginnings[] = {"k", std::string("k\0\0", 3), std::string(23, 'k'), std::string(24, 'k'),
                                              std::string(40, 'k'), "s"};
    static constexpr std::string_view kBytes("\0\1a\xff", 4);
    std::string key = kBeginnings[Below(std::size(kBeginnings))];
    for (unsigned left = Below(4); left > 0; --left) key += kBytes[Below(4)];
    return key;
  }

  // Small blocks and files, many levels, and memtables that wait.
  static std::string ManyRuns(unsigned kind) {
    std::string text =
        "target_file_size_base=1500;level_compaction_dynamic_level_bytes=false;max_bytes_for_level_base=6000;"
        "max_bytes_for_level_multiplier=3;block_based_table_factory={block_size=150};";
    if (kind % 2 == 0) text += "prefix_extractor=nullptr;";
    if (kind % 4 < 2) text += "write_buffer_size=65536;min_write_buffer_number_to_merge=3;max_write_buffer_number=7;";
    if (kind % 8 < 4) text += "level0_file_num_compaction_trigger=6;";
    return text;
  }

  void Change() {
    Batch batch(*store);
    for (unsigned left = 1 + Below(3); left > 0; --left) {
      const std::string key = Key();
      const bool single = key.front() == 's';
      if (single ? now_.contains(key) : Below(3) == 0) {
        single ? batch.SingleDelete(Family::kData, key) : batch.Delete(Family::kData, key);
        now_.erase(key);
        if (single) break;
      } else {
        now_[key] = std::to_string(++written_) + std::string(Below(Below(20) == 0 ? 9000 : 30), '.');
        batch.Put(Family::kData, key, now_[key]);
        if (single) break;
      }
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }

  void DropRange() {
    std::string begin = Key(), end = Key();
    if (begin > end) std::swap(begin, end);
    if (begin.front() == 's' || end.front() == 's') return;
    Batch batch(*store);
    batch.DeleteRange(Family::kData, begin, end);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    now_.erase(now_.lower_bound(begin), now_.lower_bound(end));
  }

  void Step() {
    switch (Below(40)) {
      case 0: case 1: ASSERT_TRUE(store->FlushMemtables().ok()); break;
      case 2: if (Below(6) == 0) { ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); } break;
      case 3: case 4: moments_.push_back({store->TakeSnapshot(), now_}); break;
      case 5: if (!moments_.empty()) moments_.erase(moments_.begin() + Below(static_cast<unsigned>(moments_.size()))); break;
      // Then everything to the oldest run, where such deletions reach nothing else.
      case 6:
        if (GetParam() % 3 == 0 && Below(3) == 0) {
          DropRange();
          ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
        }
        break;
      default: Change();
    }
  }

  void ChooseBounds() {
    lower_ = Below(3) ? Key() : "", upper_ = Below(3) ? Key() : "";
    if (!upper_.empty() && lower_ > upper_) std::swap(lower_, upper_);
  }

  Status OpenCursor(const Snapshot* snapshot) {
    return store->OpenCursor(Family::kData, {.snapshot = snapshot, .lower_bound = lower_, .upper_bound = upper_}, &cursor_);
  }

  // Random moves, of which each gives what the model has. With `errors` they may fail instead, which is counted; nothing
  // changes beside the walk then.
  void Walk(const Snapshot* snapshot, const Model& all, unsigned steps, unsigned* errors) {
    ChooseBounds();
    const Model model(all.lower_bound(lower_), upper_.empty() ? all.end() : all.lower_bound(upper_));
    if (Below(3) == 0) cursor_.Close();
    ASSERT_TRUE(OpenCursor(snapshot).ok());
    auto at = model.end();
    const auto before = [&](auto position) { return position == model.begin() ? model.end() : std::prev(position); };
    unsigned same = 0, move = 0;
    for (unsigned step = 0; step < steps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      if (errors == nullptr && Below(40) == 0) {
        ASSERT_NO_FATAL_FAILURE(Step());
      }
      const std::string key = Key();
      if (same == 0) {
        move = at == model.end() ? Below(4) : Below(24);
        same = move < 4 ? 0 : Below(4) == 0 ? Below(30) : Below(3);
      } else {
        --same;
      }
      if (at == model.end() && move >= 4) move = Below(4), same = 0;
      switch (move) {
        case 0: cursor_.SeekToFirst(); at = model.begin(); break;
        case 1: cursor_.SeekToLast(); at = before(model.end()); break;
        case 2: cursor_.Seek(key); at = model.lower_bound(key); break;
        case 3: cursor_.SeekForPrev(key); at = before(model.upper_bound(key)); break;
        case 4: case 5: case 6: case 7: case 8: case 9: case 10: case 11: case 12: case 13:
          cursor_.Prev(); at = before(at); break;
        default: cursor_.Next(); ++at;
      }
      if (errors != nullptr && !cursor_.status().ok()) {
        ++*errors;
        ASSERT_FALSE(cursor_.Valid());
        at = model.end();
        same = 0;
        if (Below(2)) {
          ASSERT_TRUE(OpenCursor(snapshot).ok());
        }
        continue;
      }
      ASSERT_TRUE(cursor_.status().ok()) << cursor_.status().ToString();
      ASSERT_EQ(cursor_.Valid(), at != model.end()) << "move " << move;
      if (at == model.end()) continue;
      ASSERT_EQ(cursor_.key(), at->first) << "move " << move;
      ASSERT_EQ(cursor_.value(), at->second);
    }
  }

  Cursor cursor_;
  std::mt19937 random_;
  unsigned written_ = 0;
  Model now_;
  std::vector<Moment> moments_;
  std::string lower_, upper_;
};

TEST_P(MergedRunsTest, AgreesWithAModel) {
  options.expert_family_options = ManyRuns(GetParam());
  Open();
  for (unsigned round = 0; round < 30; ++round) {
    for (unsigned i = 0; i < 30; ++i) ASSERT_NO_FATAL_FAILURE(Step());
    for (unsigned walk = Below(4); walk > 0; --walk) {
      const Model model = now_;
      ASSERT_NO_FATAL_FAILURE(Walk(nullptr, model, 60, nullptr));
    }
    for (unsigned walk = moments_.empty() ? 0 : Below(4); walk > 0; --walk) {
      const Moment moment = std::move(moments_.back());
      moments_.pop_back();
      for (unsigned again = 1 + Below(3); again > 0; --again) {
        ASSERT_NO_FATAL_FAILURE(Walk(&moment.snapshot, moment.model, 60, nullptr));
      }
      cursor_.Close();
      if (moments_.empty()) break;
    }
  }
  cursor_.Close();
  moments_.clear();
}

// One bit of one block is wrong: whatever a walk gives is right, and where it cannot go on it says so.
TEST_P(MergedRunsTest, DamageInOneRunEndsTheWalk) {
  options.expert_family_options = ManyRuns(GetParam());
  Open();
  for (unsigned i = 0; i < 500; ++i) ASSERT_NO_FATAL_FAILURE(Step());
  moments_.clear();
  ASSERT_TRUE(store->FlushMemtables().ok());
  options.expert_family_options += "disable_auto_compactions=true;";
  Reopen();  // which removes files that are of no use
  store.reset();
  unsigned errors = 0;
  for (unsigned damage = 0; damage < 8; ++damage) {
    const std::vector<std::string> files = env.Files("/db", ".sst");
    const std::string path = files[Below(static_cast<unsigned>(files.size()))];
    const std::string file = path.substr(path.rfind('/') + 1);
    const uint64_t byte = Below(100);
    ASSERT_TRUE(env.FlipBit("/db", file, byte));
    if (Store::Open(options, &store).ok()) {
      for (unsigned i = 0; i < 10; ++i) ASSERT_NO_FATAL_FAILURE(Change());
      for (unsigned walk = 0; walk < 10; ++walk) ASSERT_NO_FATAL_FAILURE(Walk(nullptr, now_, 60, &errors));
    }
    cursor_ = Cursor();
    store.reset();
    if (!env.Files("/db", file).empty()) {
      ASSERT_TRUE(env.FlipBit("/db", file, byte));
    }
  }
  EXPECT_GT(errors, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MergedRunsTest, ::testing::Range(1u, 9u));

class MergedRunsThreadsTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr unsigned kKeys = 200, kAll = 10 * kKeys;
  static std::string Key(unsigned i) { return "k" + std::to_string(1000 + i); }

  // Moves parts of what all keys have together from key to key; a key with nothing is not there.
  void MoveUntil(const std::atomic<bool>& stop) {
    std::mt19937 random(1);
    std::vector<unsigned> has(kKeys, kAll / kKeys);
    for (unsigned round = 0; !stop; ++round) {
      const unsigned from = random() % kKeys, to = random() % kKeys;
      if (from == to || has[from] == 0) continue;
      const unsigned moved = random() % 2 ? has[from] : 1;
      Batch batch(*store);
      has[from] -= moved;
      has[to] += moved;
      if (has[from] == 0) {
        batch.Delete(Family::kData, Key(from));
      } else {
        batch.Put(Family::kData, Key(from), std::to_string(has[from]) + std::string(random() % 100, ' '));
      }
      batch.Put(Family::kData, Key(to), std::to_string(has[to]));
      EXPECT_TRUE(store->Write(batch, Durability::kOs).ok());
      if (round % 500 == 0) { EXPECT_TRUE(store->FlushMemtables().ok()); }
      if (round % 7000 == 0) { EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); }
    }
  }

  // A step against the direction of the walk and one back lead to the same entry.
  static bool TurnsTwice(Cursor* cursor, bool forward) {
    const std::string key(cursor->key()), value(cursor->value());
    forward ? cursor->Prev() : cursor->Next();
    if (cursor->Valid()) {
      forward ? cursor->Next() : cursor->Prev();
    } else {
      forward ? cursor->Seek(key) : cursor->SeekForPrev(key);
    }
    return cursor->Valid() && cursor->key() == key && cursor->value() == value;
  }

  void CountWalks(unsigned seed) {
    std::mt19937 random(seed);
    Cursor cursor;
    for (unsigned walk = 0; walk < 300; ++walk) {
      const Snapshot snapshot = store->TakeSnapshot();
      const CursorOptions walk_options{
          .snapshot = random() % 2 ? &snapshot : nullptr, .lower_bound = "k", .upper_bound = "l"};
      EXPECT_TRUE(store->OpenCursor(Family::kData, walk_options, &cursor).ok());
      for (const bool forward : {true, false, true}) {
        unsigned sum = 0;
        forward ? cursor.SeekToFirst() : cursor.SeekToLast();
        for (; cursor.Valid(); forward ? cursor.Next() : cursor.Prev()) {
          sum += static_cast<unsigned>(std::stoul(std::string(cursor.value())));
          if (random() % 16 == 0) { ASSERT_TRUE(TurnsTwice(&cursor, forward)); }
        }
        ASSERT_TRUE(cursor.status().ok()) << cursor.status().ToString();
        ASSERT_EQ(sum, kAll) << (forward ? "forward" : "backward");
      }
      cursor.Close();
    }
  }
};

// What is moved from key to key in one batch is always all there, whichever way it is counted.
TEST_F(MergedRunsThreadsTest, EachWalkSeesWholeBatches) {
  options.expert_family_options =
      "target_file_size_base=3000;block_based_table_factory={block_size=300};write_buffer_size=65536;max_write_buffer_number=6;";
  Open();
  for (unsigned i = 0; i < kKeys; ++i) ASSERT_TRUE(Put(Key(i), std::to_string(kAll / kKeys), Durability::kOs).ok());
  std::atomic<bool> stop = false;
  std::thread writer([&] { MoveUntil(stop); });
  std::thread other([&] { CountWalks(7); });
  CountWalks(8);
  other.join();
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace cairn::store

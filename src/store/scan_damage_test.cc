// SPDX-License-Identifier: GPL-2.0-only
// Walks over blocks whose checksum is right and whose contents are not: they end, with corruption where it can be told.
#include <algorithm>
#include <string>

#include "store/damage_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class ScanDamageTest : public ::testing::Test, public DamagedFileFixture {
 protected:
  // Which streams a walk is made of: see visible_iterator.h.
  enum class Kind { kFiles, kMerge, kMergeOfRocks };
  static constexpr Kind kKinds[] = {Kind::kFiles, Kind::kMerge, Kind::kMergeOfRocks};

  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(WriteFile());
    ASSERT_NO_FATAL_FAILURE(FindBlocks());
  }

  void OpenDamaged(const std::string& text, Kind kind) {
    if (store != nullptr) Crash();  // nothing of the last one is left
    env.WriteFile(path_, text);
    Open();
    Batch batch(*store);
    if (kind == Kind::kMergeOfRocks) batch.DeleteRange(Family::kData, Key(kKeys), Key(kKeys + 1));
    if (kind != Kind::kFiles) {
      for (int i = 1; i < kKeys; i += 50) batch.Put(Family::kData, Key(i), "beside");
      ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    }
  }

  // How the walk ends, and how many entries it gives at most.
  Status Walk(ByteView lower, ByteView upper, bool forward) {
    Cursor cursor;
    CAIRN_RETURN_IF_ERROR(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor));
    int count = 0;
    for (forward ? cursor.SeekToFirst() : cursor.SeekToLast(); cursor.Valid() && count < 4 * kKeys; ++count) {
      forward ? cursor.Next() : cursor.Prev();
    }
    EXPECT_LT(count, 4 * kKeys);
    return cursor.status();
  }
  // Turns about at each entry.
  Status WalkToAndFro(ByteView lower, ByteView upper) {
    Cursor cursor;
    CAIRN_RETURN_IF_ERROR(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor));
    cursor.SeekToFirst();
    for (int step = 0; step < kKeys && cursor.Valid(); ++step) {
      if (step % 3 == 2) {
        cursor.Prev();
      } else {
        cursor.Next();
      }
    }
    return cursor.status();
  }

  // Of walks that are in one block each: they give their entry, or corruption. How many gave that.
  int CountDamagedWalks(bool forward) {
    int damaged = 0;
    for (int i = 0; i < kKeys; i += 2) {
      Cursor cursor;
      const std::string lower = Key(i), upper = Key(i + 1);
      EXPECT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor).ok());
      const std::string found = forward ? (cursor.SeekToFirst(), Forward(cursor)) : (cursor.SeekToLast(), Backward(cursor));
      if (cursor.status().Is(Code::kCorruption)) {
        ++damaged;
      } else {
        EXPECT_EQ(found, Key(i) + "=" + Value(i));
      }
    }
    return damaged;
  }

  // Where the n-th entry of a block begins.
  size_t EntryAt(const Block& block, int n) const {
    size_t at = block.offset;
    for (; n > 0; --n) at += size_t{3} + static_cast<uint8_t>(whole_[at + 1]) + static_cast<uint8_t>(whole_[at + 2]);
    return at;
  }

  // That entry gets a key of two or three bytes, and a value that is longer for it.
  void ShortenKey(const Block& block, int n, std::string* text) const {
    const size_t at = EntryAt(block, n);
    if (at >= block.offset + EntryBytes(block)) return;
    const auto shared = static_cast<uint8_t>(whole_[at]), own = static_cast<uint8_t>(whole_[at + 1]),
               value_bytes = static_cast<uint8_t>(whole_[at + 2]);
    ASSERT_LT(shared | own | value_bytes, 0x80);
    (*text)[at] = static_cast<char>(std::min<uint8_t>(shared, 1));
    (*text)[at + 1] = 2;
    (*text)[at + 2] = static_cast<char>(value_bytes + own - 2);
    Seal(block, text);
  }

  const std::string lower_ = std::string("\0\0\0\1", 4), upper_ = std::string("\0\0\0\2", 4);
};

TEST_F(ScanDamageTest, KeysThatAreTooShort) {
  for (const Kind kind : kKinds) {
    for (int n = 0; n < 3; ++n) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", entry " + std::to_string(n));
      std::string text = whole_;
      for (const Block& block : blocks_) ASSERT_NO_FATAL_FAILURE(ShortenKey(block, n, &text));
      ASSERT_NO_FATAL_FAILURE(OpenDamaged(text, kind));
      for (const bool forward : {true, false}) {
        const Status status = Walk(lower_, upper_, forward);
        EXPECT_TRUE(status.Is(Code::kCorruption)) << forward << ' ' << status.ToString();
      }
      EXPECT_TRUE(WalkToAndFro(lower_, upper_).Is(Code::kCorruption));
      for (int i = 0; i < kKeys; i += 7) {
        for (const bool forward : {true, false}) {
          const Status status = Walk(Key(i), Key(i) + "x", forward);
          EXPECT_TRUE(status.ok() || status.Is(Code::kCorruption)) << i << ' ' << status.ToString();
        }
      }
      bool has;
      std::string last;
      for (const Status& status : {store->HasVersions(lower_, upper_, &has), store->FindLastVersion(lower_, upper_, &last)}) {
        EXPECT_TRUE(status.ok() || status.Is(Code::kCorruption)) << status.ToString();
      }
    }
  }
}

// A block in the middle is met by steps from the one before it, which is in the cache or not.
TEST_F(ScanDamageTest, AKeyThatIsTooShortInOneBlock) {
  for (const Kind kind : kKinds) {
    for (int n = 0; n < 3; ++n) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", entry " + std::to_string(n));
      std::string text = whole_;
      ASSERT_NO_FATAL_FAILURE(ShortenKey(blocks_[blocks_.size() / 2], n, &text));
      ASSERT_NO_FATAL_FAILURE(OpenDamaged(text, kind));
      for (int turn = 0; turn < 2; ++turn) {
        for (const bool forward : {true, false}) {
          const Status status = Walk(lower_, upper_, forward);
          EXPECT_TRUE(status.Is(Code::kCorruption)) << forward << ' ' << status.ToString();
        }
      }
    }
  }
}

// A walk reads it by its handle, or comes to it from another block.
TEST_F(ScanDamageTest, ABlockOfAWrongChecksum) {
  const Block& block = blocks_[blocks_.size() / 2];
  std::string text = whole_;
  text[block.offset + block.size / 2] ^= 1;
  for (const Kind kind : kKinds) {
    ASSERT_NO_FATAL_FAILURE(OpenDamaged(text, kind));
    for (int turn = 0; turn < 2; ++turn) {
      for (const bool forward : {true, false}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + (forward ? " forward" : " backward"));
        const int damaged = CountDamagedWalks(forward);
        EXPECT_GE(damaged, 2);  // a block has so many entries at least
        EXPECT_LE(damaged, 20);
        EXPECT_TRUE(Walk(lower_, upper_, forward).Is(Code::kCorruption));
      }
    }
  }
}

TEST_F(ScanDamageTest, AHandleThatLeadsOut) {
  std::string text = whole_;
  int damaged_blocks = 0;
  for (size_t n = 0; n < blocks_.size(); n += 5) {
    size_t at = handles_[n];
    ReadNumber(&at);
    if (static_cast<uint8_t>(text[at]) < 0x80 || blocks_[n].offset + 0x3fff <= whole_.size()) continue;
    text[at] = static_cast<char>(0xff);
    text[at + 1] = 0x7f;
    ++damaged_blocks;
  }
  ASSERT_GT(damaged_blocks, 3);
  Seal(index_, &text);
  for (const Kind kind : kKinds) {
    ASSERT_NO_FATAL_FAILURE(OpenDamaged(text, kind));
    for (const bool forward : {true, false}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + (forward ? " forward" : " backward"));
      EXPECT_GE(CountDamagedWalks(forward), damaged_blocks);
      EXPECT_TRUE(Walk(lower_, upper_, forward).Is(Code::kCorruption));
    }
  }
}

// Only where RocksDB's own iterators, which look at no lengths, do not come by: by steps from entry to entry.
TEST_F(ScanDamageTest, LengthsLeadOut) {
  for (const Kind kind : {Kind::kFiles, Kind::kMerge}) {
    for (int n = 0; n < 3; ++n) {
      for (size_t length = 0; length < 3; ++length) {  // what is shared, the key's own, the value's
        if (n == 0 && length == 1) continue;           // a seek compares keys
        SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", entry " + std::to_string(n) + ", length " + std::to_string(length));
        std::string text = whole_;
        int damaged = 0;
        for (size_t i = 1; i + 1 < blocks_.size(); ++i) {
          if (PointCount(blocks_[i]) < 2) continue;
          text[EntryAt(blocks_[i], n) + length] = 0x7f;
          if (length == 2) text[EntryAt(blocks_[i], n) + length] = static_cast<char>(0xff);  // goes on in the key
          Seal(blocks_[i], &text);
          ++damaged;
        }
        ASSERT_GT(damaged, 5);
        ASSERT_NO_FATAL_FAILURE(OpenDamaged(text, kind));
        for (int turn = 0; turn < 2; ++turn) {
          for (const bool forward : {true, false}) {
            const Status status = Walk(lower_, upper_, forward);
            EXPECT_TRUE(status.Is(Code::kCorruption)) << forward << ' ' << status.ToString();
          }
        }
      }
    }
  }
}

TEST_F(ScanDamageTest, RestartPointsOfNoUse) {
  for (const Kind kind : kKinds) {
    for (const uint32_t count : {0u, 0x7fff'ffffu, 0x0fff'ffffu, 40u}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", count " + std::to_string(count));
      std::string text = whole_;
      for (const Block& block : blocks_) {
        StoreLe32(text.data() + block.offset + block.size - sizeof(uint32_t), count);
        Seal(block, &text);
      }
      ASSERT_NO_FATAL_FAILURE(OpenDamaged(text, kind));
      for (const bool forward : {true, false}) {
        const Status status = Walk(lower_, upper_, forward);
        // Without restart points RocksDB takes a block for an empty one.
        EXPECT_TRUE(status.Is(Code::kCorruption) || (count == 0 && status.ok())) << forward << ' ' << status.ToString();
      }
    }
  }
}

}  // namespace
}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// The next file of an index has the dictionary of the last one as long as that is as good; others have their own.
#include "store/learned_dictionaries.h"

#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/endian.h"
#include "store/words_testing.h"
#include "store/zstd_blocks.h"

namespace cairn::store {
namespace {

constexpr size_t kBlockBytes = 8 << 10;
// More than of a file, so that chance has little part in how good a dictionary is.
constexpr size_t kFileBytes = 4 * kDictionarySampleBytesMax;

struct Samples {
  std::string data;
  std::vector<size_t> block_bytes;

  void Add(const std::string& block) {
    data += block;
    block_bytes.push_back(block.size());
  }
};

class LearnedDictionariesTest : public ::testing::Test {
 public:
  // A block as it begins in a file: nothing shared with an entry before, a key of 12 bytes, a value of 100.
  static std::string Head(IndexId index) {
    std::string head("\0\xc\x64", 3);
    char key[12] = {};
    StoreBe32(key, index.value);
    return head.append(key, sizeof key);
  }

  // Rows of words that all blocks of a kind have, and digits.
  std::string Block(IndexId index, unsigned kind) {
    std::string block = Head(index);
    FillWithWords(kBlockBytes, &random_, &block, kind);
    return block;
  }
  Samples File(IndexId index, unsigned kind, size_t bytes = kFileBytes) {
    Samples file;
    while (file.data.size() < bytes) file.Add(Block(index, kind));
    return file;
  }
  Samples Digits(IndexId index) {
    Samples file;
    while (file.data.size() < kFileBytes) {
      std::string block = Head(index);
      while (block.size() < kBlockBytes) block += std::to_string(random_()) + '-';
      file.Add(block);
    }
    return file;
  }

  std::string Learn(const Samples& file) { return learned_.For(file.data, file.block_bytes, kZstdLevel); }

  LearnedDictionaries learned_;
  std::mt19937 random_{1};
};

constexpr IndexId kOne(7), kOther(8 | kOnlyWalkedBit);

TEST_F(LearnedDictionariesTest, FilesOfOneIndexShareOne) {
  const std::string first = Learn(File(kOne, 1));
  ASSERT_FALSE(first.empty());
  EXPECT_LE(first.size(), kBlockDictionaryBytes);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Learn(File(kOne, 1)), first) << i;
}

TEST_F(LearnedDictionariesTest, AnotherIndexHasItsOwn) {
  const std::string one = Learn(File(kOne, 1));
  const std::string other = Learn(File(kOther, 1));
  ASSERT_FALSE(other.empty());
  EXPECT_NE(other, one);
  EXPECT_EQ(Learn(File(kOne, 1)), one);
  EXPECT_EQ(Learn(File(kOther, 1)), other);
}

TEST_F(LearnedDictionariesTest, RowsOfAnotherKindAreLearnedAnew) {
  const std::string before = Learn(File(kOne, 1));
  const std::string after = Learn(File(kOne, 2));
  ASSERT_FALSE(after.empty());
  EXPECT_NE(after, before);
  EXPECT_EQ(Learn(File(kOne, 2)), after);
  EXPECT_NE(Learn(File(kOne, 1)), before) << "it has been replaced";
}

// Each file has a little more of another kind than the one before, but each is compared with what was there when it was trained. Of as many
// words as two kinds have none may be learned at all.
TEST_F(LearnedDictionariesTest, SlowChangeIsNoticed) {
  const std::string first = Learn(File(kOne, 1));
  std::string last;
  for (size_t twentieths = 1; twentieths <= 10; ++twentieths) {
    Samples file;
    while (file.data.size() < kFileBytes) file.Add(Block(kOne, file.block_bytes.size() % 20 < twentieths ? 2 : 1));
    last = Learn(file);
  }
  EXPECT_NE(last, first);
  const std::string other = Learn(File(kOne, 2));
  EXPECT_FALSE(other.empty());
  EXPECT_NE(other, first);
}

TEST_F(LearnedDictionariesTest, AFileWithoutOneLeavesWhatIsKnown) {
  const std::string first = Learn(File(kOne, 1));
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(Learn(Digits(kOne)), "");
  EXPECT_EQ(Learn(File(kOne, 1, kDictionarySampleBytesMin / 2)), "");
  EXPECT_EQ(Learn({}), "");
  EXPECT_EQ(Learn(File(kOne, 1)), first);
}

// What is known of an index is as good for the very samples it was trained and tried with.
TEST_F(LearnedDictionariesTest, TheIndexesThatHadFilesLastAreKept) {
  const auto file = [&](uint32_t number) { return File(IndexId(100 + number), 1, kDictionarySampleBytesMin); };
  std::vector<Samples> files;
  std::vector<std::string> dictionaries;
  for (uint32_t i = 0; i < LearnedDictionaries::kKept; ++i) {
    files.push_back(file(i));
    dictionaries.push_back(Learn(files.back()));
    ASSERT_FALSE(dictionaries.back().empty());
  }
  EXPECT_EQ(Learn(files[0]), dictionaries[0]);
  EXPECT_FALSE(Learn(file(100)).empty());
  EXPECT_EQ(Learn(files[0]), dictionaries[0]);
  EXPECT_EQ(Learn(files[2]), dictionaries[2]);
  EXPECT_NE(Learn(file(1)), dictionaries[1]) << "it was the oldest";
}

TEST_F(LearnedDictionariesTest, TheIndexWithMostBlocksHasThem) {
  const auto index_of = [](const Samples& samples) { return LearnedDictionaries::IndexOf(samples.data, samples.block_bytes); };
  EXPECT_EQ(index_of({}), IndexId());
  Samples samples;
  for (const IndexId index : {kOther, kOne, kOther}) samples.Add(Block(index, 1));
  EXPECT_EQ(index_of(samples), kOther);
  for (int i = 0; i < 2; ++i) samples.Add(Block(kOne, 1));
  EXPECT_EQ(index_of(samples), kOne);
}

// Blocks that are none, and sizes of more bytes than there are.
TEST_F(LearnedDictionariesTest, OddSamplesAreOfNoIndex) {
  const std::string whole = Head(kOne);
  for (size_t bytes = 0; bytes < 7; ++bytes) {
    const std::vector<size_t> sizes = {bytes};
    EXPECT_EQ(LearnedDictionaries::IndexOf(whole.substr(0, bytes), sizes), IndexId()) << bytes;
  }
  const std::vector<size_t> sizes = {7};
  EXPECT_EQ(LearnedDictionaries::IndexOf(whole.substr(0, 7), sizes), kOne);
  EXPECT_EQ(LearnedDictionaries::IndexOf(std::string(20, '\xff'), std::vector<size_t>{20}), IndexId());
  EXPECT_EQ(LearnedDictionaries::IndexOf("\1\xc\x64key of twelve", std::vector<size_t>{16}), IndexId()) << "shares a byte";
  EXPECT_EQ(LearnedDictionaries::IndexOf(std::string("\0\3\0key and more", 15), std::vector<size_t>{15}), IndexId());
  EXPECT_EQ(LearnedDictionaries::IndexOf("short", std::vector<size_t>{3, 100, 100}), IndexId());
}

TEST_F(LearnedDictionariesTest, DamagedSamplesShareToo) {
  const auto damaged = [&] {
    Samples file = File(kOne, 1);
    size_t at = 0;
    for (const size_t bytes : file.block_bytes) {
      file.data[at] = '\xff';
      at += bytes;
    }
    return file;
  };
  const std::string first = Learn(damaged());
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(Learn(damaged()), first);
  EXPECT_NE(Learn(File(kOne, 1)), first);
}

// Files have what some file of their index has trained, whoever comes first.
TEST_F(LearnedDictionariesTest, ManyThreadsWriteFilesAtOnce) {
  std::vector<Samples> files;
  for (unsigned i = 0; i < 4; ++i) files.push_back(File(IndexId(1 + i % 2), 1 + i % 2, kDictionarySampleBytesMin));
  std::vector<std::vector<std::string>> learned(4);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < learned.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i < 6; ++i) learned[thread].push_back(Learn(files[(thread + i) % files.size()]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& dictionaries : learned) {
    for (const std::string& dictionary : dictionaries) EXPECT_FALSE(dictionary.empty());
  }
}

TEST(DictionaryTrialTest, WhatIsLeftOfAByteIsCompared) {
  const DictionaryTrial trained{.without = 10'000, .with = 8'000};
  EXPECT_TRUE(trained.Pays());
  EXPECT_TRUE((DictionaryTrial{.without = 10'000, .with = 8'080}.IsAsGoodAs(trained)));
  EXPECT_FALSE((DictionaryTrial{.without = 10'000, .with = 8'081}.IsAsGoodAs(trained)));
  EXPECT_TRUE((DictionaryTrial{.without = 20'000, .with = 16'160}.IsAsGoodAs(trained))) << "blocks that compress less well";
  EXPECT_FALSE((DictionaryTrial{.without = 8'000, .with = 8'000}.IsAsGoodAs(trained)));
  EXPECT_TRUE((DictionaryTrial{.without = 3'200, .with = 3'100}.Pays()));
  EXPECT_FALSE((DictionaryTrial{.without = 3'200, .with = 3'101}.Pays()));
  EXPECT_FALSE(DictionaryTrial{}.Pays()) << "no memory to find out";
  EXPECT_FALSE((DictionaryTrial{.without = 3'200, .with = 0}.Pays()));
}

}  // namespace
}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// The witness misses a store that has gone, however its own last writing went.
#include "server/witness.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace cairn::server {
namespace {

using Code = Status::Code;

class WitnessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "cairn_witness_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    scratch = pattern;
    path = scratch + "/cairn_store";
    store = scratch + "/store";
    std::filesystem::create_directory(store);
  }
  void TearDown() override { std::filesystem::remove_all(scratch); }

  void MakeStore() { std::ofstream(store + "/CURRENT") << "MANIFEST-000001\n"; }
  void Write(const std::string& text) { std::ofstream(path) << text; }
  std::string Text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ino_t Inode() const {
    struct stat found {};
    EXPECT_EQ(stat(path.c_str(), &found), 0);
    return found.st_ino;
  }

  std::string scratch, path, store;
};

TEST_F(WitnessTest, AFirstStartHasNone) {
  EXPECT_TRUE(CheckWitness(path, store).ok());
  MakeStore();
  EXPECT_TRUE(CheckWitness(path, store).ok());
}

TEST_F(WitnessTest, AStoreThatHasGoneIsMissed) {
  MakeStore();
  ASSERT_TRUE(WriteWitness(path, store).ok());
  EXPECT_EQ(Text(), store + "\n");
  EXPECT_TRUE(CheckWitness(path, store).ok());
  std::filesystem::remove_all(store);
  const Status status = CheckWitness(path, store);
  EXPECT_TRUE(status.Is(Code::kIoError)) << status.ToString();
  EXPECT_NE(status.message().find("this server keeps tables in " + store + ", but"), std::string_view::npos) << status.ToString();
}

// What is wrong with it, who opens it says.
TEST_F(WitnessTest, AStoreThatHasLostFilesHasNotGone) {
  ASSERT_TRUE(WriteWitness(path, store).ok());
  for (const char* name : {"LOG", "CAIRN_FORMAT", "MANIFEST-000001", "OPTIONS-000007", "12.sst.tmp", ".log", "x1.log"}) {
    std::ofstream(store + "/" + name) << "x";
    EXPECT_FALSE(HoldsStore(store)) << name;
    EXPECT_TRUE(CheckWitness(path, store).Is(Code::kIoError)) << name;
  }
  for (const char* name : {"000012.sst", "1000000.log"}) {
    std::ofstream(store + "/" + name) << "x";
    EXPECT_TRUE(HoldsStore(store)) << name;
    EXPECT_TRUE(CheckWitness(path, store).ok()) << name;
    std::filesystem::remove(store + "/" + name);
  }
}

// As whoever writes it in place leaves it when he dies.
TEST_F(WitnessTest, OneThatIsEmptyOrCutIsOneAllTheSame) {
  for (const char* text : {"", "\n", "/some"}) {
    Write(text);
    std::filesystem::remove(store + "/CURRENT");
    const Status status = CheckWitness(path, store);
    EXPECT_TRUE(status.Is(Code::kIoError)) << status.ToString();
    EXPECT_NE(status.message().find(path), std::string_view::npos) << status.ToString();
    MakeStore();
    EXPECT_TRUE(CheckWitness(path, store).ok());
    ASSERT_TRUE(WriteWitness(path, store).ok());
    EXPECT_EQ(Text(), store + "\n");
  }
}

TEST_F(WitnessTest, OneThatIsRightIsLeftAlone) {
  ASSERT_TRUE(WriteWitness(path, store).ok());
  const ino_t inode = Inode();
  ASSERT_TRUE(WriteWitness(path, store).ok());
  EXPECT_EQ(Inode(), inode);
  ASSERT_TRUE(WriteWitness(path, scratch).ok());
  EXPECT_EQ(Text(), scratch + "\n");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_F(WitnessTest, OneThatCannotBeReplacedStaysAsItIs) {
  ASSERT_TRUE(WriteWitness(path, store).ok());
  std::filesystem::create_directory(path + ".tmp");
  EXPECT_TRUE(WriteWitness(path, scratch).Is(Code::kIoError));
  EXPECT_EQ(Text(), store + "\n");
}

}  // namespace
}  // namespace cairn::server

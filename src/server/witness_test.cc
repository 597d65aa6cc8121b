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

  static bool Holds(const std::string& directory) {
    bool holds = false;
    EXPECT_TRUE(FindStore(directory, &holds).ok()) << directory;
    return holds;
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
    EXPECT_FALSE(Holds(store)) << name;
    EXPECT_TRUE(CheckWitness(path, store).Is(Code::kIoError)) << name;
  }
  for (const char* name : {"000012.sst", "1000000.log"}) {
    std::ofstream(store + "/" + name) << "x";
    EXPECT_TRUE(Holds(store)) << name;
    EXPECT_TRUE(CheckWitness(path, store).ok()) << name;
    std::filesystem::remove(store + "/" + name);
  }
}

TEST_F(WitnessTest, NoDirectoryAndAFileHoldNone) {
  EXPECT_FALSE(Holds(scratch + "/none"));
  std::ofstream(scratch + "/file") << "x";
  EXPECT_FALSE(Holds(scratch + "/file"));
}

// A link to itself, as root may look into all else.
TEST_F(WitnessTest, WhatCannotBeLookedIntoMayHoldOne) {
  const std::string loop = scratch + "/loop";
  std::filesystem::create_symlink(loop, loop);
  bool holds = false;
  EXPECT_TRUE(FindStore(loop, &holds).Is(Code::kIoError));
  EXPECT_TRUE(holds);
  EXPECT_TRUE(CheckWitness(path, loop).ok()) << "a first start, which opens it and says what is wrong";
  ASSERT_TRUE(WriteWitness(path, loop).ok());
  const Status status = CheckWitness(path, loop);
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_NE(status.message().find("cannot look into " + loop), std::string_view::npos) << status.ToString();
  EXPECT_EQ(status.message().find("begin with an empty one"), std::string_view::npos) << status.ToString();
}

TEST_F(WitnessTest, AnEmptyNameIsNoDirectory) {
  Status status = CheckWitness(path, "");
  EXPECT_TRUE(status.Is(Code::kInvalidArgument)) << status.ToString();
  EXPECT_NE(status.message().find("cairn_data_dir is empty"), std::string_view::npos) << status.ToString();
  ASSERT_TRUE(WriteWitness(path, store).ok());
  status = CheckWitness(path, "");
  EXPECT_TRUE(status.Is(Code::kIoError)) << status.ToString();
  EXPECT_NE(status.message().find("keeps tables in " + store + ", but cairn_data_dir is empty"), std::string_view::npos) << status.ToString();
}

// A server before this one may have made it where an empty name leads, in the data directory.
TEST_F(WitnessTest, AStoreThatIsWhereItWasIsNamedInsteadOfAnotherOne) {
  MakeStore();
  ASSERT_TRUE(WriteWitness(path, store).ok());
  for (const std::string& name : {std::string(), scratch + "/mistyped"}) {
    const Status status = CheckWitness(path, name);
    EXPECT_TRUE(status.Is(Code::kIoError)) << status.ToString();
    EXPECT_NE(status.message().find("Set it to " + store), std::string_view::npos) << status.ToString();
    EXPECT_EQ(status.message().find("begin with an empty one"), std::string_view::npos) << status.ToString();
  }
}

// mariadb-upgrade in a server without the plugin takes the folder for a database.
TEST_F(WitnessTest, AStoreThatWasRenamedAsADatabaseIsFound) {
  const std::string directory = scratch + "/#cairn/";
  const std::string renamed = scratch + "/@0023cairn";
  ASSERT_TRUE(WriteWitness(path, directory).ok());
  std::filesystem::create_directory(renamed);
  EXPECT_NE(CheckWitness(path, directory).message().find("begin with an empty one"), std::string_view::npos);
  std::ofstream(renamed + "/CURRENT") << "MANIFEST-000001\n";
  for (const std::string& name : {directory, scratch + "/#cairn"}) {
    const Status status = CheckWitness(path, name);
    EXPECT_TRUE(status.Is(Code::kIoError));
    EXPECT_NE(status.message().find("it is in " + renamed + " now"), std::string_view::npos) << status.ToString();
    EXPECT_EQ(status.message().find("begin with an empty one"), std::string_view::npos) << status.ToString();
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

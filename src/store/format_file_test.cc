// SPDX-License-Identifier: GPL-2.0-only
// Which directories a store is made or opened in.
#include "store/format_file.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rocksdb/env.h>

#include "store/store.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class FormatFileTest : public ::testing::Test, public StoreFixture {
 protected:
  Status TryOpen() { return Store::Open(options, &store); }
};

// A first start would sweep "temporary", which may be a database's folder, and RocksDB deletes files whose names it knows.
TEST_F(FormatFileTest, AStoreIsNotMadeAmongForeignFiles) {
  for (const char* foreign : {"/db/temporary/t.frm", "/db/loads/1", "/db/ibdata1", "/db/a folder/x"}) {
    env.WriteFile(foreign, "somebody's");
    const Status status = TryOpen();
    EXPECT_TRUE(status.Is(Code::kInvalidArgument)) << status.ToString();
    EXPECT_NE(status.message().find("wants a directory of its own"), ByteView::npos) << status.ToString();
    EXPECT_EQ(env.Files("/db", "CAIRN_FORMAT").size(), 0u);
    EXPECT_TRUE(env.rocks_env()->FileExists(foreign).ok()) << foreign;
    ASSERT_TRUE(env.rocks_env()->DeleteFile(foreign).ok());
    const std::string folder = std::string(foreign).substr(0, std::string(foreign).rfind('/'));
    if (folder != "/db") (void)env.rocks_env()->DeleteDir(folder);
  }
  // What a file system has of its own, and a first start that ended halfway has left.
  env.WriteFile("/db/lost+found/1", "x");
  env.WriteFile("/db/.snapshots/1", "x");
  env.WriteFile("/db/CAIRN_FORMAT.tmp", "cai");
  Open();
  EXPECT_TRUE(Put("a", "1").ok());
}

// As RocksDB tells of one that may be written to and not read.
class Unlistable final : public rocks::EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  const char* Name() const override { return "Unlistable"; }
  rocks::Status GetChildren(const std::string& directory, std::vector<std::string>*) override { return rocks::Status::NotFound(directory); }
};

TEST_F(FormatFileTest, AStoreIsNotMadeInWhatCannotBeListed) {
  Unlistable unlistable(env.rocks_env());
  ASSERT_TRUE(env.rocks_env()->CreateDir("/there").ok());
  const Status status = CheckFormatFile(&unlistable, "/there", /*may_create=*/true);
  EXPECT_TRUE(status.Is(Code::kIoError)) << status.ToString();
  EXPECT_NE(status.message().find("/there cannot be listed"), ByteView::npos) << status.ToString();
  EXPECT_TRUE(env.Files("/there", "").empty());
  EXPECT_TRUE(CheckFormatFile(&unlistable, "/not there", /*may_create=*/true).ok());
}

TEST_F(FormatFileTest, FormatFileDecides) {
  Open();
  store.reset();
  env.WriteFile("/db/temporary/9.run", "perhaps of a newer version's meaning");
  env.WriteFile("/db/CAIRN_FORMAT", "cairn store format 2\n");
  EXPECT_TRUE(TryOpen().Is(Code::kFormatTooNew));
  for (const char* text : {"", "cairn store format 0\n", "cairn store format 1", "cairn store format 1x\n", "x"}) {
    env.WriteFile("/db/CAIRN_FORMAT", text);
    EXPECT_TRUE(TryOpen().Is(Code::kCorruption)) << text;
  }
  EXPECT_EQ(env.Files("/db/temporary", ".run").size(), 1u);
  env.WriteFile("/db/CAIRN_FORMAT", "cairn store format 1\n");
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(FormatFileTest, AForeignDatabaseIsLeftAlone) {
  env.WriteFile("/db/CURRENT", "MANIFEST-000001\n");
  const Status status = TryOpen();
  EXPECT_TRUE(status.Is(Code::kInvalidArgument)) << status.ToString();
  EXPECT_EQ(env.Files("/db", "").size(), 1u);
}

// RocksDB would begin an empty store there, and the next time delete the files of the old one.
TEST_F(FormatFileTest, AStoreThatHasLostCurrentIsNoEmptyOne) {
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(Put("b", "2").ok());
  Kill();
  std::string current, format;
  ASSERT_TRUE(rocks::ReadFileToString(env.rocks_env(), "/db/CURRENT", &current).ok());
  ASSERT_TRUE(rocks::ReadFileToString(env.rocks_env(), "/db/CAIRN_FORMAT", &format).ok());
  for (const char* lost : {"/db/CURRENT", "/db/CAIRN_FORMAT"}) {
    ASSERT_TRUE(env.rocks_env()->DeleteFile(lost).ok());
    const std::vector<std::string> files = env.Files("/db", "");
    const Status status = TryOpen();
    EXPECT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
    EXPECT_NE(status.message().find("CURRENT is missing"), ByteView::npos) << status.ToString();
    EXPECT_EQ(env.Files("/db", ""), files);
  }
  env.WriteFile("/db/CURRENT", current);
  env.WriteFile("/db/CAIRN_FORMAT", format);
  Open();
  EXPECT_EQ(Get("a") + Get("b"), "12");
}

}  // namespace
}  // namespace cairn::store

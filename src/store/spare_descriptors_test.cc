// SPDX-License-Identifier: GPL-2.0-only
// Others have taken all descriptors that the process may have open, and the store goes on.
#include "store/spare_descriptors.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "store/file_limit_testing.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

namespace fs = std::filesystem;

// Who take all descriptors that there are.
class Others {
 public:
  ~Others() { Leave(); }
  void Come() {
    for (int descriptor; (descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) descriptors_.push_back(descriptor);
  }
  void Leave() {
    for (const int descriptor : descriptors_) EXPECT_EQ(close(descriptor), 0);
    descriptors_.clear();
  }

 private:
  std::vector<int> descriptors_;
};

TEST(SpareDescriptors, AreGivenUpAndTakenBack) {
  const FileLimit limit(64);
  Others others;
  SpareDescriptors spares;
  others.Come();
  EXPECT_TRUE(spares.TakeBack());
  for (size_t i = 0; i < SpareDescriptors::kCount; ++i) EXPECT_TRUE(spares.GiveUp());
  EXPECT_FALSE(spares.GiveUp());
  others.Come();
  EXPECT_FALSE(spares.TakeBack());
  others.Leave();
  EXPECT_TRUE(spares.TakeBack());
}

class SpareDescriptorsTest : public ::testing::Test, public StoreFixture {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "cairn_spare_" + std::to_string(getpid());
    options.directory = directory_;
    options.environment = nullptr;
    options.on_wal_failure = [this](const Status& status) { stops += status.ToString(); };
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_TRUE(Put("a", "1").ok());
  }
  void TearDown() override {
    others.Leave();
    store.reset();
    EXPECT_EQ(stops, "");
    fs::remove_all(directory_);
  }
  void ExpectRefused() {
    store->CheckFreeSpace();
    EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
    const Status refused = Put("x", "1");
    EXPECT_TRUE(refused.Is(Status::Code::kNoSpace)) << refused.ToString();
    EXPECT_NE(refused.message().find("open_files_limit"), ByteView::npos) << refused.ToString();
  }
  void ExpectAccepted() {
    store->CheckFreeSpace();
    EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
    const Status status = Put("b", "1");
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  const FileLimit limit{128};
  Others others;
  std::string stops;

 private:
  std::string directory_;
};

TEST_F(SpareDescriptorsTest, AFullMemtableHasItsFileAndTheNextLog) {
  others.Come();
  ExpectAccepted();
  ASSERT_TRUE(store->FlushMemtables().ok());
  ExpectRefused();
  EXPECT_EQ(Get("a") + Get("b") + Get("x"), "11-");
  // What makes room writes little. It is done, and to be repeated, as level 0 has rows of it.
  EXPECT_TRUE(store->DropRange(Family::kData, "a", "b").Is(Status::Code::kBusy));
  EXPECT_EQ(Get("a"), "-");
  others.Leave();
  ExpectAccepted();
  EXPECT_NE(log.text().find("writes are refused"), std::string::npos);
  EXPECT_NE(log.text().find("writes are accepted"), std::string::npos);
  Reopen();
  EXPECT_EQ(Get("a") + Get("b"), "-1");
}

TEST_F(SpareDescriptorsTest, MergesTakeNoneAndAreBegunAgain) {
  for (const char* value : {"2", "3"}) {
    ASSERT_TRUE(store->FlushMemtables().ok());
    ASSERT_TRUE(Put("a", value).ok());
  }
  ASSERT_TRUE(store->FlushMemtables().ok());
  others.Come();
  const Status compacted = store->CompactRange(Family::kData, {}, {});
  EXPECT_TRUE(compacted.Is(Status::Code::kIoError)) << compacted.ToString();
  ExpectAccepted();  // all spares are there
  EXPECT_EQ(Get("a"), "3");
  EXPECT_NE(log.text().find("ran out of descriptors"), std::string::npos) << log.text();
  others.Leave();
  EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_EQ(Get("a"), "3");
}

TEST_F(SpareDescriptorsTest, OptimizeIsRefusedBeforeItTakesAny) {
  others.Come();
  ASSERT_TRUE(store->FlushMemtables().ok());
  const Status compacted = store->CompactRange(Family::kData, {}, {});
  EXPECT_TRUE(compacted.Is(Status::Code::kNoSpace)) << compacted.ToString();
}

// As much as memtables of the usual size take in the time between two looks at the gate.
TEST_F(SpareDescriptorsTest, ABurstOfWritesEndsBeforeTheSparesDo) {
  others.Come();
  const std::string value(100'000, 'v');
  Status status;
  for (int row = 0; status.ok(); ++row) status = Put("c" + std::to_string(row), value, Durability::kOs);
  EXPECT_TRUE(status.Is(Status::Code::kNoSpace)) << status.ToString();
  others.Leave();
  ExpectAccepted();
}

}  // namespace
}  // namespace cairn::store

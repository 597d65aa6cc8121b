// SPDX-License-Identifier: GPL-2.0-only
// Point reads against a model: keys made to be confused with each other, in files of all forms that options can make.
#include <algorithm>

#include "store/point_model_testing.h"

namespace cairn::store {
namespace {

// Blocks are small besides, so that keys are found by the index.
constexpr const char* kTableOptions[] = {
    "",
    "format_version=2",
    "format_version=3",
    "format_version=4",
    "format_version=5",
    "format_version=6",
    "data_block_index_type=kDataBlockBinaryAndHash",
    "index_type=kHashSearch",
    "index_type=kTwoLevelIndexSearch;metadata_block_size=128;partition_filters=true",
    "index_type=kBinarySearchWithFirstKey",
    "index_shortening=kNoShortening",
    "index_shortening=kShortenSeparatorsAndSuccessor",
    "index_block_restart_interval=2",
    "index_block_restart_interval=7",
    "no_block_cache=true;block_cache=nullptr;cache_index_and_filter_blocks=false",
    "cache_index_and_filter_blocks=false",
    "metadata_cache_options={unpartitioned_pinning=kNone}",
    "whole_key_filtering=false",
    "filter_policy=nullptr",
    "filter_policy=ribbonfilter:8",
    "use_delta_encoding=false",
    "separate_key_value_in_data_block=true",
    "checksum=kNoChecksum",
    "checksum=kCRC32c;enable_index_compression=false",
    "index_block_search_type=kAuto;uniform_cv_threshold=10",
    "index_block_search_type=kInterpolation",
    "read_amp_bytes_per_bit=16",
    "super_block_alignment_size=4096;super_block_alignment_space_overhead_ratio=4",
};
constexpr const char* kFamilyOptions[] = {
    "",
    ";enable_blob_files=true;min_blob_size=20",
    ";block_protection_bytes_per_key=8",
    ";compression_per_level=kNoCompression;bottommost_compression=kNoCompression",
    ";target_file_size_base=2000;num_levels=7",
};

class PointShapesTest : public ::testing::TestWithParam<unsigned>, public PointModelFixture {
 protected:
  void SetUp() override {
    random_.seed(GetParam());
    const char* const family = Below(2) == 0 ? "" : kFamilyOptions[Below(std::size(kFamilyOptions))];
    const char* const blocks[] = {"100", "200", "400", "1000"};
    const char* const intervals[] = {"1", "2", "5", "16", "100"};
    options.expert_family_options =
        std::string("block_based_table_factory={block_size=") + blocks[Below(4)] + ";block_restart_interval=" +
        intervals[Below(5)] + ";" + kTableOptions[GetParam() % std::size(kTableOptions)] + "}" + family;
    SCOPED_TRACE(options.expert_family_options);
    Open();
    ASSERT_NE(store, nullptr);
    MakeKeys();
  }
  std::string Bytes(size_t size) {
    static const char kBytes[] = {'\0', '\x01', '\x05', '\x7f', '\xff'};
    std::string bytes;
    while (bytes.size() < size) bytes += kBytes[Below(sizeof kBytes)];
    return bytes;
  }
  // Also such as are another one with a number behind it, as entries have.
  void MakeKeys() {
    const std::string index[] = {std::string("\0\0\0\1", 4), std::string("\0\0\1\0", 4), "", std::string("\0\0\0\2", 4),
                                 std::string("\x80\0\0\3", 4)};
    while (keys_.size() < kKeys) {
      std::string key = index[Below(std::size(index))];
      switch (Below(4)) {
        case 0: key += Bytes(Below(4)); break;
        case 1: key += Bytes(Below(30)); break;
        case 2: if (!keys_.empty()) key = keys_[Below(keys_.size())] + Bytes(Below(12)); break;
        default: key += std::to_string(Below(2000)); break;
      }
      if (!key.empty()) keys_.push_back(key);
    }
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    if (Below(3) == 0) keys_[Below(keys_.size())] += std::string(Below(5000), 'k');
  }

  void Change() override {
    Batch batch(*store);
    const unsigned base = Below(4) == 0 ? hot_ : Below(keys_.size());
    for (unsigned i = Below(8); i > 0; --i) {
      const std::string& key = keys_[(base + Below(5)) % keys_.size()];
      if (Below(3) == 0) {
        batch.Delete(Family::kData, key);
        now_.erase(key);
      } else {
        now_[key] = std::to_string(++written_) + std::string(Below(8) == 0 ? Below(600) : Below(20), '.');
        if (Below(20) == 0) now_[key].clear();
        batch.Put(Family::kData, key, now_[key]);
      }
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }

  void Step() override {
    switch (Below(80)) {
      case 0: case 1: ASSERT_TRUE(store->FlushMemtables().ok()); break;
      case 2: ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); break;
      case 3: hot_ = Below(keys_.size()); break;
      case 4: case 5: case 6: KeepMoment(); break;
      case 7: if (moments_.size() > 6) ForgetMoment(); break;
      default: Change();
    }
  }

  void ReadSome(const Snapshot* snapshot, const Model& model) override {
    PointReader& points = AnyReader();
    const unsigned apart = Below(4);
    size_t number = Below(keys_.size());
    for (unsigned i = 0; i < 60; ++i) {
      number = (apart == 0 ? Below(keys_.size()) : number + apart) % keys_.size();
      std::string key = keys_[number];
      if (Below(8) == 0) key += Bytes(1 + Below(3));
      if (Below(16) == 0) key.resize(Below(key.size() + 1));
      if (key.empty()) continue;
      ASSERT_NO_FATAL_FAILURE(Read(points, key, snapshot, model));
    }
  }

  static constexpr unsigned kKeys = 500;
  std::vector<std::string> keys_;
  unsigned hot_ = 0;
};

TEST_P(PointShapesTest, AgreeWithAModel) {
  SCOPED_TRACE(options.expert_family_options);
  Play(60);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PointShapesTest, ::testing::Range(0u, 56u));

}  // namespace
}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// A policy that hands RocksDB's own filters the entries we want in them.
#include "store/file_filters.h"

#include <algorithm>
#include <cstring>
#include <typeinfo>
#include <utility>
#include <vector>

#include <rocksdb/filter_policy.h>
#include "table/block_based/filter_policy_internal.h"

#include "base/endian.h"
#include "base/ids.h"
#include "store/filter_format.h"
#include "store/long_beginnings.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

bool IsWalked(const rocks::Slice& entry) {
  return entry.size() > kFilteredPrefixBytes && IsOnlyWalked(IndexId(LoadBe32(entry.data())));
}

rocks::Slice Cut(const rocks::Slice& entry, size_t bytes) { return {entry.data(), std::min(entry.size(), bytes)}; }

// For an entry, a key or the beginning of one, filters have it whole, but of walked indexes only one of its beginnings.
class Builder final : public rocks::FilterBitsBuilder {
 public:
  Builder(std::unique_ptr<rocks::FilterBitsBuilder> bits, bool is_upper) : bits_(std::move(bits)), longs_(is_upper) {}

  void AddKey(const rocks::Slice& key) override { IsWalked(key) ? AddWalked(key) : bits_->AddKey(key); }
  void AddKeyAndAlt(const rocks::Slice& key, const rocks::Slice& beginning) override {
    if (!IsWalked(key)) return bits_->AddKeyAndAlt(key, beginning);
    if (beginning.size() < kFilteredPrefixBytes) bits_->AddKey(beginning);  // others' idea of one
    AddWalked(key);
  }
  size_t EstimateEntriesAdded() override { return bits_->EstimateEntriesAdded(); }
  rocks::Slice Finish(std::unique_ptr<const char[]>* bytes) override {
    rocks::Status status;
    return Finish(bytes, &status);
  }
  rocks::Slice Finish(std::unique_ptr<const char[]>* bytes, rocks::Status* status) override {
    FilterFormat filter;
    filter.long_indexes = longs_.EndFilter(add_);
    std::unique_ptr<const char[]> bits_bytes;
    filter.bits = ToView(bits_->Finish(&bits_bytes, status));
    ByteBuffer encoded;
    EncodeFilter(filter, &encoded);
    bits_bytes.reset();
    auto copy = std::make_unique<char[]>(encoded.size());
    std::memcpy(copy.get(), encoded.view().data(), encoded.size());
    *bytes = std::move(copy);
    return {bytes->get(), encoded.size()};
  }
  rocks::Status MaybePostVerify(const rocks::Slice& filter) override {
    FilterFormat format;
    return DecodeFilter(ToView(filter), &format) ? bits_->MaybePostVerify(ToSlice(format.bits)) : rocks::Status::Corruption("no filter");
  }
  size_t ApproximateNumEntries(size_t bytes) override { return bits_->ApproximateNumEntries(bytes); }
  size_t CalculateSpace(size_t entries) override { return bits_->CalculateSpace(entries); }
  double EstimatedFpRate(size_t entries, size_t bytes) override { return bits_->EstimatedFpRate(entries, bytes); }

 private:
  void AddWalked(const rocks::Slice& key) {
    const rocks::Slice beginning = Cut(key, kFilteredPrefixBytes);
    const bool is_long = key.size() >= kLongBeginningBytes && longs_.Takes(key, add_);
    is_long ? bits_->AddKeyAndAlt(Cut(key, kLongBeginningBytes), beginning) : bits_->AddKey(beginning);
  }

  struct Add {
    rocks::FilterBitsBuilder* bits;
    void operator()(const rocks::Slice& beginning) const { bits->AddKey(beginning); }
  };
  const std::unique_ptr<rocks::FilterBitsBuilder> bits_;
  const Add add_{bits_.get()};
  LongBeginnings longs_;
};

class Reader final : public rocks::FilterBitsReader {
 public:
  // `bits` null: may have anything.
  Reader(std::unique_ptr<rocks::FilterBitsReader> bits, std::vector<IndexId> long_indexes)
      : bits_(std::move(bits)), long_indexes_(std::move(long_indexes)) {}

  using rocks::FilterBitsReader::MayMatch;  // of many at once: one after the other
  bool MayMatch(const rocks::Slice& entry) override { return bits_ == nullptr || bits_->MayMatch(IsWalked(entry) ? Walked(entry) : entry); }

 private:
  rocks::Slice Walked(const rocks::Slice& entry) const {
    const bool is_long = entry.size() >= kLongBeginningBytes &&
                         std::ranges::binary_search(long_indexes_, IndexId(LoadBe32(entry.data())));
    return Cut(entry, is_long ? kLongBeginningBytes : kFilteredPrefixBytes);
  }

  const std::unique_ptr<rocks::FilterBitsReader> bits_;
  const std::vector<IndexId> long_indexes_;
};

class FileFilters final : public rocks::FilterPolicy {
 public:
  const char* Name() const override { return "cairn.LongFilters"; }
  const char* CompatibilityName() const override { return Name(); }

  rocks::FilterBitsBuilder* GetBuilderWithContext(const rocks::FilterBuildingContext& context) const override {
    const bool is_upper = context.level_at_creation >= 0 && context.level_at_creation < context.num_levels - 1;
    std::unique_ptr<rocks::FilterBitsBuilder> bits((is_upper ? upper_ : last_)->GetBuilderWithContext(context));
    return new Builder(std::move(bits), is_upper);
  }

  // Any of RocksDB's own policies reads all kinds of its filters.
  rocks::FilterBitsReader* GetFilterBitsReader(const rocks::Slice& contents) const override {
    FilterFormat filter;
    if (!DecodeFilter(ToView(contents), &filter)) return new Reader(nullptr, {});
    std::unique_ptr<rocks::FilterBitsReader> bits(upper_->GetFilterBitsReader(ToSlice(filter.bits)));
    return new Reader(std::move(bits), std::move(filter.long_indexes));
  }

 private:
  const std::unique_ptr<const rocks::FilterPolicy> upper_{rocks::NewBloomFilterPolicy(kUpperLevelBitsPerKey)};
  const std::unique_ptr<const rocks::FilterPolicy> last_{rocks::NewBloomFilterPolicy(kLastLevelBitsPerKey)};
};

}  // namespace

bool KnowLongBeginnings(const rocks::FilterPolicy& policy) { return typeid(policy) == typeid(FileFilters); }

std::shared_ptr<const rocks::FilterPolicy> NewFileFilters() { return std::make_shared<const FileFilters>(); }

}  // namespace cairn::store

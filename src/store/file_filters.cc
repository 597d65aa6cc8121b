// SPDX-License-Identifier: GPL-2.0-only
// A policy that hands RocksDB's own filters the entries we want in them.
#include "store/file_filters.h"

#include <utility>

#include <rocksdb/filter_policy.h>
#include "table/block_based/filter_policy_internal.h"

#include "base/endian.h"
#include "base/ids.h"

namespace cairn::store {
namespace {

// What is in a filter for an entry, a key or the beginning of one.
rocks::Slice Filtered(const rocks::Slice& entry) {
  if (entry.size() <= kFilteredPrefixBytes || !IsOnlyWalked(IndexId(LoadBe32(entry.data())))) return entry;
  return {entry.data(), kFilteredPrefixBytes};
}

class Builder final : public rocks::FilterBitsBuilder {
 public:
  explicit Builder(std::unique_ptr<rocks::FilterBitsBuilder> bits) : bits_(std::move(bits)) {}

  void AddKey(const rocks::Slice& key) override { bits_->AddKey(Filtered(key)); }
  void AddKeyAndAlt(const rocks::Slice& key, const rocks::Slice& beginning) override {
    bits_->AddKeyAndAlt(Filtered(key), Filtered(beginning));
  }
  size_t EstimateEntriesAdded() override { return bits_->EstimateEntriesAdded(); }
  rocks::Slice Finish(std::unique_ptr<const char[]>* bytes) override { return bits_->Finish(bytes); }
  rocks::Slice Finish(std::unique_ptr<const char[]>* bytes, rocks::Status* status) override {
    return bits_->Finish(bytes, status);
  }
  rocks::Status MaybePostVerify(const rocks::Slice& filter) override { return bits_->MaybePostVerify(filter); }
  size_t ApproximateNumEntries(size_t bytes) override { return bits_->ApproximateNumEntries(bytes); }
  size_t CalculateSpace(size_t entries) override { return bits_->CalculateSpace(entries); }
  double EstimatedFpRate(size_t entries, size_t bytes) override { return bits_->EstimatedFpRate(entries, bytes); }

 private:
  const std::unique_ptr<rocks::FilterBitsBuilder> bits_;
};

class Reader final : public rocks::FilterBitsReader {
 public:
  explicit Reader(std::unique_ptr<rocks::FilterBitsReader> bits) : bits_(std::move(bits)) {}

  using rocks::FilterBitsReader::MayMatch;  // of many at once: one after the other
  bool MayMatch(const rocks::Slice& entry) override { return bits_->MayMatch(Filtered(entry)); }

 private:
  const std::unique_ptr<rocks::FilterBitsReader> bits_;
};

class FileFilters final : public rocks::FilterPolicy {
 public:
  const char* Name() const override { return "cairn.FileFilters"; }
  const char* CompatibilityName() const override { return Name(); }

  rocks::FilterBitsBuilder* GetBuilderWithContext(const rocks::FilterBuildingContext& context) const override {
    const bool is_upper = context.level_at_creation >= 0 && context.level_at_creation < context.num_levels - 1;
    std::unique_ptr<rocks::FilterBitsBuilder> bits((is_upper ? upper_ : last_)->GetBuilderWithContext(context));
    return new Builder(std::move(bits));
  }

  // Any of RocksDB's own policies reads all kinds of its filters.
  rocks::FilterBitsReader* GetFilterBitsReader(const rocks::Slice& contents) const override {
    return new Reader(std::unique_ptr<rocks::FilterBitsReader>(upper_->GetFilterBitsReader(contents)));
  }

 private:
  const std::unique_ptr<const rocks::FilterPolicy> upper_{rocks::NewBloomFilterPolicy(kUpperLevelBitsPerKey)};
  const std::unique_ptr<const rocks::FilterPolicy> last_{rocks::NewBloomFilterPolicy(kLastLevelBitsPerKey)};
};

}  // namespace

std::shared_ptr<const rocks::FilterPolicy> NewFileFilters() { return std::make_shared<const FileFilters>(); }

}  // namespace cairn::store

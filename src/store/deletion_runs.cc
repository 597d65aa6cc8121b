// SPDX-License-Identifier: GPL-2.0-only
// Runs are counted as the file is written.
#include "store/deletion_runs.h"

namespace cairn::store {
namespace {

class DeletionRuns final : public rocks::TablePropertiesCollector {
 public:
  const char* Name() const override { return "cairn.DeletionRuns"; }

  rocks::Status AddUserKey(const rocks::Slice& /*key*/, const rocks::Slice& /*value*/, rocks::EntryType type,
                           rocks::SequenceNumber /*sequence*/, uint64_t file_bytes) override {
    ++entries_;
    file_bytes_ = file_bytes;
    if (type == rocks::kEntryDelete || type == rocks::kEntrySingleDelete) {
      ++run_;
    } else {
      in_runs_ = DeletionsInRuns();
      run_ = 0;
    }
    return rocks::Status::OK();
  }

  rocks::Status Finish(rocks::UserCollectedProperties* /*properties*/) override { return rocks::Status::OK(); }

  rocks::UserCollectedProperties GetReadableProperties() const override { return {}; }

  bool NeedCompact() const override {
    const uint64_t deletions = DeletionsInRuns();
    return deletions >= kDeletionsInRunsMax || (file_bytes_ >= kMarkedFileBytesMin && deletions >= (entries_ + 1) / 2);
  }

 private:
  uint64_t DeletionsInRuns() const { return in_runs_ + (run_ >= kDeletionRunMin ? run_ : 0); }

  uint64_t entries_ = 0;
  uint64_t run_ = 0;      // deletions since the last entry of another kind
  uint64_t in_runs_ = 0;  // before these
  uint64_t file_bytes_ = 0;
};

class DeletionRunMarks final : public rocks::TablePropertiesCollectorFactory {
 public:
  const char* Name() const override { return "cairn.DeletionRunMarks"; }
  rocks::TablePropertiesCollector* CreateTablePropertiesCollector(Context /*context*/) override { return new DeletionRuns(); }
};

}  // namespace

std::shared_ptr<rocks::TablePropertiesCollectorFactory> NewDeletionRunMarks() { return std::make_shared<DeletionRunMarks>(); }

}  // namespace cairn::store

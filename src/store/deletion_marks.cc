// SPDX-License-Identifier: GPL-2.0-only
// RocksDB's marks, of two strengths.
#include "store/deletion_marks.h"

#include <rocksdb/utilities/table_properties_collectors.h>

namespace cairn::store {
namespace {

std::shared_ptr<rocks::TablePropertiesCollectorFactory> From(double share) {
  const auto deletions = static_cast<size_t>(share * kDeletionWindow);
  return rocks::NewCompactOnDeletionCollectorFactory(kDeletionWindow, deletions, share, kMarkedFileBytesMin);
}

class DeletionMarks final : public rocks::TablePropertiesCollectorFactory {
 public:
  const char* Name() const override { return "cairn.DeletionMarks"; }

  rocks::TablePropertiesCollector* CreateTablePropertiesCollector(Context context) override {
    return (context.level_at_creation == 0 ? flushed_ : compacted_)->CreateTablePropertiesCollector(context);
  }

 private:
  const std::shared_ptr<rocks::TablePropertiesCollectorFactory> flushed_ = From(0.75);
  const std::shared_ptr<rocks::TablePropertiesCollectorFactory> compacted_ = From(0.5);
};

}  // namespace

std::shared_ptr<rocks::TablePropertiesCollectorFactory> NewDeletionMarks() { return std::make_shared<DeletionMarks>(); }

}  // namespace cairn::store

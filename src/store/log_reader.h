// SPDX-License-Identifier: GPL-2.0-only
// Reads logs, and manifests, which are logs too, by RocksDB's own reader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "db/log_reader.h"

#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// What a reader has come upon.
class LogReports final : public rocks::log::Reader::Reporter {
 public:
  void Corruption(size_t, const rocks::Status& reason, uint64_t) override {
    if (first.ok()) first = reason;
  }
  void OldLogRecord(size_t) override { is_old = true; }

  rocks::Status first;  // of damage, or of what could not be read
  bool is_old = false;  // a record of before the log was recycled
};

// `log_number`: 0 for a manifest. Lifetime: `reports` longer than the reader. kIoError: the file cannot be opened.
Status OpenLogReader(rocks::Env* env, const std::string& path, uint64_t log_number, LogReports* reports,
                     std::unique_ptr<rocks::log::Reader>* reader);

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// Memtables and files of a family as they are now, for a short look.
#pragma once

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include <rocksdb/db.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// By the view that each thread has for itself: threads do not meet at its count of holders. Flushes and compactions go on
// meanwhile and change nothing of it.
//
// Thread rule: made, used and destroyed by one thread. What is held so is kept on disk and in memory: not for long.
class CurrentVersion final {
 public:
  CurrentVersion(rocks::DB* root, rocks::ColumnFamilyHandle* handle)
      : db_(static_cast<rocks::DBImpl*>(root)),
        family_(static_cast<rocks::ColumnFamilyHandleImpl*>(handle)->cfd()),
        version_(db_->GetAndRefSuperVersion(family_)) {}
  CurrentVersion(const CurrentVersion&) = delete;
  CurrentVersion& operator=(const CurrentVersion&) = delete;
  ~CurrentVersion() { db_->ReturnAndCleanupSuperVersion(family_, version_); }

  rocks::ColumnFamilyData* family() const { return family_; }
  const rocks::SuperVersion& operator*() const { return *version_; }
  const rocks::SuperVersion* operator->() const { return version_; }

 private:
  rocks::DBImpl* const db_;
  rocks::ColumnFamilyData* const family_;
  rocks::SuperVersion* const version_;
};

}  // namespace cairn::store

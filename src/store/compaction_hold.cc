// SPDX-License-Identifier: GPL-2.0-only
#include "store/compaction_hold.h"

#include <algorithm>
#include <utility>

#include <rocksdb/convenience.h>

namespace cairn::store {

CompactionHold::CompactionHold(rocks::DB* db, rocks::ColumnFamilyHandle* family)
    : db_(db), family_(family), held_by_pace_(db->GetOptions(family).disable_auto_compactions) {}

rocks::Status CompactionHold::SetPace(bool holds, OptionTexts options) {
  const std::lock_guard lock(mutex_);
  const rocks::Status set = Set(holds || commit_count_ > 0, std::move(options));
  if (set.ok()) held_by_pace_ = holds;
  return set;
}

void CompactionHold::CountCommit(int difference) {
  const std::lock_guard lock(mutex_);
  const bool was_held = commit_count_ > 0;
  commit_count_ += difference;
  const bool held = commit_count_ > 0;
  if (held != was_held && !held_by_pace_) Set(held, {}).PermitUncheckedError();
}

rocks::Status CompactionHold::Set(bool held, OptionTexts options) {
  options.emplace("disable_auto_compactions", held ? "true" : "false");
  const rocks::Status set = db_->SetOptions(family_, options);
  std::string all;
  if (set.ok() || !rocks::GetStringFromColumnFamilyOptions(&all, db_->GetOptions(family_)).ok()) return set;
  const bool in_force = std::all_of(options.begin(), options.end(), [&](const auto& option) {
    return all.find(option.first + "=" + option.second + ";") != std::string::npos;
  });
  return in_force ? rocks::Status::OK() : set;
}

}  // namespace cairn::store

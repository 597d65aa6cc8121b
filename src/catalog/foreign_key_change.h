// SPDX-License-Identifier: GPL-2.0-only
// The foreign keys that come, go and change with one change of the dictionary.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catalog/foreign_key_set.h"

namespace cairn::catalog {

// Thread rule: one thread.
class ForeignKeyChange {
 public:
  explicit ForeignKeyChange(std::shared_ptr<const ForeignKeySet> from) : from_(std::move(from)) {}

  void Add(ForeignKeyDef key) { added_.push_back(std::make_shared<const ForeignKeyDef>(std::move(key))); }
  void Remove(const ForeignKeyPtr& key) { removed_.push_back(key); }
  void RemoveOfChild(const std::string& table) {
    for (const ForeignKeyPtr& key : from_->OfChild(table)) Remove(key);
  }
  // Replaces every key of the table, and to it, that `edit` returns differently. It is not asked about others: there may be many, and
  // everybody waits for the dictionary. A partition has none.
  void Edit(const std::string& table, const std::function<ForeignKeyDef(const ForeignKeyDef&)>& edit) {
    for (const ForeignKeyPtr& key : from_->OfEither(table)) {
      ForeignKeyDef edited = edit(*key);
      if (edited == *key) continue;
      Remove(key);
      Add(std::move(edited));
    }
  }

  // Of those that come to `child` the first whose name is another's: in the child's database, on another table than
  // `replaced`, or among themselves. Null: there is none.
  ForeignKeyPtr WithTakenName(const std::string& child, const std::string& replaced) const;

  bool empty() const { return added_.empty() && removed_.empty(); }
  const std::vector<ForeignKeyPtr>& added() const { return added_; }
  const std::vector<ForeignKeyPtr>& removed() const { return removed_; }
  std::shared_ptr<const ForeignKeySet> After() const;

 private:
  const std::shared_ptr<const ForeignKeySet> from_;
  std::vector<ForeignKeyPtr> added_;
  std::vector<ForeignKeyPtr> removed_;
};

}  // namespace cairn::catalog

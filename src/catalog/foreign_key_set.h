// SPDX-License-Identifier: GPL-2.0-only
// All foreign keys there are, to be looked up by either table.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/foreign_key.h"
#include "catalog/table_def.h"

namespace cairn::catalog {

using ForeignKeyPtr = std::shared_ptr<const ForeignKeyDef>;

// Whether the server made up the table's name while it alters another one: what such a table has is not seen yet.
inline bool IsNameOfCopy(std::string_view table) { return table.find("/#sql") != std::string_view::npos; }

// Whether it is one that ALTER TABLE fills to put it in the altered one's place. Others of these names only hold a table, filled long
// ago, while it changes its place.
inline bool IsNameOfFilledCopy(std::string_view table) { return table.find("/#sql-alter") != std::string_view::npos; }

// Whether it is a partition that rows are being copied into, by REORGANIZE and the like.
inline bool IsNameOfNewPartition(std::string_view table) { return table.ends_with("#TMP#") || table.ends_with("#tmp#"); }

// Thread rule: immutable; a change makes another set.
class ForeignKeySet {
 public:
  // The order of lists is that of the names, which is also the order in which keys are checked.
  ForeignKeySet() = default;
  explicit ForeignKeySet(std::vector<ForeignKeyPtr> keys);

  bool empty() const { return by_child_.empty(); }

  // Those of the table itself, and those of others (and itself) that refer to it. A copy that ALTER TABLE
  // fills refers to nobody in the second sense.
  const std::vector<ForeignKeyPtr>& OfChild(std::string_view table) const;
  const std::vector<ForeignKeyPtr>& OfParent(std::string_view table) const;

  // Each key once that names the table, on whichever side: also those of copies to it.
  std::vector<ForeignKeyPtr> OfEither(std::string_view table) const;

  // Whether a key of this name exists in the child's database, on another table than `except` and copies of ALTER TABLE,
  // which have the names of their originals.
  bool HasName(std::string_view child, std::string_view name, std::string_view except) const;

  std::vector<ForeignKeyPtr> All() const;

 private:
  using Map = std::map<std::string, std::vector<ForeignKeyPtr>, std::less<>>;
  static const std::vector<ForeignKeyPtr>& Find(const Map& map, std::string_view table);

  Map by_child_;
  Map by_parent_;
  std::vector<ForeignKeyPtr> of_copies_;  // which are not in by_parent_
};

// A renamed table's names as users see them, without the database: names of constraints are made of these, while names of
// tables are encoded as those of files. Empty where they are the same.
struct ShownRename {
  std::string before;  // where a copy of ALTER TABLE comes in: that of the table it replaces
  std::string after;
};

// Whether the server would not read the name again: one has 64 characters at most.
bool IsTooLongAName(std::string_view name);

// What becomes of a key when a table is renamed. A made-up name that would be too long stays as it was. A name of ALTER
// TABLE's own only stands in for the table: those who refer to it go on meaning its name. `original` as of
// Catalog::Rename.
ForeignKeyDef AfterRename(const ForeignKeyDef& key, const std::string& from, const std::string& to,
                          const std::string& original = {}, const ShownRename& shown = {});

// What becomes of a key when columns of `from`, a child or a parent, are renamed by `to`. Columns are the same when
// their numbers are.
ForeignKeyDef AfterColumnsRenamed(const ForeignKeyDef& key, const TableDef& from, const TableDef& to);

}  // namespace cairn::catalog

// SPDX-License-Identifier: GPL-2.0-only
// Looking up foreign keys, and how they follow names.
#include "catalog/foreign_key_set.h"

#include <algorithm>
#include <iterator>

namespace cairn::catalog {
namespace {

std::string_view DatabaseOf(std::string_view table) { return table.substr(0, table.find('/')); }
std::string_view TableOf(std::string_view table) { return table.substr(table.find('/') + 1); }

void Sort(std::vector<ForeignKeyPtr>* keys) {
  std::sort(keys->begin(), keys->end(), [](const ForeignKeyPtr& a, const ForeignKeyPtr& b) {
    return std::pair(DatabaseOf(a->child), std::string_view(a->name)) <
           std::pair(DatabaseOf(b->child), std::string_view(b->name));
  });
}

void RenameColumns(const TableDef& from, const TableDef& to, std::vector<std::string>* names) {
  for (std::string& name : *names) {
    const auto old = std::find_if(from.columns.begin(), from.columns.end(),
                                  [&](const ColumnDef& column) { return IsSameName(column.name, name); });
    if (old == from.columns.end()) continue;
    const auto now = std::find_if(to.columns.begin(), to.columns.end(),
                                  [&](const ColumnDef& column) { return column.column_id == old->column_id; });
    if (now != to.columns.end()) name = now->name;
  }
}

}  // namespace

ForeignKeySet::ForeignKeySet(std::vector<ForeignKeyPtr> keys) {
  for (ForeignKeyPtr& key : keys) {
    (IsNameOfCopy(key->child) ? of_copies_ : by_parent_[key->parent]).push_back(key);
    by_child_[key->child].push_back(std::move(key));
  }
  for (auto& [table, of_table] : by_child_) Sort(&of_table);
  for (auto& [table, of_table] : by_parent_) Sort(&of_table);
}

const std::vector<ForeignKeyPtr>& ForeignKeySet::Find(const Map& map, std::string_view table) {
  static const std::vector<ForeignKeyPtr> none;
  const auto found = map.find(table);
  return found == map.end() ? none : found->second;
}

const std::vector<ForeignKeyPtr>& ForeignKeySet::OfChild(std::string_view table) const { return Find(by_child_, table); }
const std::vector<ForeignKeyPtr>& ForeignKeySet::OfParent(std::string_view table) const {
  return Find(by_parent_, table);
}

std::vector<ForeignKeyPtr> ForeignKeySet::OfEither(std::string_view table) const {
  std::vector<ForeignKeyPtr> keys = OfChild(table);
  const auto refers = [table](const ForeignKeyPtr& key) { return key->parent == table && key->child != table; };
  std::ranges::copy_if(OfParent(table), std::back_inserter(keys), refers);
  std::ranges::copy_if(of_copies_, std::back_inserter(keys), refers);
  return keys;
}

bool ForeignKeySet::HasName(std::string_view child, std::string_view name, std::string_view except) const {
  const std::string prefix = std::string(DatabaseOf(child)) + "/";
  for (auto at = by_child_.lower_bound(prefix); at != by_child_.end() && at->first.starts_with(prefix); ++at) {
    if (IsNameOfCopy(at->first) || at->first == except) continue;
    for (const ForeignKeyPtr& key : at->second) {
      if (IsSameName(key->name, name)) return true;
    }
  }
  return false;
}

std::vector<ForeignKeyPtr> ForeignKeySet::All() const {
  std::vector<ForeignKeyPtr> all;
  for (const auto& [table, keys] : by_child_) all.insert(all.end(), keys.begin(), keys.end());
  return all;
}

bool IsTooLongAName(std::string_view name) {
  constexpr auto kCharactersMax = 64;
  const auto begins_character = [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; };  // in UTF-8
  return std::count_if(name.begin(), name.end(), begins_character) > kCharactersMax;
}

ForeignKeyDef AfterRename(const ForeignKeyDef& key, const std::string& from, const std::string& to,
                          const std::string& original, const ShownRename& shown) {
  ForeignKeyDef renamed = key;
  const bool stands_in = IsNameOfCopy(from) || IsNameOfCopy(to);
  if (key.parent == from && !stands_in) renamed.parent = to;
  if (key.child != from) return renamed;
  renamed.child = to;
  // A made-up name follows the table it was made from, of which a copy has the keys.
  const std::string& named_after = IsNameOfCopy(from) ? original : from;
  const std::string made_up = (shown.before.empty() ? std::string(TableOf(named_after)) : shown.before) + "_ibfk_";
  if (!named_after.empty() && !IsNameOfCopy(to) && key.name.starts_with(made_up)) {
    std::string name = (shown.after.empty() ? std::string(TableOf(to)) : shown.after) + "_ibfk_" + key.name.substr(made_up.size());
    if (!IsTooLongAName(name)) renamed.name = std::move(name);
  }
  return renamed;
}

ForeignKeyDef AfterColumnsRenamed(const ForeignKeyDef& key, const TableDef& from, const TableDef& to) {
  ForeignKeyDef renamed = key;
  if (key.child == from.name) RenameColumns(from, to, &renamed.child_columns);
  if (key.parent == from.name) RenameColumns(from, to, &renamed.parent_columns);
  return renamed;
}

}  // namespace cairn::catalog

// SPDX-License-Identifier: GPL-2.0-only
// The server makes a partitioned table of many of ours, and asks for changes one by one; they happen together.
#include <algorithm>

#include "catalog/catalog.h"
#include "catalog/catalog_batch.h"

namespace cairn::catalog {

using store::Batch;
using store::Durability;
using store::Urgency;

namespace {

// Lower where the server keeps names so.
constexpr std::string_view kMarks[] = {"#P#", "#p#"};

}  // namespace

std::string Catalog::PartitionedTableOf(const std::string& name) {
  // The name of a database may have the mark in it, too.
  const size_t table = name.rfind('/') + 1;
  for (const std::string_view mark : kMarks) {
    if (const size_t at = name.find(mark, table); at != std::string::npos) return name.substr(0, at);
  }
  return {};
}

Status Catalog::PartitionNames(const std::string& whole, std::vector<std::string>* names) {
  for (const std::string_view mark : kMarks) CAIRN_RETURN_IF_ERROR(TableNames(whole + std::string(mark), names));
  return Status::Ok();
}

Status Catalog::WriteRenamed(Batch* batch, const std::vector<std::pair<std::string, TableDef>>& moved) {
  if (batch->empty()) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(store_->Write(*batch, Durability::kSync, Urgency::kReclaimsSpace));
  for (const auto& [from, def] : moved) NoteRenamed(from, def);
  return Status::Ok();
}

Status Catalog::RenamePartitions(const std::vector<Renaming>& renamings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch batch(*store_);
  std::vector<std::pair<std::string, TableDef>> moved;
  for (const auto& [from, to] : renamings) {
    TableDef def, existing;
    Status found = LoadDef(from, &def), taken = LoadDef(to, &existing);
    if (found.Is(Status::Code::kNotFound) && taken.ok()) continue;
    CAIRN_RETURN_IF_ERROR(std::move(found));
    if (taken.ok()) return Status(Status::Code::kAlreadyExists, "table " + to);
    if (!taken.Is(Status::Code::kNotFound)) return taken;
    PutRenamed(to, &def, &batch);
    moved.emplace_back(from, std::move(def));
  }
  return WriteRenamed(&batch, moved);
}

Status Catalog::RenamePartitionsOf(const std::string& from, const std::string& to) {
  std::vector<std::string> from_names, to_names;
  CAIRN_RETURN_IF_ERROR(PartitionNames(from, &from_names));
  CAIRN_RETURN_IF_ERROR(PartitionNames(to, &to_names));
  if (from_names.empty()) return to_names.empty() ? Status::NotFound() : Status::Ok();
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch batch(*store_);
  std::vector<std::pair<std::string, TableDef>> moved;
  for (const std::string& name : from_names) {
    moved.emplace_back(name, TableDef());
    CAIRN_RETURN_IF_ERROR(LoadDef(name, &moved.back().second));
  }
  std::vector<TableDef> gone;
  // One statement fills a copy, and pushes out what is of another version: rows that another one has left under its name belong to no table here.
  // Partitions of a table may have come by many statements.
  const bool is_copy = IsNameOfFilledCopy(from);
  const std::string& version = moved.front().second.server_version;
  if (is_copy && !std::ranges::all_of(moved, [&](const auto& one) { return one.second.server_version == version; })) {
    return Status(Status::Code::kAlreadyExists, "table " + from + ", of two versions");
  }
  for (const std::string& name : to_names) {
    TableDef def;
    CAIRN_RETURN_IF_ERROR(LoadDef(name, &def));
    if (!is_copy || def.server_version == version) continue;
    PutGone(def, &batch);
    gone.push_back(std::move(def));
  }
  for (auto& [name, def] : moved) {
    const std::string renamed = to + name.substr(from.size());
    const bool is_taken = std::ranges::find(to_names, renamed) != to_names.end();
    if (is_taken && std::ranges::find(gone, renamed, &TableDef::name) == gone.end()) return Status(Status::Code::kAlreadyExists, "table " + renamed);
    PutRenamed(renamed, &def, &batch);
  }
  for (const TableDef& def : gone) Unpublish(def.name);
  CAIRN_RETURN_IF_ERROR(WriteRenamed(&batch, moved));
  for (const TableDef& def : gone) NoteDropped(def);
  return Status::Ok();
}

Status Catalog::DropPartitionsOf(const std::string& whole) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(PartitionNames(whole, &names));
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch batch(*store_);
  std::vector<TableDef> gone(names.size());
  for (size_t i = 0; i < names.size(); ++i) CAIRN_RETURN_IF_ERROR(PutGone(names[i], &gone[i], &batch));
  if (batch.empty()) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kSync, Urgency::kReclaimsSpace));
  for (const TableDef& def : gone) NoteDropped(def);
  for (const std::string& name : names) Unpublish(name);
  return Status::Ok();
}

}  // namespace cairn::catalog

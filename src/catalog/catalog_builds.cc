// SPDX-License-Identifier: GPL-2.0-only
// Indexes that come and go while their table stays.
#include <algorithm>

#include "catalog/catalog.h"
#include "catalog/catalog_batch.h"
#include "catalog/dictionary_keys.h"
#include "catalog/foreign_key_change.h"

namespace cairn::catalog {
namespace {

using store::Batch;
using store::Durability;
using store::Family;
using store::Urgency;

const IndexDef* FindIndex(const TableDef& def, IndexId id) {
  const auto found = std::find_if(def.indexes.begin(), def.indexes.end(), [id](const IndexDef& i) { return i.id == id; });
  return found == def.indexes.end() ? nullptr : &*found;
}

bool SameButName(IndexDef a, const IndexDef& b) {
  a.name = b.name;
  return a == b;
}

// Whether rows and the entries of kept indexes mean the same under both definitions.
Status CheckReplacement(const TableDef& old, const TableDef& def, const std::unordered_set<IndexId>& building) {
  bool same = def.columns.size() == old.columns.size() && SameButName(def.indexes.front(), old.indexes.front());
  for (size_t i = 0; same && i < old.columns.size(); ++i) {
    ColumnDef column = def.columns[i];
    column.name = old.columns[i].name;
    same = column == old.columns[i];
  }
  for (size_t i = 1; same && i < def.indexes.size(); ++i) {
    const IndexDef* kept = FindIndex(old, def.indexes[i].id);
    same = kept != nullptr ? SameButName(def.indexes[i], *kept) : building.contains(def.indexes[i].id);
  }
  return same ? Status::Ok() : Status::InvalidArgument("the new definition of " + old.name + " stores other data");
}

}  // namespace

Status Catalog::ReplaceIndexes(const std::vector<Replacement>& replacements) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch batch(*store_);
  ForeignKeyChange change(foreign_keys());
  std::vector<IndexId> built, dropped;
  for (const Replacement& replacement : replacements) {
    TableDef old;
    CAIRN_RETURN_IF_ERROR(LoadDef(replacement.name, &old));
    CAIRN_RETURN_IF_ERROR(CheckReplacement(old, replacement.def, building_));
    TableDef def = replacement.def;
    def.id = old.id;
    def.schema_version = old.schema_version;
    PutDefinition(def, &batch);
    MergeLiveCounters(old, &batch);
    change.Edit(old.name, [&](const ForeignKeyDef& key) { return AfterColumnsRenamed(key, old, def); });
    for (const IndexDef& index : old.indexes) {
      if (FindIndex(def, index.id) != nullptr) continue;
      batch.Put(Family::kDictionary, DroppedIndexKey(index.id), ByteView());
      dropped.push_back(index.id);
    }
    for (const IndexDef& index : def.indexes) {
      if (FindIndex(old, index.id) != nullptr) continue;
      batch.Delete(Family::kDictionary, DroppedIndexKey(index.id));
      built.push_back(index.id);
    }
  }
  PutForeignKeys(change, &batch);
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kSync, built.empty() ? Urgency::kReclaimsSpace : Urgency::kNormal));
  PublishForeignKeys(change);
  dropped_.insert(dropped.begin(), dropped.end());
  const uint64_t now = store_->LatestSequence();
  for (const IndexId index : built) {
    dropped_.erase(index);
    visible_since_[index] = now;
    building_.erase(index);
  }
  // Handlers still share the live objects; the next user after they closed reads the new definition.
  for (const Replacement& replacement : replacements) Unpublish(replacement.name);
  return Status::Ok();
}

Status Catalog::TakeIdsForBuild(std::span<const IndexDef> indexes, std::vector<IndexId>* ids) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ids->clear();
  uint32_t number;
  CAIRN_RETURN_IF_ERROR(TakeIndexNumbers(2 * indexes.size(), &number));
  for (const IndexDef& index : indexes) ids->push_back(IndexIdOf(number++, index.kind));
  while (ids->size() < 2 * indexes.size()) ids->push_back(IndexId(number++));
  Batch batch(*store_);
  for (const IndexId id : *ids) batch.Put(Family::kDictionary, DroppedIndexKey(id), ByteView());
  PutNextIds(&batch);
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kOs));
  dropped_.insert(ids->begin(), ids->end());
  building_.insert(ids->begin(), ids->end());
  ++builds_;
  return Status::Ok();
}

// Nobody waits for the dictionary meanwhile.
Status Catalog::SyncIdsForBuild() {
  uint64_t builds;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (synced_builds_ == builds_) return Status::Ok();
    builds = builds_;
  }
  CAIRN_RETURN_IF_ERROR(store_->SyncWal());
  const std::lock_guard<std::mutex> lock(mutex_);
  synced_builds_ = std::max(synced_builds_, builds);
  return Status::Ok();
}

void Catalog::EndBuild(std::span<const IndexId> indexes, std::span<const IndexId> deltas, uint64_t transaction_fence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const IndexId id : indexes) building_.erase(id);
  std::vector<IndexId> unused;
  for (const IndexId id : deltas) {
    if (building_.contains(id)) unused.push_back(id);
  }
  if (!unused.empty()) ended_builds_.emplace_back(transaction_fence, std::move(unused));
}

void Catalog::ReleaseEndedBuilds(uint64_t oldest_transaction) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(ended_builds_, [&](const auto& ended) {
    if (ended.first > oldest_transaction) return false;
    for (const IndexId id : ended.second) building_.erase(id);
    return true;
  });
}

}  // namespace cairn::catalog

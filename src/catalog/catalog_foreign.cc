// SPDX-License-Identifier: GPL-2.0-only
// Foreign keys in the dictionary: read at the start, changed together with tables.
#include <algorithm>

#include "catalog/catalog.h"
#include "catalog/catalog_batch.h"
#include "catalog/dictionary_keys.h"
#include "catalog/foreign_key_change.h"
#include "store/cursor.h"

namespace cairn::catalog {

using store::Batch;
using store::Durability;
using store::Family;

std::shared_ptr<const ForeignKeySet> ForeignKeyChange::After() const {
  std::vector<ForeignKeyPtr> keys = from_->All();
  std::erase_if(keys, [&](const ForeignKeyPtr& key) {
    return std::find(removed_.begin(), removed_.end(), key) != removed_.end();
  });
  keys.insert(keys.end(), added_.begin(), added_.end());
  return std::make_shared<const ForeignKeySet>(std::move(keys));
}

ForeignKeyPtr ForeignKeyChange::WithTakenName(const std::string& child, const std::string& replaced) const {
  for (auto at = added_.begin(); at != added_.end(); ++at) {
    const ForeignKeyDef& key = **at;
    if (key.child != child) continue;
    const auto has_its_name = [&key](const ForeignKeyPtr& other) {
      return other->child == key.child && IsSameName(other->name, key.name);
    };
    if (from_->HasName(child, key.name, replaced) || std::any_of(added_.begin(), at, has_its_name)) return *at;
  }
  return nullptr;
}

Status Catalog::LoadForeignKeys() {
  const std::string lower = KindKey(RecordKind::kForeignKey);
  const std::string upper = KindEnd(RecordKind::kForeignKey);
  store::CursorOptions options;
  options.lower_bound = lower;
  options.upper_bound = upper;
  store::Cursor cursor;
  CAIRN_RETURN_IF_ERROR(store_->OpenCursor(Family::kDictionary, options, &cursor));
  std::vector<ForeignKeyPtr> keys;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    ForeignKeyDef key;
    CAIRN_RETURN_IF_ERROR(DecodeForeignKey(cursor.value(), &key));
    if (cursor.key() != ForeignKeyKey(key.child, key.name)) {
      return Status::Corruption("foreign key " + key.name + " of the dictionary is not where it belongs");
    }
    keys.push_back(std::make_shared<const ForeignKeyDef>(std::move(key)));
  }
  foreign_keys_.store(std::make_shared<const ForeignKeySet>(std::move(keys)));
  return cursor.status();
}

void Catalog::PutForeignKeys(const ForeignKeyChange& change, Batch* batch) {
  for (const ForeignKeyPtr& key : change.removed()) batch->Delete(Family::kDictionary, ForeignKeyKey(key->child, key->name));
  for (const ForeignKeyPtr& key : change.added()) {
    ByteBuffer bytes;
    EncodeForeignKey(*key, &bytes);
    batch->Put(Family::kDictionary, ForeignKeyKey(key->child, key->name), bytes.view());
  }
  // An earlier program would leave the keys unchecked.
  if (change.added().empty() || format_version_ >= kFormatWithForeignKeys) return;
  PutFormat(kFormatWithForeignKeys, batch);
}

Status Catalog::MayDropReferenced(const std::string& name, bool* may_drop) {
  *may_drop = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  TableDef def;
  CAIRN_RETURN_IF_ERROR(LoadDef(name, &def));
  store::PinnedValue counters;
  Status counted = store_->Get(Family::kDictionary, CountersKey(def.id), nullptr, &counters);
  *may_drop = counted.Is(Status::Code::kNotFound);
  if (!counted.ok() && !*may_drop) return counted;
  return ForEachRecord(store_, RecordKind::kReplaced, {}, [&](ByteView, ByteView original) {
    if (original.size() != 8) return Status::Corruption("what a copy of ALTER TABLE is to replace is malformed in the dictionary");
    if (LoadBe64(original.data()) == def.id.value) *may_drop = true;
    return Status::Ok();
  });
}

Status Catalog::EndRecovery() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch batch(*store_);
  CAIRN_RETURN_IF_ERROR(ForEachRecord(store_, RecordKind::kReplaced, {}, [&](ByteView copy, ByteView) {
    batch.Delete(Family::kDictionary, KindKey(RecordKind::kReplaced) + std::string(copy));
    return Status::Ok();
  }));
  // Of tables that nobody refers to it does not matter.
  for (const ForeignKeyPtr& key : foreign_keys()->All()) {
    TableDef parent;
    Status found = LoadDef(key->parent, &parent);
    if (found.Is(Status::Code::kNotFound)) continue;
    CAIRN_RETURN_IF_ERROR(std::move(found));
    store::PinnedValue counters;
    found = store_->Get(Family::kDictionary, CountersKey(parent.id), nullptr, &counters);
    if (found.Is(Status::Code::kNotFound)) batch.MergeCounters(CountersKey(parent.id), {.row_count = 0, .auto_increment_next = 1});
  }
  return batch.empty() ? Status::Ok() : store_->Write(batch, Durability::kSync, store::Urgency::kReclaimsSpace);
}

void Catalog::PublishForeignKeys(const ForeignKeyChange& change) {
  if (change.empty()) return;
  if (!change.added().empty()) format_version_ = std::max(format_version_, kFormatWithForeignKeys);
  foreign_keys_.store(change.After(), std::memory_order_release);
  definitions_version_.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace cairn::catalog

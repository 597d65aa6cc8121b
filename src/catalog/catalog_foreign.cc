// SPDX-License-Identifier: GPL-2.0-only
// Foreign keys in the dictionary: read at the start, changed together with tables.
#include <algorithm>

#include "catalog/catalog.h"
#include "catalog/catalog_batch.h"
#include "catalog/dictionary_keys.h"
#include "catalog/foreign_key_change.h"

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
  std::vector<ForeignKeyPtr> keys;
  CAIRN_RETURN_IF_ERROR(ForEachRecord(store_, RecordKind::kForeignKey, {}, [&](ByteView place, ByteView value) {
    ForeignKeyDef key;
    if (const Status decoded = DecodeForeignKey(value, &key); !decoded.ok()) {
      const size_t zero = std::min(place.find('\0'), place.size());
      const std::string child(place.substr(0, zero)), name(place.substr(std::min(zero + 1, place.size())));
      return Status(decoded.code(), "foreign key " + name + " of " + child + ": " + std::string(decoded.message()));
    }
    if (KindKey(RecordKind::kForeignKey) + std::string(place) != ForeignKeyKey(key.child, key.name)) {
      return Status::Corruption("foreign key " + key.name + " of the dictionary is not where it belongs");
    }
    keys.push_back(std::make_shared<const ForeignKeyDef>(std::move(key)));
    return Status::Ok();
  }));
  foreign_keys_.store(std::make_shared<const ForeignKeySet>(std::move(keys)));
  return Status::Ok();
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

namespace {

// Whether the statement that creates the table has not ended. Where rows are there it has, though its transaction could not say so, as when the disk
// was full.
Status IsBeingCreated(store::Store* store, TableId id, bool* is_being) {
  *is_being = false;
  store::PinnedValue value;
  Status found = store->Get(Family::kDictionary, CreationKey(id), nullptr, &value);
  if (!found.ok()) return found.Is(Status::Code::kNotFound) ? Status::Ok() : std::move(found);
  CAIRN_RETURN_IF_ERROR(store->Get(Family::kDictionary, CountersKey(id), nullptr, &value));
  store::TableCounters counters;
  CAIRN_RETURN_IF_ERROR(store::DecodeTableCounters(value.view(), &counters));
  *is_being = counters.row_count == 0;
  return Status::Ok();
}

}  // namespace

Status Catalog::MayDropReferenced(const std::string& name, bool* may_drop) {
  *may_drop = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  TableDef def;
  CAIRN_RETURN_IF_ERROR(LoadDef(name, &def));
  CAIRN_RETURN_IF_ERROR(IsBeingCreated(store_, def.id, may_drop));
  return ForEachRecord(store_, RecordKind::kReplaced, {}, [&](ByteView, ByteView original) {
    if (original.size() != 8) return Status::Corruption("what a copy of ALTER TABLE is to replace is malformed in the dictionary");
    if (LoadBe64(original.data()) == def.id.value) *may_drop = true;
    return Status::Ok();
  });
}

Status Catalog::EndRecovery() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch batch(*store_);
  for (const RecordKind kind : {RecordKind::kReplaced, RecordKind::kCreation}) {
    CAIRN_RETURN_IF_ERROR(ForEachRecord(store_, kind, {}, [&](ByteView table, ByteView) {
      batch.Delete(Family::kDictionary, KindKey(kind) + std::string(table));
      return Status::Ok();
    }));
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

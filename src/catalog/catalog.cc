// SPDX-License-Identifier: GPL-2.0-only
// Changes of the dictionary, each one atomic batch.
#include "catalog/catalog.h"

#include <algorithm>
#include <iterator>

#include "catalog/catalog_batch.h"
#include "catalog/column_history.h"
#include "catalog/dictionary_keys.h"
#include "catalog/foreign_key_change.h"

namespace cairn::catalog {

using store::Batch;
using store::Durability;
using store::Family;
using store::PinnedValue;
using store::Urgency;

namespace {

std::string BigEndian64(uint64_t value) {
  std::string bytes(8, '\0');
  StoreBe64(bytes.data(), value);
  return bytes;
}

void PutName(const std::string& name, TableId id, Batch* batch) {
  batch->Put(Family::kDictionary, NameKey(name), BigEndian64(id.value));
}

void PutCounters(TableId id, const store::TableCounters& counters, Batch* batch) {
  ByteBuffer bytes;
  store::EncodeTableCounters(counters, &bytes);
  batch->Put(Family::kDictionary, CountersKey(id), bytes.view());
}

void PutDropped(const TableDef& def, Batch* batch) {
  for (const IndexDef& index : def.indexes) batch->Put(Family::kDictionary, DroppedIndexKey(index.id), ByteView());
}

}  // namespace

Status ForEachRecord(store::Store* store, RecordKind kind, ByteView prefix,
                     const std::function<Status(ByteView key, ByteView value)>& visit) {
  const std::string lower = KindKey(kind) + std::string(prefix);
  const std::string upper = KindEnd(kind);
  store::Cursor cursor;
  store::CursorOptions options;
  options.lower_bound = lower;
  options.upper_bound = upper;
  CAIRN_RETURN_IF_ERROR(store->OpenCursor(Family::kDictionary, options, &cursor));
  for (cursor.SeekToFirst(); cursor.Valid() && cursor.key().starts_with(lower); cursor.Next()) {
    CAIRN_RETURN_IF_ERROR(visit(cursor.key().substr(1), cursor.value()));
  }
  return cursor.status();
}

std::string CountersKey(TableId id) { return TableKey(RecordKind::kCounters, id); }
std::string CreationKey(TableId id) { return TableKey(RecordKind::kCreation, id); }

Status Catalog::Create(TableDef def, uint64_t auto_increment_next, std::shared_ptr<Table>* table,
                       const std::vector<ForeignKeyDef>& foreign_keys, const std::string& original, Creation creation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TableDef existing;
  Status found = LoadDef(def.name, &existing);
  if (found.ok()) return Status(Status::Code::kAlreadyExists, "table " + def.name);
  if (!found.Is(Status::Code::kNotFound)) return found;
  ForeignKeyChange change(this->foreign_keys());
  for (const ForeignKeyDef& key : foreign_keys) change.Add(key);
  if (const auto key = change.WithTakenName(def.name, original)) return Status(Status::Code::kDuplicateKey, key->name);
  TableDef replaced;
  found = IsNameOfFilledCopy(def.name) && !original.empty() ? LoadDef(original, &replaced) : Status::NotFound();
  if (!found.ok() && !found.Is(Status::Code::kNotFound)) return found;
  CAIRN_RETURN_IF_ERROR(AssignTableId(&def));
  CAIRN_RETURN_IF_ERROR(AssignIndexIds(&def));
  const store::TableCounters counters{.row_count = 0, .auto_increment_next = auto_increment_next};
  Batch batch(*store_);
  PutName(def.name, def.id, &batch);
  PutDefinition(def, &batch);
  PutCounters(def.id, counters, &batch);
  if (creation == Creation::kEndsWithStatement) batch.Put(Family::kDictionary, CreationKey(def.id), ByteView());
  PutNextIds(&batch);
  PutForeignKeys(change, &batch);
  if (found.ok()) PutReplaced(def.id, replaced.id, &batch);
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, def.temporary ? Durability::kOs : Durability::kSync));
  PublishForeignKeys(change);
  return LoadTable(std::move(def), store_->LatestSequence(), table);
}

Status Catalog::LoadDef(const std::string& name, TableDef* def) {
  PinnedValue value;
  CAIRN_RETURN_IF_ERROR(store_->Get(Family::kDictionary, NameKey(name), nullptr, &value));
  if (value.view().size() != 8) return Status::Corruption("the dictionary's entry of table " + name + " is malformed");
  const TableId id(LoadBe64(value.view().data()));
  Status status = store_->Get(Family::kDictionary, TableKey(RecordKind::kDefinition, id), nullptr, &value);
  if (status.Is(Status::Code::kNotFound)) {
    return Status::Corruption("the dictionary names table " + name + " but has no definition of it");
  }
  CAIRN_RETURN_IF_ERROR(std::move(status));
  status = DecodeTableDef(value.view(), def);
  if (!status.ok()) return Status(status.code(), "table " + name + ": " + std::string(status.message()));
  // The record of a name has no checksum, and whoever believed it would change another table, or drop that.
  if (def->name != name) return Status::Corruption("the dictionary's name " + name + " leads to table " + def->name);
  return status;
}

// Makes the live object of a table: its counters and the next row id.
Status Catalog::LoadTable(TableDef def, uint64_t visible_since, std::shared_ptr<Table>* table) {
  store::TableCounters counters;
  PinnedValue value;
  Status status = store_->Get(Family::kDictionary, CountersKey(def.id), nullptr, &value);
  if (status.ok()) status = store::DecodeTableCounters(value.view(), &counters);
  if (!status.ok() && !status.Is(Status::Code::kNotFound)) return status;
  if (const auto recovered = recovered_auto_increment_next_.find(def.id);
      recovered != recovered_auto_increment_next_.end()) {
    counters.auto_increment_next = std::max(counters.auto_increment_next, recovered->second);
  }
  uint64_t next_row_id;
  CAIRN_RETURN_IF_ERROR(FindNextRowId(def, &next_row_id));
  const std::string name = def.name;
  std::vector<uint64_t> index_visible_since;
  for (const IndexDef& index : def.indexes) {
    // An index may be younger than its table.
    uint64_t& known = visible_since_[index.id];
    known = std::max(known, visible_since);
    index_visible_since.push_back(known);
  }
  // Rows that were copied into the table came into its primary index.
  visible_since = index_visible_since.front();
  *table = std::make_shared<Table>(std::move(def), counters, next_row_id, visible_since, std::move(index_visible_since));
  Publish(name, *table);
  return Status::Ok();
}

void Catalog::Publish(const std::string& name, std::shared_ptr<Table> table) {
  const std::unique_lock<std::shared_mutex> lock(live_mutex_);
  live_[table->def().id] = table;
  tables_[name] = std::move(table);
  definitions_version_.fetch_add(1, std::memory_order_acq_rel);
}

void Catalog::Unpublish(const std::string& name) {
  const auto found = tables_.find(name);
  if (found == tables_.end()) return;
  // A transaction that is prepared and has no connection may hold row ids that no committed row has.
  if (const Table& table = *found->second; table.def().HasHiddenPrimaryKey()) {
    uint64_t& greatest = taken_row_ids_[table.def().indexes.front().id];
    greatest = std::max(greatest, table.next_row_id() - 1);
  }
  const std::unique_lock<std::shared_mutex> lock(live_mutex_);
  live_.erase(found->second->def().id);
  tables_.erase(found);
  definitions_version_.fetch_add(1, std::memory_order_acq_rel);
}

// Other indexes' keys of the same length are noted as well; nobody asks for them.
void Catalog::NoteRecoveredKey(ByteView key) {
  if (key.size() != 12) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t& greatest = taken_row_ids_[IndexId(LoadBe32(key.data()))];
  greatest = std::max(greatest, LoadBe64(key.data() + 4));
}

bool Catalog::NoteRecoveredCounters(ByteView dictionary_key, const store::TableCounters& change, TableId* table) {
  const std::string prefix = KindKey(RecordKind::kCounters);
  if (dictionary_key.size() != prefix.size() + 8 || !dictionary_key.starts_with(prefix)) return false;
  *table = TableId(LoadBe64(dictionary_key.data() + prefix.size()));
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t& greatest = recovered_auto_increment_next_[*table];
  greatest = std::max(greatest, change.auto_increment_next);
  return true;
}

void Catalog::OnCommit(TableId id, const store::TableCounters& change, uint64_t changed_rows) {
  std::shared_ptr<Table> loaded;
  {
    const std::shared_lock<std::shared_mutex> lock(live_mutex_);
    const auto found = live_.find(id);
    if (found == live_.end()) return;
    found->second->AddRows(change.row_count, changed_rows);
    found->second->RaiseAutoIncrementNext(change.auto_increment_next);
    if (found->second->TakeLoad()) loaded = found->second;
  }
  if (loaded == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t since = store_->LatestSequence();
  loaded->SetLoadedSince(since);
  for (const IndexDef& index : loaded->def().indexes) {
    uint64_t& known = visible_since_[index.id];
    known = std::max(known, since);
  }
}

// Handed-out values may be ahead of the committed counter: a new live object must not forget them.
void Catalog::MergeLiveCounters(const TableDef& def, Batch* batch) {
  const auto found = tables_.find(def.name);
  if (found == tables_.end()) return;
  batch->MergeCounters(CountersKey(def.id),
                       {.row_count = 0, .auto_increment_next = found->second->auto_increment_next()});
}

Status Catalog::Find(const std::string& name, std::shared_ptr<Table>* table) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tables_.find(name);
  if (found != tables_.end()) {
    *table = found->second;
    return Status::Ok();
  }
  TableDef def;
  CAIRN_RETURN_IF_ERROR(LoadDef(name, &def));
  return LoadTable(std::move(def), 0, table);
}

Status Catalog::Rename(const std::string& from, const std::string& to, const std::string& original,
                       const ShownRename& shown) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TableDef def, existing;
  CAIRN_RETURN_IF_ERROR(LoadDef(from, &def));
  Status taken = LoadDef(to, &existing);
  if (taken.ok()) return Status(Status::Code::kAlreadyExists, "table " + to);
  if (!taken.Is(Status::Code::kNotFound)) return taken;
  Batch batch(*store_);
  PutRenamed(to, &def, &batch);
  ForeignKeyChange change(foreign_keys());
  change.Edit(from, [&](const ForeignKeyDef& key) { return AfterRename(key, from, to, original, shown); });
  const std::string& replaced = IsNameOfCopy(from) ? original : from;
  const ForeignKeyPtr taken_name = IsNameOfCopy(to) ? nullptr : change.WithTakenName(to, replaced);
  if (taken_name != nullptr) return Status(Status::Code::kDuplicateKey, taken_name->name);
  PutForeignKeys(change, &batch);
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kSync, Urgency::kReclaimsSpace));
  PublishForeignKeys(change);
  NoteRenamed(from, def);
  return Status::Ok();
}

void Catalog::PutRenamed(const std::string& to, TableDef* def, Batch* batch) {
  MergeLiveCounters(*def, batch);
  DeleteReplaced(*def, batch);
  batch->Delete(Family::kDictionary, NameKey(def->name));
  def->name = to;
  PutName(to, def->id, batch);
  PutDefinition(*def, batch);
}

// It has happened: nothing that may fail comes after it, so who opens the table next loads it anew.
void Catalog::NoteRenamed(const std::string& from, const TableDef& def) {
  // Other tables are as old as they were: one may rest under a name of the server's while it changes places with another.
  if (IsNameOfFilledCopy(from) || IsNameOfNewPartition(from)) {
    for (const IndexDef& index : def.indexes) visible_since_[index.id] = store_->LatestSequence();
  }
  Unpublish(from);
  definitions_version_.fetch_add(1, std::memory_order_acq_rel);
}

void Catalog::PutGone(const TableDef& def, Batch* batch) {
  batch->Delete(Family::kDictionary, NameKey(def.name));
  batch->Delete(Family::kDictionary, TableKey(RecordKind::kDefinition, def.id));
  batch->Delete(Family::kDictionary, CountersKey(def.id));
  batch->Delete(Family::kDictionary, CreationKey(def.id));
  DeleteReplaced(def, batch);
  PutDropped(def, batch);
}

// What PutDropped() has written.
void Catalog::NoteDropped(const TableDef& def) {
  for (const IndexDef& index : def.indexes) dropped_.insert(index.id);
}

// What there is under the number of a table whose definition cannot be read. One that can be is another table's, to which a damaged name has led.
Status Catalog::PutUnreadableGone(TableId id, Batch* batch) {
  PinnedValue value;
  TableDef other;
  Status read = store_->Get(Family::kDictionary, TableKey(RecordKind::kDefinition, id), nullptr, &value);
  if (read.ok()) read = DecodeTableDef(value.view(), &other);
  if (!read.Is(Status::Code::kCorruption) && !read.Is(Status::Code::kNotFound)) return read;
  for (const RecordKind kind : {RecordKind::kDefinition, RecordKind::kCounters, RecordKind::kReplaced, RecordKind::kCreation}) {
    batch->Delete(Family::kDictionary, TableKey(kind, id));
  }
  return Status::Ok();
}

// Of a table whose name or definition is damaged goes what can be found, so that another one may have its name. What is left in its indexes nobody
// reads: their numbers are not given again.
Status Catalog::PutGone(const std::string& name, TableDef* def, Batch* batch) {
  Status loaded = LoadDef(name, def);
  if (loaded.ok()) PutGone(*def, batch);
  if (!loaded.Is(Status::Code::kCorruption)) return loaded;
  *def = TableDef();
  PinnedValue value;
  const Status found = store_->Get(Family::kDictionary, NameKey(name), nullptr, &value);
  batch->Delete(Family::kDictionary, NameKey(name));
  if (found.ok() && value.view().size() == 8) {
    CAIRN_RETURN_IF_ERROR(PutUnreadableGone(TableId(LoadBe64(value.view().data())), batch));
  }
  if (log_ != nullptr) {
    log_->Log(LogLevel::kWarning, "a table is dropped, but not the space of its indexes returned, as nobody knows their numbers: " +
                                      loaded.ToString());
  }
  return Status::Ok();
}

Status Catalog::Drop(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TableDef def;
  Batch batch(*store_);
  CAIRN_RETURN_IF_ERROR(PutGone(name, &def, &batch));
  ForeignKeyChange change(foreign_keys());
  change.RemoveOfChild(name);
  PutForeignKeys(change, &batch);
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, def.temporary ? Durability::kOs : Durability::kSync, Urgency::kReclaimsSpace));
  NoteDropped(def);
  PublishForeignKeys(change);
  Unpublish(name);
  return Status::Ok();
}

Status Catalog::Truncate(const std::string& name, std::shared_ptr<Table>* table) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TableDef def;
  CAIRN_RETURN_IF_ERROR(LoadDef(name, &def));
  Batch batch(*store_);
  const TableDef old = def;
  PutDropped(old, &batch);
  CAIRN_RETURN_IF_ERROR(AssignIndexIds(&def));
  ForgetEarlierVersions(&def);
  PutDefinition(def, &batch);
  PutCounters(def.id, store::TableCounters(), &batch);
  PutNextIds(&batch);
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kSync, Urgency::kReclaimsSpace));
  NoteDropped(old);
  Unpublish(name);
  // What transactions that were prepared at the start had taken; none of those left has changed this table.
  recovered_auto_increment_next_.erase(def.id);
  return LoadTable(std::move(def), store_->LatestSequence(), table);
}

Status Catalog::Redefine(std::vector<TableDef> defs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch batch(*store_);
  ForeignKeyChange change(foreign_keys());
  for (TableDef& def : defs) {
    TableDef old;
    CAIRN_RETURN_IF_ERROR(LoadDef(def.name, &old));
    const Status status = Succeed(old, &def);
    if (!status.ok()) {
      return Status::InvalidArgument("the new definition of " + def.name + " needs other data: " +
                                     std::string(status.message()));
    }
    PutDefinition(def, &batch);
    MergeLiveCounters(old, &batch);
    change.Edit(old.name, [&](const ForeignKeyDef& key) { return AfterColumnsRenamed(key, old, def); });
  }
  PutForeignKeys(change, &batch);
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kSync));
  PublishForeignKeys(change);
  // Handlers still share the live objects; who opens a table from now on loads it anew.
  for (const TableDef& def : defs) Unpublish(def.name);
  return Status::Ok();
}

Status Catalog::SetAutoIncrementNext(Table& table, uint64_t next) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string key = CountersKey(table.def().id);
  PinnedValue value;
  store::TableCounters counters;
  Status status = store_->Get(Family::kDictionary, key, nullptr, &value);
  if (status.ok()) status = store::DecodeTableCounters(value.view(), &counters);
  if (!status.ok() && !status.Is(Status::Code::kNotFound)) return status;
  counters.auto_increment_next = next;
  Batch batch(*store_);
  PutCounters(table.def().id, counters, &batch);
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kSync));
  table.SetAutoIncrementNext(next);
  // What transactions that were prepared at the start had taken; none of those left has changed this table.
  recovered_auto_increment_next_.erase(table.def().id);
  return Status::Ok();
}

Status Catalog::AllowLoads() {
  if (allows_loads_.load(std::memory_order_acquire)) return Status::Ok();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (format_version_ < kFormatWithLoads) {
    Batch batch(*store_);
    PutFormat(kFormatWithLoads, &batch);
    CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kSync));
    format_version_ = kFormatWithLoads;
  }
  allows_loads_.store(true, std::memory_order_release);
  return Status::Ok();
}

Status Catalog::SaveCounters() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch batch(*store_);
  for (const auto& [name, table] : tables_) {
    if (table->auto_increment_next() == 0) continue;
    batch.MergeCounters(CountersKey(table->def().id),
                        {.row_count = 0, .auto_increment_next = table->auto_increment_next()});
  }
  return batch.empty() ? Status::Ok() : store_->Write(batch, Durability::kSync, Urgency::kReclaimsSpace);
}

Status Catalog::TableNames(const std::string& prefix, std::vector<std::string>* names) {
  return ForEachRecord(store_, RecordKind::kName, prefix, [&](ByteView key, ByteView) {
    names->emplace_back(key);
    return Status::Ok();
  });
}

Status Catalog::DroppedIndexes(std::vector<IndexId>* indexes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::ranges::copy_if(dropped_, std::back_inserter(*indexes), [this](IndexId index) { return !building_.contains(index); });
  return dropped_damage_.empty() ? Status::Ok() : Status::Corruption(dropped_damage_);
}

Status Catalog::ForgetDropped(IndexId index) {
  Batch batch(*store_);
  batch.Delete(Family::kDictionary, DroppedIndexKey(index));
  CAIRN_RETURN_IF_ERROR(store_->Write(batch, Durability::kOs, Urgency::kReclaimsSpace));
  const std::lock_guard<std::mutex> lock(mutex_);
  dropped_.erase(index);
  visible_since_.erase(index);
  taken_row_ids_.erase(index);
  return Status::Ok();
}

size_t Catalog::RememberedIndexes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return visible_since_.size() + taken_row_ids_.size();
}

std::string Catalog::TableNameOf(IndexId index) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, table] : tables_) {
    for (const IndexDef& def : table->def().indexes) {
      if (def.id == index) return name;
    }
  }
  return std::string();
}

}  // namespace cairn::catalog

// SPDX-License-Identifier: GPL-2.0-only
// What a start makes of the dictionary that it finds.
#include "catalog/catalog.h"
#include "catalog/catalog_batch.h"
#include "catalog/dictionary_keys.h"

namespace cairn::catalog {

using store::Batch;
using store::Durability;
using store::Family;
using store::PinnedValue;

namespace {

// *version is 0 where there is no dictionary yet.
Status ReadFormat(const store::Store& store, uint64_t* version) {
  *version = 0;
  PinnedValue value;
  Status status = store.Get(Family::kDictionary, KindKey(RecordKind::kFormat), nullptr, &value);
  if (status.Is(Status::Code::kNotFound)) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(std::move(status));
  ByteReader reader(value.view());
  if (!reader.ReadVarint(version) || *version == 0) return Status::Corruption("the dictionary's format version is malformed");
  if (*version <= kFormatWithLoads) return Status::Ok();
  return Status(Status::Code::kFormatTooNew, "the dictionary has format " + std::to_string(*version) + ", this program knows up to " +
                                                 std::to_string(kFormatWithLoads));
}

// For messages, of the table whose definition has this key: its name, which stands in another record, and its number.
std::string TextOfTable(store::Store* store, ByteView key) {
  std::string name;
  const Status looked = ForEachRecord(store, RecordKind::kName, {}, [&](ByteView at, ByteView id) {
    if (id == key) name = at;
    return Status::Ok();
  });
  if (name.empty()) name = looked.ok() ? "without a name" : "whose name cannot be read";
  return "table " + name + (key.size() == 8 ? " (number " + std::to_string(LoadBe64(key.data())) + ")" : "");
}

}  // namespace

Status Catalog::CheckFormat(const store::Store& store) {
  uint64_t version;
  return ReadFormat(store, &version);
}

Status Catalog::Open(store::Store* store, std::unique_ptr<Catalog>* catalog, LogSink* log) {
  std::unique_ptr<Catalog> opened(new Catalog(store, log));
  CAIRN_RETURN_IF_ERROR(opened->LoadFormat());
  CAIRN_RETURN_IF_ERROR(opened->LoadNextIds());
  CAIRN_RETURN_IF_ERROR(opened->PassUnknownIndexes());
  opened->WarnOfIndexNumbers();
  CAIRN_RETURN_IF_ERROR(opened->LoadForeignKeys());
  CAIRN_RETURN_IF_ERROR(opened->LoadDropped());
  CAIRN_RETURN_IF_ERROR(opened->DropTemporaryTables());
  *catalog = std::move(opened);
  return Status::Ok();
}

Status Catalog::LoadFormat() {
  CAIRN_RETURN_IF_ERROR(ReadFormat(*store_, &format_version_));
  if (format_version_ != 0) return Status::Ok();
  Batch batch(*store_);
  PutFormat(kFormatPlain, &batch);
  format_version_ = kFormatPlain;
  return store_->Write(batch, Durability::kSync);
}

// From now on they are kept in memory, too. The reclaimer asks for them after each drop, and what it had forgotten since the dictionary was
// compacted last lies where a walk over their records begins. Damage takes some space, and keeps nobody from anything.
Status Catalog::LoadDropped() {
  Status looked = ForEachRecord(store_, RecordKind::kDroppedIndex, {}, [this](ByteView key, ByteView) {
    if (key.size() == 4) {
      dropped_.insert(IndexId(LoadBe32(key.data())));
    } else {
      dropped_damage_ = "a dropped index in the dictionary is malformed";
    }
    return Status::Ok();
  });
  if (!looked.Is(Status::Code::kCorruption)) return looked;
  dropped_damage_ = "some dropped indexes in the dictionary cannot be read: " + std::string(looked.message());
  return Status::Ok();
}

// What is damaged here is a table's, and whoever opens that table is told: it keeps nobody from the others. A temporary table that is not found
// for it takes space, and nothing else.
Status Catalog::DropTemporaryTables() {
  const auto report = [this](const std::string& line) {
    if (log_ != nullptr) log_->Log(LogLevel::kError, line);
  };
  std::vector<std::string> temporary;
  Status looked = ForEachRecord(store_, RecordKind::kDefinition, {}, [&](ByteView key, ByteView value) {
    TableDef def;
    const Status decoded = DecodeTableDef(value, &def);
    if (decoded.ok() && def.temporary) temporary.push_back(def.name);
    if (decoded.ok()) return Status::Ok();
    Status named(decoded.code(), TextOfTable(store_, key) + ": " + std::string(decoded.message()));
    if (!named.Is(Status::Code::kCorruption)) return named;
    report("a table can only be dropped: " + named.ToString());
    return Status::Ok();
  });
  if (looked.Is(Status::Code::kCorruption)) {
    report("temporary tables of an earlier process may be left: " + looked.ToString());
  } else if (!looked.ok()) {
    return looked;
  }
  for (const std::string& name : temporary) {
    Status dropped = Drop(name);
    if (!dropped.ok() && !dropped.Is(Status::Code::kNotFound)) return dropped;
  }
  return Status::Ok();
}

}  // namespace cairn::catalog

// SPDX-License-Identifier: GPL-2.0-only
// Pieces of the batches that change the dictionary, and how its records are read.
#pragma once

#include <functional>

#include "catalog/dictionary_keys.h"
#include "catalog/foreign_key_set.h"
#include "catalog/table_def.h"
#include "store/batch.h"
#include "store/store.h"

namespace cairn::catalog {

// The format of a dictionary that never had foreign keys or loads, and of others. A later version of a definition, a foreign key or a load gets a
// number here as well: this is what an earlier program looks at before it changes anything.
inline constexpr uint64_t kFormatPlain = 1;
inline constexpr uint64_t kFormatWithForeignKeys = 2;
inline constexpr uint64_t kFormatWithLoads = 3;  // foreign keys too, perhaps

inline void PutFormat(uint64_t version, store::Batch* batch) {
  ByteBuffer bytes;
  bytes.AppendVarint(version);
  batch->Put(store::Family::kDictionary, KindKey(RecordKind::kFormat), bytes.view());
}

inline void PutDefinition(const TableDef& def, store::Batch* batch) {
  ByteBuffer bytes;
  EncodeTableDef(def, &bytes);
  batch->Put(store::Family::kDictionary, TableKey(RecordKind::kDefinition, def.id), bytes.view());
}

// What a copy of ALTER TABLE is to replace, while it has a name of a copy's.
inline void PutReplaced(TableId copy, TableId original, store::Batch* batch) {
  char bytes[8];
  StoreBe64(bytes, original.value);
  batch->Put(store::Family::kDictionary, TableKey(RecordKind::kReplaced, copy), ByteView(bytes, sizeof bytes));
}

inline void DeleteReplaced(const TableDef& copy, store::Batch* batch) {
  if (IsNameOfFilledCopy(copy.name)) batch->Delete(store::Family::kDictionary, TableKey(RecordKind::kReplaced, copy.id));
}

// Calls `visit` with each key, without its first byte, and value of a kind whose key then starts with `prefix`.
Status ForEachRecord(store::Store* store, RecordKind kind, ByteView prefix,
                     const std::function<Status(ByteView key, ByteView value)>& visit);

}  // namespace cairn::catalog

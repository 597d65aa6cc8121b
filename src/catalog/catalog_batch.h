// SPDX-License-Identifier: GPL-2.0-only
// Pieces of the batches that change the dictionary.
#pragma once

#include "catalog/dictionary_keys.h"
#include "catalog/table_def.h"
#include "store/batch.h"

namespace cairn::catalog {

// The format of a dictionary that never had foreign keys or loads, and of others.
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

}  // namespace cairn::catalog

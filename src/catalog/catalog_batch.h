// SPDX-License-Identifier: GPL-2.0-only
// Pieces of the batches that change the dictionary.
#pragma once

#include "catalog/dictionary_keys.h"
#include "catalog/table_def.h"
#include "store/batch.h"

namespace cairn::catalog {

inline void PutDefinition(const TableDef& def, store::Batch* batch) {
  ByteBuffer bytes;
  EncodeTableDef(def, &bytes);
  batch->Put(store::Family::kDictionary, TableKey(RecordKind::kDefinition, def.id), bytes.view());
}

}  // namespace cairn::catalog

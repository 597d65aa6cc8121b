// SPDX-License-Identifier: GPL-2.0-only
// Indexes that are being built while rows are written: what writers must note for each change.
#pragma once

#include <vector>

#include "base/ids.h"
#include "catalog/table_def.h"
#include "codec/column_set.h"

namespace cairn::catalog {

// One index that is being built. Writers leave it alone: they note what becomes of its entries under another
// index id, the delta (dml/index_delta.h), which is applied when the index has been filled. It has no codec: where columns lie
// in a record is each writer's own, as records of those who follow foreign keys are not the server's.
struct IndexBuild {
  IndexDef def;
  IndexId delta;
  codec::ColumnSet columns;  // that take part in it
  bool removes_singly = false;  // as TableAccess::RemovesSingly
};

// All indexes of one table that are being built by one statement. Immutable; shared by all writers.
struct TableBuild {
  std::vector<IndexBuild> indexes;
};

}  // namespace cairn::catalog

// SPDX-License-Identifier: GPL-2.0-only
// What reads rows of earlier schema versions. Internal to the row codec.
//
// Of a version nothing is made before a row of it comes: tables may have many versions, each partition anew, and rows of
// few of them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/on_demand.h"
#include "codec/column_set.h"
#include "codec/row_codec.h"

namespace cairn::codec {

// How rows of one version are read.
struct EarlierVersion {
  // A present column that the rows do not have.
  struct AddedColumn {
    ColumnLayout column;
    uint16_t position;            // in RecordLayout::columns
    const InitialValue* initial;  // the history's
  };

  RowCodec rows;  // its columns lie where the present record has them
  std::vector<AddedColumn> added;
};

// Belongs to one RowCodec.
struct EarlierVersions {
  explicit EarlierVersions(std::shared_ptr<const RowHistory> from) : history(std::move(from)), made(history->versions.size()) {}

  const std::shared_ptr<const RowHistory> history;
  OnDemand<EarlierVersion> made;  // as many as RowHistory::versions
};

// How the columns of a DecodePlan are filled from rows of one version.
struct EarlierPlan {
  const EarlierVersion& version;
  DecodePlan rows;
  std::vector<const EarlierVersion::AddedColumn*> added;  // the wanted ones
};

// Belongs to one DecodePlan.
struct EarlierPlans {
  EarlierPlans(const ColumnSet& columns, size_t version_count) : wanted(columns), made(version_count) {}

  const ColumnSet wanted;
  OnDemand<EarlierPlan> made;
};

}  // namespace cairn::codec

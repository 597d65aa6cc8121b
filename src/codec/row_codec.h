// SPDX-License-Identifier: GPL-2.0-only
// The value of a primary key's entry: the row's columns that its key does not give back. The
// format is docs/formats/row.md.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "codec/column_set.h"
#include "codec/index_codec.h"
#include "codec/record_layout.h"

namespace cairn::codec {

// The straight-line work to fill a set of columns of a record from a row. Made once per statement
// by RowCodec::Plan(); used only with that codec. Thread rule: immutable, shared by all threads.
class DecodePlan {
 private:
  friend class RowCodec;
  DecodePlan() = default;
};

// Knows the rows of one table at one schema version.
//
// Thread rule: immutable after construction; shared by all threads. Self-contained, but borrows
// collations.
class RowCodec {
 public:
  // `primary` is the table's primary key codec, made from the same layout. `schema_version` is
  // written into each row.
  RowCodec(const RecordLayout& layout, const IndexCodec& primary, uint32_t schema_version);

  uint32_t schema_version() const { return schema_version_; }

  // Appends the value of the row in `record`.
  void Encode(const uint8_t* record, ByteBuffer* value) const;

  // Virtual generated columns in `wanted` are ignored: the server computes them.
  DecodePlan Plan(const ColumnSet& wanted) const;

  // Writes the columns of the plan, null bits included, into `record`; other columns are not
  // touched. A kBlob column gets a pointer into `value`, valid as long as `value` is.
  // Corruption (a row of another schema version included) leaves these columns unspecified.
  Status Decode(const DecodePlan& plan, ByteView key, ByteView value, uint8_t* record) const;

 private:
  uint32_t schema_version_;
};

}  // namespace cairn::codec

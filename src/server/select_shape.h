// SPDX-License-Identifier: GPL-2.0-only
// What a SELECT asks of one table, where that can be told without the server's optimizer.
#pragma once

#include "server/server_headers.h"

namespace cairn::server {

// One row of a unique key, or one range of an index in its order, either way: what the optimizer would choose too, as nothing
// else can be better. Or a few rows of a unique key, than which nothing else is much better. Bounds are of integer columns, from
// comparisons with integers, so that they stand for the condition exactly.
struct SelectShape {
  static constexpr unsigned kKeyBytesMax = MAX_REF_PARTS * (1 + sizeof(longlong));

  enum class Kind : uint8_t {
    kPoint,   // the row of a unique key
    kPoints,  // those of which one part has a value of a list, the others one value each
    kPrefix,  // all rows whose first key parts have these values
    kRange,   // of which the last key part lies between two values
  };

  Kind kind = Kind::kPoint;
  TABLE* table = nullptr;
  uint key = 0;
  key_part_map parts = 0;
  uint key_bytes = 0;
  bool backward = false;
  bool from_entries = false;   // the index has all columns that are wanted
  Item* condition = nullptr;   // of a point: bounds of other columns too, so to be evaluated on the row; null: none
  const longlong* list = nullptr;  // of points: the values of one part in the order to be read in, each once; the statement's
  uint list_count = 0;
  uint list_part = 0;
  uchar first_key[kKeyBytesMax];  // in the index's order, both inclusive; the server's form of a search tuple
  uchar last_key[kKeyBytesMax];

  // Of points: `first_key` gets the list's value at `position`.
  void SetListValue(uint position);
};

// Whether the statement has such a shape, on a table of `engine`; then `shape` is it, and `condition`
// is the statement's, for as long as that runs. `select` has been prepared. Nothing is changed. Thread rule: the connection's thread.
bool FindSelectShape(THD* thd, SELECT_LEX* select, const handlerton* engine, SelectShape* shape);

}  // namespace cairn::server

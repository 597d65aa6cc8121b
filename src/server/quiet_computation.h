// SPDX-License-Identifier: GPL-2.0-only
// Generated columns of one row, computed by the engine beside what the server computes.
#pragma once

#include <memory>

#include "server/server_headers.h"

namespace cairn::server {

/// What texts of the row computed last point into: one string a column, made when first needed.
using ComputedTexts = std::unique_ptr<String[]>;

/// The column's string among the texts.
String& TextOf(const Field& field, ComputedTexts* texts);

/// As long as it lives, the table's fields are those of `record`, and what is computed of them goes there. Nobody is told of errors: the
/// server finds them again where it computes the same. Texts are kept in `texts`, as the server has in a field the text of another row that
/// it is to write, or has written; they hold until the next computation with the same strings. The table, the record and the strings
/// outlive it. One at a time for a table, by its statement's thread.
class QuietComputation {
 public:
  QuietComputation(TABLE& table, uchar* record, ComputedTexts* texts);
  ~QuietComputation();
  QuietComputation(const QuietComputation&) = delete;
  QuietComputation& operator=(const QuietComputation&) = delete;

  /// Each field once, and after those that it is computed from: in the table's order.
  void Compute(Field& generated);

 private:
  TABLE& table_;
  uchar* const record_;
  ComputedTexts* const texts_;
  MY_BITMAP* const read_set_;
  MY_BITMAP* const write_set_;
  Dummy_error_handler silence_;
  Query_arena statements_arena_;
};

}  // namespace cairn::server

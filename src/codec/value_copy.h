// SPDX-License-Identifier: GPL-2.0-only
// Columns' values from one record into another, of the same table or of another.
#pragma once

#include <cstdint>

#include "codec/record_layout.h"

namespace cairn::codec {

// Whether every value of one column means the same in the other, so that keys made of either are equal when the
// values are: columns of numbers and of fixed bytes must be stored alike, texts need one collation. They may differ in
// how long a text may be, and in whether they may be NULL.
bool AreComparable(const ColumnLayout& a, const ColumnLayout& b);

// Copies the value. False, with the target unspecified, when it does not fit: it is of more characters than the column may have, where spaces
// at the end do not count if texts are padded with them. A NULL needs a column that may be NULL.
// Precondition: AreComparable, and no kBlob.
[[nodiscard]] bool CopyValue(const ColumnLayout& from, const uint8_t* from_record, const ColumnLayout& to,
                             uint8_t* to_record);

// Whether the columns of two records hold the same bytes. Precondition: same layout for both records.
bool SameBytes(const ColumnLayout& column, const uint8_t* a, const uint8_t* b);

// Copies the column's bytes and whether it is NULL; a blob points to where that of `from` does. Precondition: same layout for both records.
void CopyColumn(const ColumnLayout& column, const uint8_t* from, uint8_t* to);

// Whether the column is NULL in the record; makes it so.
bool IsNull(const ColumnLayout& column, const uint8_t* record);
void MakeNull(const RecordLayout& layout, size_t column, uint8_t* record);

// Turns a change of a row that has become `current` meanwhile into one of `current`: `old_record` becomes that, and so does `new_record`
// (null: the row is removed) in columns where it was as `old_record`. Virtual columns stay. All have the layout; blobs point to where those
// of `current` do.
void RebaseChange(const RecordLayout& layout, const uint8_t* current, uint8_t* old_record, uint8_t* new_record);

}  // namespace cairn::codec

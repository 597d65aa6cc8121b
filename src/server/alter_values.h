// SPDX-License-Identifier: GPL-2.0-only
// What ALTER TABLE does to values that columns are computed to, and to what existing rows have to satisfy.
#pragma once

#include "server/server_headers.h"

namespace cairn::server {

// Whether a column that stays is computed to other values afterwards, directly or through others, and these are stored, in an index, or
// tell which partition a row is in, or a CHECK reads them; or whether a column that tells a row's partition goes. It does so when the
// statement drops a column it is computed from and adds another of that name, changes the expression of one, or the DEFAULT that an
// expression asks for, or how values of one read: ZEROFILL, decimals, names of an ENUM or SET. The server tells only of the columns whose
// own expressions change, and for it types whose values are the same bytes are the same. Uses table.tmp_set.
bool ChangesStoredValues(TABLE& table, const TABLE& altered, const Alter_inplace_info& changes);

// Whether it is so when the rows become those of `other`, or those of `other` this table's: one of as many columns, in the same order and of
// types and expressions that are the same for the server, which does not compare what DEFAULT() in them stands for. Or whether a column is
// computed in only one of the two.
bool ChangesStoredValues(TABLE& table, const TABLE& other);

// Whether a column that stays gets another CHECK of its own, or a virtual one comes with one: whether the rows that are there satisfy it,
// only a copy finds out.
bool ChangesColumnCheck(const Alter_inplace_info& changes);

// Whether what is in `field`'s place in the record satisfies the column's own CHECK, in whatever row; false also when that depends on
// other columns. Uses tmp_set of the field's table.
bool SatisfiesColumnCheck(const Field& field);

}  // namespace cairn::server

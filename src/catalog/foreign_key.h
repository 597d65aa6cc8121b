// SPDX-License-Identifier: GPL-2.0-only
// What a foreign key is, as plain data, and its bytes in the dictionary (docs/formats/dictionary.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace cairn::catalog {

// What becomes of a child's rows when the parent's row goes or changes. The first two do the same; they are told apart
// to be shown as they were written. Numbers are in the dictionary: they never change.
enum class ForeignAction : uint8_t { kRestrict = 0, kNoAction = 1, kCascade = 2, kSetNull = 3 };

// Whether two names of constraints, or of columns of one table, mean the same: as the server, by letters without their case, but those
// of ASCII alone. Other letters count as they are, which only lets more names live side by side.
bool IsSameName(std::string_view a, std::string_view b);

inline bool ChangesChild(ForeignAction action) { return action >= ForeignAction::kCascade; }

// A constraint of the table `child`: each of its rows that has no NULL in `child_columns` needs a row of `parent`
// with the same values in `parent_columns`. Tables and columns are meant by their names, so a parent may come later, and
// spell them otherwise.
struct ForeignKeyDef {
  std::string name;    // unique among those of the child's database; UTF-8
  std::string child;   // "database/table" in the server's file-name encoding
  std::string parent;  // likewise
  std::vector<std::string> child_columns;
  std::vector<std::string> parent_columns;  // as many
  ForeignAction on_delete = ForeignAction::kRestrict;
  ForeignAction on_update = ForeignAction::kRestrict;

  bool operator==(const ForeignKeyDef&) const = default;
};

// Appends the bytes of `def`.
void EncodeForeignKey(const ForeignKeyDef& def, ByteBuffer* out);

// Reads them back. kCorruption for bytes no version allows, kFormatTooNew for a later version under a right
// checksum. `*def` is unspecified on failure.
Status DecodeForeignKey(ByteView bytes, ForeignKeyDef* def);

}  // namespace cairn::catalog

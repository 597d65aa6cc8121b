// SPDX-License-Identifier: GPL-2.0-only
// The keys of the dictionary family (docs/formats/dictionary.md).
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/ids.h"

namespace cairn::catalog {

enum class RecordKind : char {
  kFormat = 1,
  kName = 2,
  kDefinition = 3,
  kCounters = 4,
  kNextIds = 5,
  kDroppedIndex = 6,
  kForeignKey = 7,
  kLoad = 8,  // the store's: store/load_record.h
  kReplaced = 9,
  kCreation = 10,
};

inline std::string KindKey(RecordKind kind) { return std::string(1, static_cast<char>(kind)); }

inline std::string NameKey(ByteView name) {
  std::string key = KindKey(RecordKind::kName);
  key += name;
  return key;
}

inline std::string TableKey(RecordKind kind, TableId id) {
  std::string key = KindKey(kind);
  char bytes[8];
  StoreBe64(bytes, id.value);
  key.append(bytes, sizeof bytes);
  return key;
}

inline std::string DroppedIndexKey(IndexId id) {
  std::string key = KindKey(RecordKind::kDroppedIndex);
  char bytes[4];
  StoreBe32(bytes, id.value);
  key.append(bytes, sizeof bytes);
  return key;
}

// Names have no zero bytes.
inline std::string ForeignKeyKey(ByteView child, ByteView name) {
  std::string key = KindKey(RecordKind::kForeignKey);
  key += child;
  key += '\0';
  key += name;
  return key;
}

// The end of the records of a kind: the first key of the next kind.
inline std::string KindEnd(RecordKind kind) { return std::string(1, static_cast<char>(static_cast<char>(kind) + 1)); }

}  // namespace cairn::catalog

// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a foreign key, version 1 of docs/formats/dictionary.md.
#include "catalog/foreign_key.h"

#include <algorithm>

#include "base/record_envelope.h"

namespace cairn::catalog {
namespace {

constexpr uint8_t kVersion = 1;

bool ReadText(ByteReader* in, std::string* text) {
  ByteView bytes;
  if (!in->ReadLengthPrefixed(&bytes)) return false;
  text->assign(bytes);
  return true;
}

bool ReadAction(ByteReader* in, ForeignAction* action) {
  uint64_t number;
  if (!in->ReadVarint(&number) || number > static_cast<uint64_t>(ForeignAction::kSetNull)) return false;
  *action = static_cast<ForeignAction>(number);
  return true;
}

bool DecodeBody(ByteReader* in, ForeignKeyDef* def) {
  uint64_t count;
  if (!ReadText(in, &def->name) || !ReadText(in, &def->child) || !ReadText(in, &def->parent) ||
      !ReadAction(in, &def->on_delete) || !ReadAction(in, &def->on_update) || !in->ReadVarint(&count) || count == 0 ||
      count > in->remaining()) {
    return false;
  }
  def->child_columns.assign(count, {});
  def->parent_columns.assign(count, {});
  for (uint64_t i = 0; i < count; ++i) {
    if (!ReadText(in, &def->child_columns[i]) || !ReadText(in, &def->parent_columns[i])) return false;
  }
  return in->empty();
}

}  // namespace

bool IsSameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

void EncodeForeignKey(const ForeignKeyDef& def, ByteBuffer* out) {
  const size_t start = out->size();
  out->AppendU8(kVersion);
  out->AppendLengthPrefixed(def.name);
  out->AppendLengthPrefixed(def.child);
  out->AppendLengthPrefixed(def.parent);
  out->AppendVarint(static_cast<uint64_t>(def.on_delete));
  out->AppendVarint(static_cast<uint64_t>(def.on_update));
  out->AppendVarint(def.child_columns.size());
  for (size_t i = 0; i < def.child_columns.size(); ++i) {
    out->AppendLengthPrefixed(def.child_columns[i]);
    out->AppendLengthPrefixed(def.parent_columns[i]);
  }
  SealRecord(start, out);
}

Status DecodeForeignKey(ByteView bytes, ForeignKeyDef* def) {
  uint8_t version;
  ByteView body;
  CAIRN_RETURN_IF_ERROR(OpenRecord(bytes, "a foreign key", kVersion, &version, &body));
  ByteReader in(body);
  if (!DecodeBody(&in, def)) return Status::Corruption("a foreign key of the dictionary is malformed");
  return Status::Ok();
}

}  // namespace cairn::catalog

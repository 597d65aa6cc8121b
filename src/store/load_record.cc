// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a load's record.
#include "store/load_record.h"

#include "base/record_envelope.h"

namespace cairn::store {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kKeyBytes = 1 + sizeof(uint64_t);

bool DecodeBody(ByteReader* in, LoadRecord* record) {
  ByteView first_key, last_row_key;
  uint64_t index_count;
  if (!in->ReadVarint(&record->file_count) || record->file_count == 0 || !in->ReadLengthPrefixed(&first_key) ||
      first_key.empty() || !in->ReadLengthPrefixed(&last_row_key) || !in->ReadVarint(&index_count) || index_count == 0 ||
      index_count > in->remaining()) {
    return false;
  }
  record->first_key = first_key;
  record->last_row_key = last_row_key;
  record->indexes.clear();
  for (uint64_t i = 0; i < index_count; ++i) {
    uint32_t index;
    if (!in->ReadVarint32(&index)) return false;
    record->indexes.emplace_back(index);
  }
  return in->empty();
}

}  // namespace

std::string LoadRecordKey(uint64_t number) {
  std::string key(kKeyBytes, kLoadRecordKind);
  StoreBe64(key.data() + 1, number);
  return key;
}

bool IsLoadRecordKey(ByteView key) { return !key.empty() && key.front() == kLoadRecordKind; }

void EncodeLoadRecord(const LoadRecord& record, ByteBuffer* value) {
  const size_t start = value->size();
  value->AppendU8(kVersion);
  value->AppendVarint(record.file_count);
  value->AppendLengthPrefixed(record.first_key);
  value->AppendLengthPrefixed(record.last_row_key);
  value->AppendVarint(record.indexes.size());
  for (const IndexId index : record.indexes) value->AppendVarint(index.value);
  SealRecord(start, value);
}

Status DecodeLoadRecord(ByteView key, ByteView value, LoadRecord* record) {
  uint8_t version;
  ByteView body;
  CAIRN_RETURN_IF_ERROR(OpenRecord(value, "the record of a load", kVersion, &version, &body));
  ByteReader in(body);
  if (key.size() != kKeyBytes || !IsLoadRecordKey(key) || !DecodeBody(&in, record)) {
    return Status::Corruption("the record of a load in the dictionary is malformed");
  }
  record->number = LoadBe64(key.data() + 1);
  return Status::Ok();
}

}  // namespace cairn::store

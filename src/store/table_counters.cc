// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a table's counters.
#include "store/table_counters.h"

namespace cairn::store {
namespace {

constexpr uint8_t kFormat = 1;

uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

}  // namespace

void EncodeTableCounters(const TableCounters& counters, ByteBuffer* to) {
  to->AppendU8(kFormat);
  to->AppendVarint(ZigZag(counters.row_count));
  to->AppendVarint(counters.auto_increment_next);
}

Status DecodeTableCounters(ByteView bytes, TableCounters* counters) {
  ByteReader reader(bytes);
  uint8_t format;
  uint64_t rows;
  if (!reader.ReadU8(&format)) return Status::Corruption("empty record of table counters");
  if (format > kFormat) {
    return Status(Status::Code::kFormatTooNew, "table counters of format " + std::to_string(format));
  }
  if (format != kFormat || !reader.ReadVarint(&rows) ||
      !reader.ReadVarint(&counters->auto_increment_next) || !reader.empty()) {
    return Status::Corruption("malformed table counters of " + std::to_string(bytes.size()) + " bytes");
  }
  counters->row_count = UnZigZag(rows);
  return Status::Ok();
}

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a load's record: the vector of docs/formats/dictionary.md, and records that no program writes.
#include <gtest/gtest.h>

#include "base/record_envelope.h"
#include "store/load_record.h"

namespace cairn::store {
namespace {

constexpr size_t kChecksumBytes = 4;

std::string Hex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

LoadRecord Vector() {
  LoadRecord record;
  record.number = 3;
  record.file_count = 2;
  record.first_key = "\x01\x02";
  record.last_row_key = "\x07";
  record.indexes = {IndexId(9), IndexId(300)};
  return record;
}

TEST(LoadRecordBytes, AreThoseOfTheVector) {
  EXPECT_EQ(Hex(LoadRecordKey(3)), "080000000000000003");
  ByteBuffer value;
  EncodeLoadRecord(Vector(), &value);
  EXPECT_EQ(Hex(value.view().substr(0, value.size() - kChecksumBytes)), "010202010201070209ac02");
  LoadRecord record;
  ASSERT_TRUE(DecodeLoadRecord(LoadRecordKey(3), value.view(), &record).ok());
  EXPECT_EQ(record.number, 3u);
  EXPECT_EQ(record.file_count, 2u);
  EXPECT_EQ(record.first_key, "\x01\x02");
  EXPECT_EQ(record.last_row_key, "\x07");
  EXPECT_EQ(record.indexes, Vector().indexes);
}

// Each with its checksum right.
TEST(LoadRecordBytes, OtherRecordsAreRefused) {
  const auto expect_refused = [](LoadRecord record) {
    ByteBuffer value;
    EncodeLoadRecord(record, &value);
    EXPECT_TRUE(DecodeLoadRecord(LoadRecordKey(3), value.view(), &record).Is(Status::Code::kCorruption));
  };
  LoadRecord record = Vector();
  record.indexes.clear();
  expect_refused(record);
  record = Vector();
  record.file_count = 0;
  expect_refused(record);
  record = Vector();
  record.first_key.clear();
  expect_refused(record);
  for (const std::string_view body : {std::string_view("\x02\x7f\x01"), std::string_view("\x02\x01\x01\x01\x01\x7f\x09"),
                                      std::string_view("\x02\x01\x01\x01\x01\x01\x09\x09"), std::string_view("\xff\xff")}) {
    ByteBuffer value;
    value.AppendU8(1);
    value.Append(body);
    SealRecord(0, &value);
    EXPECT_TRUE(DecodeLoadRecord(LoadRecordKey(3), value.view(), &record).Is(Status::Code::kCorruption)) << Hex(body);
  }
  ByteBuffer value;
  EncodeLoadRecord(Vector(), &value);
  EXPECT_TRUE(DecodeLoadRecord(LoadRecordKey(3).substr(1), value.view(), &record).Is(Status::Code::kCorruption));
}

}  // namespace
}  // namespace cairn::store

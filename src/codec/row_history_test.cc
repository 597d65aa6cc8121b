// SPDX-License-Identifier: GPL-2.0-only
// Rows of random tables through random histories: columns that come, go and move.
#include "codec/row_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "codec/row_codec.h"
#include "codec/testing.h"

namespace cairn::codec {
namespace {

using testing::LayoutBuilder;
using testing::Randomly;
using testing::TestRecord;

// A table that is altered in place. Its layouts stay, as records refer to them.
class AlteredTable {
 public:
  explicit AlteredTable(uint64_t seed) : random(seed) {
    layouts_.push_back(random.Layout(2 + random.Below(8)));
    key_ = random.Parts(layout(), 3, true);
    next_id_ = static_cast<uint32_t>(layout().columns.size() + 1);
    MakeCodec();
  }

  const RecordLayout& layout() const { return layouts_.back(); }
  const RowCodec& codec() const { return *codec_; }
  const RowHistory& history() const { return history_; }
  uint32_t version() const { return version_; }

  // Drops, adds and moves columns, and makes VARCHARs longer; those of the primary key are not dropped.
  void Alter() {
    std::vector<uint32_t> ids;
    for (const ColumnLayout& column : layout().columns) {
      if (column.stored) ids.push_back(column.column_id);
    }
    history_.versions.push_back(std::move(ids));
    std::vector<ColumnLayout> columns;
    std::vector<uint32_t> key_ids;
    for (const KeyPart& part : key_) key_ids.push_back(layout().columns[part.column].column_id);
    for (const ColumnLayout& column : layout().columns) {
      const bool in_key = std::find(key_ids.begin(), key_ids.end(), column.column_id) != key_ids.end();
      if (in_key || !random.OneIn(4)) {
        columns.push_back(random.OneIn(3) ? Longer(column) : column);
      } else if (column.stored) {
        Drop(column);
      }
    }
    if (random.OneIn(2)) AddColumns(1 + random.Below(3), &columns);
    if (columns.empty()) AddColumns(1, &columns);
    for (size_t at = columns.size() - 1; at > 0; --at) {
      if (random.OneIn(3)) std::swap(columns[at], columns[random.Below(at)]);
    }
    Lay(columns);
    for (size_t part = 0; part < key_.size(); ++part) {
      for (size_t at = 0; at < columns.size(); ++at) {
        if (columns[at].column_id == key_ids[part]) key_[part].column = static_cast<uint16_t>(at);
      }
    }
    ++version_;
    MakeCodec();
  }

  std::string KeyOf(const TestRecord& record) const {
    ByteBuffer key;
    primary_->EncodePrimaryKey(record.data(), 7, &key);
    return key.ToString();
  }

  Randomly random;

 private:
  ColumnLayout Longer(ColumnLayout column) {
    if (column.type != ColumnType::kVarchar) return column;
    column.data_bytes_max += static_cast<uint32_t>(1 + random.Below(300));
    column.length_bytes = column.data_bytes_max < 256 ? 1 : 2;
    column.pack_length = column.length_bytes + column.data_bytes_max;
    return column;
  }

  void Drop(const ColumnLayout& column) {
    history_.dropped.push_back({.column_id = column.column_id, .type = column.type, .nullable = column.nullable,
                                .pack_length = column.pack_length});
    std::erase_if(history_.initial_values, [&](const InitialValue& v) { return v.column_id == column.column_id; });
  }

  void AddColumns(uint64_t count, std::vector<ColumnLayout>* columns) {
    added_.push_back(random.Layout(count));
    TestRecord defaults(added_.back());
    random.Fill(added_.back(), &defaults);
    for (ColumnLayout& column : added_.back().columns) {
      column.column_id = next_id_++;
      if (column.stored) history_.initial_values.push_back(InitialValueIn(column, defaults.data()));
      columns->push_back(column);
    }
  }

  // Gives the columns places in a new record.
  void Lay(std::vector<ColumnLayout> columns) {
    RecordLayout layout;
    layout.null_bytes = static_cast<uint32_t>((columns.size() + 7) / 8);
    layout.record_bytes = layout.null_bytes;
    uint32_t bit = 0;
    for (ColumnLayout& column : columns) {
      column.null_offset = bit / 8;
      column.null_mask = column.nullable ? static_cast<uint8_t>(1 << (bit % 8)) : 0;
      bit += column.nullable;
      column.offset = layout.record_bytes;
      layout.record_bytes += column.pack_length;
    }
    layout.columns = std::move(columns);
    layouts_.push_back(std::move(layout));
  }

  void MakeCodec() {
    ASSERT_TRUE(IsSound(history_, layout()));
    primary_ = std::make_unique<IndexCodec>(IndexCodec::Primary(layout(), IndexId(9), key_));
    codec_ = std::make_unique<RowCodec>(layout(), *primary_, version_, std::make_shared<const RowHistory>(history_));
  }

  std::deque<RecordLayout> layouts_;
  std::deque<RecordLayout> added_;
  std::vector<KeyPart> key_;
  RowHistory history_;
  uint32_t next_id_ = 1;
  uint32_t version_ = 1;
  std::unique_ptr<IndexCodec> primary_;
  std::unique_ptr<RowCodec> codec_;
};

struct OldRow {
  TestRecord record;
  const RecordLayout* layout;
  std::string key, row;
};

OldRow WriteRow(AlteredTable* table) {
  OldRow old{TestRecord(table->layout()), &table->layout(), {}, {}};
  table->random.Fill(table->layout(), &old.record);
  old.key = table->KeyOf(old.record);
  ByteBuffer row;
  table->codec().Encode(old.record.data(), &row);
  old.row = row.ToString();
  return old;
}

// What column number `at` of the present table must be in a row: the value as in a row, or "NULL".
std::string Expected(const AlteredTable& table, const OldRow& old, size_t at) {
  const uint32_t id = table.layout().columns[at].column_id;
  const auto text = [](const InitialValue& value) { return value.is_null ? std::string("NULL") : "=" + value.value; };
  for (const ColumnLayout& column : old.layout->columns) {
    if (column.column_id == id) return text(InitialValueIn(column, old.record.data()));
  }
  for (const InitialValue& value : table.history().initial_values) {
    if (value.column_id == id) return text(value);
  }
  return "unknown";
}

std::string Found(const AlteredTable& table, const TestRecord& record, size_t at) {
  const InitialValue value = InitialValueIn(table.layout().columns[at], record.data());
  return value.is_null ? "NULL" : "=" + value.value;
}

TEST(RowHistory, RowsOfEachVersionHaveTheirValuesAndNothingElseIsTouched) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AlteredTable table(seed);
    std::vector<OldRow> rows;
    for (unsigned step = 0; step < 6; ++step) {
      for (unsigned count = 0; count < 3; ++count) rows.push_back(WriteRow(&table));
      ColumnSet wanted(table.layout().columns.size());
      for (size_t column = 0; column < wanted.column_count(); ++column) {
        if (!table.random.OneIn(3)) wanted.Add(column);
      }
      const DecodePlan plan = table.codec().Plan(wanted);
      for (const OldRow& old : rows) {
        TestRecord before(table.layout());
        table.random.Fill(table.layout(), &before);
        TestRecord back = before;
        const Status status = table.codec().Decode(plan, old.key, old.row, back.data());
        ASSERT_TRUE(status.ok()) << status.ToString();
        for (size_t column = 0; column < wanted.column_count(); ++column) {
          if (!wanted.Has(column) || !table.layout().columns[column].stored) {
            ASSERT_TRUE(back.SameAs(before, column)) << column;
          } else {
            ASSERT_EQ(Found(table, back, column), Expected(table, old, column)) << column;
          }
        }
      }
      table.Alter();
    }
  }
}

TEST(RowHistory, AnUpdatedRowIsOfTheNewestVersionAndTheSame) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AlteredTable table(seed);
    const OldRow old = WriteRow(&table);
    table.Alter();
    table.Alter();
    TestRecord back(table.layout()), again(table.layout());
    const DecodePlan plan = table.codec().Plan(ColumnSet::All(table.layout().columns.size()));
    ASSERT_TRUE(table.codec().Decode(plan, old.key, old.row, back.data()).ok());
    ByteBuffer row;
    table.codec().Encode(back.data(), &row);
    EXPECT_EQ(row.data()[0], 3);
    EXPECT_EQ(table.KeyOf(back), old.key);
    ASSERT_TRUE(table.codec().Decode(plan, old.key, row.view(), again.data()).ok());
    for (size_t column = 0; column < table.layout().columns.size(); ++column) {
      if (!table.layout().columns[column].stored) continue;
      EXPECT_EQ(Found(table, again, column), Found(table, back, column));
    }
  }
}

TEST(RowHistory, DamagedRowsOfEarlierVersionsAreCorruptionOrACleanAnswer) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AlteredTable table(seed);
    const OldRow old = WriteRow(&table);
    table.Alter();
    const DecodePlan plan = table.codec().Plan(ColumnSet::All(table.layout().columns.size()));
    const auto is_corrupt = [&](const std::string& row) {
      const std::unique_ptr<char[]> copy(new char[row.size()]);
      std::copy(row.begin(), row.end(), copy.get());
      TestRecord back(table.layout());
      const Status status = table.codec().Decode(plan, old.key, ByteView(copy.get(), row.size()), back.data());
      EXPECT_TRUE(status.ok() || status.Is(Status::Code::kCorruption));
      return !status.ok();
    };
    for (size_t size = 0; size < old.row.size(); ++size) is_corrupt(old.row.substr(0, size));
    for (unsigned flip = 0; flip < 100; ++flip) {
      std::string row = old.row;
      row[table.random.Below(row.size())] ^= static_cast<char>(1 << table.random.Below(8));
      is_corrupt(row);
    }
    for (const char* version : {"\x00", "\x03", "\x7f", "\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\xff"}) {
      std::string row(version, std::max<size_t>(1, std::string(version).size()));
      EXPECT_TRUE(is_corrupt(row + old.row.substr(1)));
    }
  }
}

TEST(RowHistory, HistoriesThatForgetAColumnAreNotSound) {
  LayoutBuilder builder;
  builder.Add(ColumnType::kInteger, 4, false).Add(ColumnType::kVarchar, 3, true);
  const RecordLayout& layout = builder.layout();
  const InitialValue fits{.column_id = 2, .is_null = false, .value = "abc"};
  const auto null_of = [](uint32_t id) { return InitialValue{.column_id = id, .is_null = true, .value = {}}; };
  EXPECT_TRUE(IsSound({}, layout));
  EXPECT_TRUE(IsSound({.versions = {{1}}, .dropped = {}, .initial_values = {fits}}, layout));
  EXPECT_FALSE(IsSound({.versions = {{1}}, .dropped = {}, .initial_values = {}}, layout));
  EXPECT_FALSE(IsSound({.versions = {{1, 3}}, .dropped = {}, .initial_values = {fits}}, layout));
  EXPECT_FALSE(IsSound({.versions = {{1, 1}}, .dropped = {}, .initial_values = {fits}}, layout));
  EXPECT_FALSE(IsSound({.versions = {}, .dropped = {{.column_id = 1}}, .initial_values = {}}, layout));
  const auto dropped = [](ColumnType type, uint32_t bytes) {
    return RowHistory{.versions = {{1, 2, 3}}, .dropped = {{.column_id = 3, .type = type, .nullable = true, .pack_length = bytes}}, .initial_values = {}};
  };
  EXPECT_TRUE(IsSound(dropped(ColumnType::kFixedBytes, 0), layout));
  EXPECT_FALSE(IsSound(dropped(ColumnType::kInteger, 0), layout));
  EXPECT_FALSE(IsSound(dropped(ColumnType::kFixedBytes, 70'000), layout));
  EXPECT_FALSE(IsSound({.versions = {}, .dropped = {}, .initial_values = {null_of(5)}}, layout));
  EXPECT_FALSE(IsSound({.versions = {}, .dropped = {}, .initial_values = {null_of(1)}}, layout));
  const InitialValue short_int{.column_id = 1, .is_null = false, .value = "ab"};
  const InitialValue long_text{.column_id = 2, .is_null = false, .value = "abcd"};
  EXPECT_FALSE(IsSound({.versions = {}, .dropped = {}, .initial_values = {short_int}}, layout));
  EXPECT_FALSE(IsSound({.versions = {}, .dropped = {}, .initial_values = {long_text}}, layout));
}

// Each thread reads the rows from another one on, so that versions are met first by one or by several; some have plans of
// their own.
TEST(RowHistory, ThreadsThatMeetVersionsTogetherReadTheSame) {
  constexpr size_t kThreads = 4;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AlteredTable table(seed);
    std::vector<OldRow> rows;
    for (unsigned step = 0; step < 6; ++step) {
      rows.push_back(WriteRow(&table));
      table.Alter();
    }
    const ColumnSet all = ColumnSet::All(table.layout().columns.size());
    const DecodePlan shared = table.codec().Plan(all);
    std::latch all_begin(kThreads);
    const auto read = [&](size_t thread) {
      const DecodePlan plan = thread % 2 == 0 ? shared : table.codec().Plan(all);
      all_begin.arrive_and_wait();
      for (size_t count = 0; count < rows.size(); ++count) {
        const OldRow& old = rows[(count + thread / 2) % rows.size()];
        TestRecord back(table.layout());
        EXPECT_TRUE(table.codec().Decode(plan, old.key, old.row, back.data()).ok());
        for (size_t column = 0; column < table.layout().columns.size(); ++column) {
          if (!table.layout().columns[column].stored) continue;
          EXPECT_EQ(Found(table, back, column), Expected(table, old, column));
        }
      }
    };
    std::vector<std::thread> threads;
    for (size_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(read, thread);
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace cairn::codec

// SPDX-License-Identifier: GPL-2.0-only
// Makes and fills the tables.
#include "database.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

#include "base/endian.h"

namespace cairn::instructions {

using catalog::IndexKind;
using catalog::testing::MakeIndex;
using codec::ColumnType;
using codec::testing::SmallCollation;
using codec::testing::TestRecord;

namespace {

constexpr uint64_t kBatchRows = 1000;

codec::RecordLayout MakeLayout() {
  const codec::Collation* ci = SmallCollation::Named("ci");
  codec::testing::LayoutBuilder builder(kColumnCount);
  builder.Add(ColumnType::kInteger, 8, false);
  for (int column = 0; column < 4; ++column) builder.Add(ColumnType::kInteger, 4, false);
  builder.Add(ColumnType::kInteger, 8, false).Add(ColumnType::kInteger, 8, true);
  builder.Add(ColumnType::kFixedBytes, 5, false);
  builder.Add(ColumnType::kChar, 40, false, ci).Add(ColumnType::kVarchar, 200, true, ci);
  return builder.layout();
}

std::string Letters(std::mt19937_64* random, size_t count) {
  std::string text(count, '\0');
  for (char& letter : text) letter = static_cast<char>('a' + (*random)() % 26);
  return text;
}

}  // namespace

void Require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "cairn_instruction_probe: %s\n", status.ToString().c_str());
  std::exit(1);
}

// The memory holds all that is written, so that nothing is flushed while an operation is counted.
Database::Database() : environment_(store::NewMemoryEnvironment()), layout_(MakeLayout()) {
  store::StoreOptions options;
  options.directory = "/instructions";
  options.memory_bytes = uint64_t{1} << 30;
  options.environment = environment_.get();
  Require(store::Store::Open(options, &store_));
  txn::TransactionHooks hooks;
  hooks.counter_key = [](TableId table, ByteBuffer* key) {
    key->Append(ByteView("counters"));
    key->AppendBe64(table.value);
  };
  manager_ = std::make_unique<txn::TransactionManager>(*store_, txn::PointLocks::Options{}, hooks);
  transaction_ = manager_->NewTransaction();
  unique_table_ = MakeTable(1, IndexKind::kUnique);
  plain_table_ = MakeTable(2, IndexKind::kSecondary);
  Fill(*unique_table_);
  Fill(*plain_table_);
  Compact();
}

Database::~Database() {
  transaction_.reset();
  manager_.reset();
}

std::shared_ptr<catalog::TableAccess> Database::MakeTable(uint32_t id, IndexKind first_kind) const {
  catalog::TableDef def = catalog::testing::MakeDef(
      "test/t" + std::to_string(id), layout_,
      {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = kId}}, 10 * id),
       MakeIndex(first_kind, "first", {{.column = kFirst}}, 10 * id + 1),
       MakeIndex(IndexKind::kSecondary, "second", {{.column = kSecond}}, 10 * id + 2)});
  def.id = TableId(id);
  return catalog::testing::MakeAccess(std::move(def), layout_);
}

TestRecord Database::RecordOf(uint64_t id) const {
  std::mt19937_64 random(id);
  TestRecord record(layout_);
  SetId(&record, id);
  SetInt(&record, kFirst, static_cast<uint32_t>(id * 2));
  SetInt(&record, kSecond, static_cast<uint32_t>(id * 7919 % 65'536));
  SetInt(&record, kPlain, static_cast<uint32_t>(random()));
  const uint64_t big = random();
  record.Set(kBig, AsBytes(&big, sizeof big));
  record.Set(kNullable, AsBytes(&big, sizeof big));
  record.Set(kDate, "\x99\xb6\x21\x45\x67");
  record.Set(kChar, Letters(&random, 40));
  record.Set(kText, Letters(&random, 110));
  return record;
}

void Database::Fill(const catalog::TableAccess& table) {
  for (uint64_t begin = 0; begin < kRows; begin += kBatchRows) {
    store::Batch batch(*store_);
    catalog::testing::Entries entries;
    for (uint64_t id = begin; id < begin + kBatchRows; ++id) {
      catalog::testing::AddEntriesOf(table, RecordOf(id).data(), 0, &entries);
    }
    for (const auto& [key, value] : entries) batch.Put(store::Family::kData, key, value);
    Require(store_->Write(batch, store::Durability::kOs));
  }
}

void Database::ChangeRows() {
  store::Batch batch(*store_);
  catalog::testing::Entries entries;
  for (uint64_t id = 0; id < kRows; id += kChangedEvery) {
    catalog::testing::AddEntriesOf(*unique_table_, RecordOf(id).data(), 0, &entries);
  }
  for (const auto& [key, value] : entries) batch.Put(store::Family::kData, key, value);
  Require(store_->Write(batch, store::Durability::kOs));
}

void Database::Flush() { Require(store_->FlushMemtables()); }

void Database::Compact() {
  Flush();
  Require(store_->CompactRange(store::Family::kData, {}, {}));
}

void Database::Begin() {
  transaction_->Begin(txn::Isolation::kRepeatableRead);
  transaction_->StartStatement();
}

void Database::Commit() {
  transaction_->EndStatement();
  Require(transaction_->Commit(store::Durability::kOs));
}

}  // namespace cairn::instructions

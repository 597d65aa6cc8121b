// SPDX-License-Identifier: GPL-2.0-only
// The engine on a real directory: start, stop, restart, refusals, reclaiming.
#include "engine/engine.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "catalog/dictionary_keys.h"
#include "catalog/testing.h"
#include "store/file_limit_testing.h"
#include "store/store_testing.h"

namespace cairn::engine {
namespace {

using catalog::IndexKind;
using catalog::testing::MakeDef;
using catalog::testing::MakeIndex;
using Code = Status::Code;
using codec::ColumnType;
using store::Durability;
using store::Family;

// Holds up who logs a line that begins so, until it is released.
class HoldingLog final : public LogSink {
 public:
  explicit HoldingLog(std::string_view beginning) : beginning_(beginning) {}
  void Log(LogLevel, std::string_view line) override {
    if (!line.starts_with(beginning_)) return;
    held_.test_and_set();
    held_.notify_all();
    released_.wait(false);
  }
  void AwaitHeld() { held_.wait(false); }
  void Release() {
    released_.test_and_set();
    released_.notify_all();
  }

 private:
  const std::string_view beginning_;
  std::atomic_flag held_, released_;
};

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "cairn_engine_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    scratch = pattern;
    options.directory = scratch + "/store";
    options.memory_bytes = uint64_t{32} << 20;
    options.cores = 1;
    options.log = &log;
    layout = codec::testing::LayoutBuilder().Add(ColumnType::kInteger, 4, false).Add(ColumnType::kInteger, 4, true).layout();
  }
  void TearDown() override {
    engine.reset();
    std::filesystem::remove_all(scratch);
  }

  Status Start() { return Engine::Start(options, &engine); }
  void MustStart() {
    const Status status = Start();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Restart() {
    engine.reset();
    MustStart();
  }

  std::shared_ptr<catalog::Table> Create(const std::string& name, IndexKind primary = IndexKind::kPrimary) {
    const std::vector<codec::KeyPart> no_parts, first = {{.column = 0}}, second = {{.column = 1}};
    std::shared_ptr<catalog::Table> table;
    const Status status = engine->catalog().Create(
        MakeDef(name, layout,
                {MakeIndex(primary, "PRIMARY", primary == IndexKind::kPrimary ? first : no_parts),
                 MakeIndex(IndexKind::kSecondary, "k", second)}),
        1, &table);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return table;
  }
  std::shared_ptr<catalog::Table> Find(const std::string& name) {
    std::shared_ptr<catalog::Table> table;
    return engine->catalog().Find(name, &table).ok() ? table : nullptr;
  }
  std::shared_ptr<catalog::TableAccess> AccessOf(const std::shared_ptr<catalog::Table>& table) {
    std::shared_ptr<catalog::TableAccess> access;
    EXPECT_TRUE(catalog::TableAccess::Make(table, layout, &access).ok());
    return access;
  }

  // Adds rows `begin` to `end` and counts them; `name` prepares instead of committing.
  void AddRows(const std::shared_ptr<catalog::Table>& table, int begin, int end, const char* name = nullptr) {
    const auto access = AccessOf(table);
    auto transaction = engine->transactions().NewTransaction();
    transaction->Begin(txn::Isolation::kRepeatableRead);
    transaction->StartStatement();
    for (int id = begin; id < end; ++id) {
      codec::testing::TestRecord record(layout);
      record.Set(0, AsBytes(&id, 4));
      record.Set(1, AsBytes(&id, 4));
      catalog::testing::Entries entries;
      const uint64_t row_id = access->primary().has_hidden_row_id() ? table->TakeRowId() : 0;
      catalog::testing::AddEntriesOf(*access, record.data(), row_id, &entries);
      for (const auto& [key, value] : entries) ASSERT_TRUE(transaction->Put(Family::kData, key, value).ok());
    }
    transaction->AddTableCounters(table->def().id,
                                  {.row_count = end - begin, .auto_increment_next = static_cast<uint64_t>(end)});
    transaction->EndStatement();
    if (name == nullptr) {
      ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
    } else {
      ASSERT_TRUE(transaction->Prepare(name, Durability::kSync).ok());
      engine->transactions().Detach(std::move(transaction));
    }
  }
  size_t EntryCount(const catalog::TableDef& def) {
    return catalog::testing::CommittedEntries(engine->store(), def).size();
  }
  std::vector<IndexId> Dropped() {
    std::vector<IndexId> indexes;
    EXPECT_TRUE(engine->catalog().DroppedIndexes(&indexes).ok());
    return indexes;
  }

  uint64_t LogSyncs() {
    const std::vector<store::NamedNumber> numbers = engine->store().Statistics();
    return std::ranges::find(numbers, std::string("wal_synced"), &store::NamedNumber::name)->value;
  }

  // The names and contents of what a start must not touch.
  std::string Contents() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options.directory)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::ostringstream bytes;
      bytes << file.rdbuf();
      files[entry.path().filename()] = bytes.str();
    }
    std::string all;
    for (const auto& [name, bytes] : files) all += name + "\n" + bytes + "\n";
    return all;
  }

  std::string scratch;
  store::LogLines log;
  EngineOptions options;
  codec::RecordLayout layout;
  std::unique_ptr<Engine> engine;
};

TEST_F(EngineTest, SortingTakesAQuarterOfTheMemoryForHoweverManyStatements) {
  options.memory_bytes = uint64_t{64} << 20;
  MustStart();
  std::vector<bulk::SortMemory::Share> shares;
  uint64_t bytes = 0;
  do {
    shares.push_back(engine->sort_memory().Take(uint64_t{2} << 20));
    bytes += shares.back().bytes();
  } while (shares.back().bytes() != 0);
  EXPECT_EQ(bytes, options.memory_bytes / 4);
  EXPECT_EQ(shares.front().bytes(), options.memory_bytes / 8);
}

TEST_F(EngineTest, TablesRowsAndCountersSurviveARestart) {
  MustStart();
  const auto table = Create("d/t");
  AddRows(table, 0, 100);
  EXPECT_EQ(table->row_count(), 100u);
  EXPECT_EQ(table->auto_increment_next(), 100u);
  table->RaiseAutoIncrementNext(500);  // handed out, never committed
  const auto before = catalog::testing::CommittedEntries(engine->store(), table->def());
  EXPECT_EQ(before.size(), 200u);
  Restart();
  const auto again = Find("d/t");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->def(), table->def());
  EXPECT_EQ(again->row_count(), 100u);
  EXPECT_EQ(again->auto_increment_next(), 500u);
  EXPECT_EQ(catalog::testing::CommittedEntries(engine->store(), again->def()), before);
}

TEST_F(EngineTest, DroppedTablesGiveTheirKeysBack) {
  MustStart();
  const auto dropped = Create("d/dropped"), truncated = Create("d/truncated"), kept = Create("d/kept");
  for (const auto& table : {dropped, truncated, kept}) AddRows(table, 0, 500);
  ASSERT_TRUE(engine->catalog().Drop("d/dropped").ok());
  std::shared_ptr<catalog::Table> empty;
  ASSERT_TRUE(engine->catalog().Truncate("d/truncated", &empty).ok());
  AddRows(empty, 0, 3);
  EXPECT_EQ(Dropped().size(), 4u);
  engine->WakeReclaimer();
  while (!Dropped().empty()) std::this_thread::yield();
  EXPECT_EQ(EntryCount(dropped->def()), 0u);
  EXPECT_EQ(EntryCount(truncated->def()), 0u);
  EXPECT_EQ(EntryCount(empty->def()), 6u);
  EXPECT_EQ(EntryCount(kept->def()), 1000u);
  Restart();
  EXPECT_EQ(Dropped().size(), 0u);
  EXPECT_EQ(EntryCount(dropped->def()), 0u);
  EXPECT_EQ(EntryCount(kept->def()), 1000u);
}

// Deleting a large table's files may take minutes. Here it is what the reclaimer says that takes long.
TEST_F(EngineTest, WhileDroppedTablesAreReclaimedTheLogIsMadeDurable) {
  HoldingLog holding("cannot reclaim dropped tables");
  options.log = &holding;
  MustStart();
  store::Batch batch(engine->store());
  batch.Put(Family::kDictionary, catalog::KindKey(catalog::RecordKind::kDroppedIndex) + "no index", ByteView());
  EXPECT_TRUE(engine->store().Write(batch, Durability::kSync).ok());
  Restart();
  engine->WakeReclaimer();
  holding.AwaitHeld();
  const auto table = Create("d/t");
  const uint64_t before = LogSyncs();
  AddRows(table, 0, 10);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (LogSyncs() == before && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_GT(LogSyncs(), before);
  holding.Release();
  engine.reset();  // before its log
}

// As a connection drops a temporary table in the midst of a transaction.
TEST_F(EngineTest, ADroppedTableIsReclaimedOnceItsWriterHasEnded) {
  MustStart();
  const auto written = Create("d/written"), other = Create("d/other");
  AddRows(other, 0, 10);
  ByteBuffer key;
  key.AppendBe32(written->def().indexes.front().id.value);
  key.AppendBe64(1);
  auto transaction = engine->transactions().NewTransaction();
  transaction->Begin(txn::Isolation::kRepeatableRead);
  ASSERT_TRUE(transaction->Put(Family::kData, key.view(), "1").ok());
  ASSERT_TRUE(engine->catalog().Drop("d/written").ok());
  ASSERT_TRUE(engine->catalog().Drop("d/other").ok());
  engine->WakeReclaimer();
  const IndexId last = other->def().indexes.back().id;
  while (std::ranges::count(Dropped(), last) != 0) std::this_thread::yield();
  EXPECT_EQ(std::ranges::count(Dropped(), written->def().indexes.front().id), 1);
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  engine->WakeReclaimer();
  while (!Dropped().empty()) std::this_thread::yield();
  EXPECT_EQ(EntryCount(written->def()), 0u);
}

TEST_F(EngineTest, WhatWasDroppedBeforeARestartIsReclaimedAfterIt) {
  MustStart();
  const auto table = Create("d/t");
  AddRows(table, 0, 100);
  ASSERT_TRUE(engine->catalog().Drop("d/t").ok());
  Restart();
  EXPECT_EQ(Find("d/t"), nullptr);
  engine->WakeReclaimer();
  while (!Dropped().empty()) std::this_thread::yield();
  EXPECT_EQ(EntryCount(table->def()), 0u);
}

// Its file has others' rows too. What comes after it in the list is reclaimed as well.
TEST_F(EngineTest, ADamagedTableThatIsDroppedIsReclaimed) {
  MustStart();
  const auto damaged = Create("d/damaged"), kept = Create("d/kept"), other = Create("d/other");
  AddRows(damaged, 0, 5000);
  AddRows(kept, 0, 500);
  ASSERT_TRUE(engine->store().CompactRange(Family::kData, {}, {}).ok());
  AddRows(other, 0, 500);
  engine.reset();
  std::filesystem::path largest;
  for (const auto& entry : std::filesystem::directory_iterator(options.directory)) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) largest = entry.path();
  }
  ASSERT_FALSE(largest.empty());
  std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(10);  // the first block has the first table's rows
  file.write("damage", 6);
  file.close();
  MustStart();
  EXPECT_TRUE(engine->store().CompactRange(Family::kData, {}, {}).Is(Status::Code::kCorruption));
  AddRows(kept, 500, 600);
  ASSERT_TRUE(engine->catalog().Drop("d/damaged").ok());
  ASSERT_TRUE(engine->catalog().Drop("d/other").ok());
  engine->WakeReclaimer();
  while (!Dropped().empty() && log.text().find("cannot reclaim") == std::string::npos) std::this_thread::yield();
  EXPECT_EQ(Dropped().size(), 0u) << log.text();
  EXPECT_EQ(EntryCount(damaged->def()), 0u);
  EXPECT_EQ(EntryCount(other->def()), 0u);
  EXPECT_EQ(EntryCount(kept->def()), 1200u);
  EXPECT_EQ(engine->store().write_gate(), store::WriteGate::kOpen);
}

TEST_F(EngineTest, PreparedRowsAreNotOverwrittenAfterARestart) {
  MustStart();
  AddRows(Create("d/t", IndexKind::kHiddenPrimary), 0, 3, "x1");
  Restart();
  EXPECT_EQ(engine->transactions().ListPrepared(), (std::vector<std::string>{"x1"}));
  const auto table = Find("d/t");
  EXPECT_EQ(table->row_count(), 0u);
  AddRows(table, 10, 12);
  ASSERT_TRUE(engine->transactions().CommitPrepared("x1", Durability::kSync).ok());
  EXPECT_EQ(EntryCount(table->def()), 10u);
  EXPECT_EQ(table->row_count(), 5u);
  EXPECT_EQ(table->auto_increment_next(), 12u);
}

// Not who has changed nothing. Whose log comes after another's is named once that one has ended, and the logs are too many still.
TEST_F(EngineTest, WhoStaysPreparedAndKeepsTheLogsIsNamedOnce) {
  options.expert_db_options = "max_total_wal_size=1048576";
  std::atomic<int> looks = 0;
  options.on_prepared = [&looks](const std::string& name) { looks += name == "empty"; };
  options.name_text = [](ByteView name) { return "<" + std::string(name) + ">"; };
  MustStart();
  const auto table = Create("d/t", IndexKind::kHiddenPrimary);
  auto empty = engine->transactions().NewTransaction();
  empty->Begin(txn::Isolation::kRepeatableRead);
  ASSERT_TRUE(empty->Prepare("empty", Durability::kSync).ok());
  engine->transactions().Detach(std::move(empty));
  AddRows(table, 0, 3, "x1");
  const auto names = [this](const std::string& name) {
    const std::string text = log.text(), line = "until the prepared transaction <" + name + "> is committed or rolled back";
    size_t count = 0;
    for (size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) ++count;
    return count;
  };
  store::Batch batch(engine->store());
  const auto write = [&](int megabytes) {
    for (int i = 0; i < megabytes; ++i) {
      batch.Clear();
      batch.Put(Family::kData, "row", std::string(size_t{1} << 20, 'x'));
      ASSERT_TRUE(engine->store().Write(batch, Durability::kOs).ok());
    }
  };
  write(5);
  while (names("x1") == 0) std::this_thread::yield();
  AddRows(table, 10, 12, "x2");
  write(5);
  const int looks_before = looks;
  while (looks < looks_before + 4) std::this_thread::yield();
  EXPECT_EQ(names("x2"), 0u);
  ASSERT_TRUE(engine->transactions().RollbackPrepared("x1").ok());
  while (names("x2") == 0) std::this_thread::yield();
  EXPECT_EQ(names("x1"), 1u);
  EXPECT_EQ(names("empty"), 0u);
  ASSERT_TRUE(engine->transactions().RollbackPrepared("x2").ok());
  ASSERT_TRUE(engine->store().FlushMemtables().ok());
  while (engine->store().MeasureLogs().bytes > uint64_t{4} << 20) std::this_thread::yield();
  engine.reset();  // before what counts the looks
}

TEST_F(EngineTest, WhatIsPreparedIsShownAgainAndAgain) {
  std::atomic<int> shown = 0;
  options.on_prepared = [&shown](const std::string& name) { shown += name == "x1"; };
  MustStart();
  AddRows(Create("d/t"), 0, 1, "x1");
  while (shown < 2) std::this_thread::yield();
  engine.reset();
}

TEST_F(EngineTest, ASecondEngineOnTheDirectoryIsBusy) {
  MustStart();
  std::unique_ptr<Engine> second;
  const Status status = Engine::Start(options, &second);
  EXPECT_TRUE(status.Is(Code::kBusy)) << status.ToString();
  EXPECT_NE(status.message().find(options.directory), std::string::npos) << status.message();
  EXPECT_EQ(second, nullptr);
  // The first one is not disturbed, and afterwards the directory is free.
  AddRows(Create("d/t"), 0, 3);
  engine.reset();
  EXPECT_TRUE(Engine::Start(options, &second).ok());
}

TEST_F(EngineTest, ANewerStoreFormatIsRefusedAndNothingChanges) {
  MustStart();
  Create("d/t");
  engine.reset();
  std::ofstream(options.directory + "/CAIRN_FORMAT") << "cairn store format 99\n";
  const std::string before = Contents();
  const Status status = Start();
  EXPECT_TRUE(status.Is(Code::kFormatTooNew)) << status.ToString();
  EXPECT_EQ(engine, nullptr);
  EXPECT_EQ(Contents(), before);
}

TEST_F(EngineTest, ANewerDictionaryIsRefusedAndLeftAsItIs) {
  MustStart();
  const auto table = Create("d/t");
  const std::string key = catalog::KindKey(catalog::RecordKind::kFormat);
  const auto put_version = [&](store::Store& store, ByteView version) {
    store::Batch batch(store);
    batch.Put(Family::kDictionary, key, version);
    ASSERT_TRUE(store.Write(batch, Durability::kSync).ok());
  };
  put_version(engine->store(), "\x04");
  engine.reset();
  const std::string load = options.directory + "/loads/7-0.sst";  // of a record that only the newer program finds
  std::filesystem::create_directory(options.directory + "/loads");
  std::ofstream(load) << "rows";
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status status = Start();
    EXPECT_TRUE(status.Is(Code::kFormatTooNew)) << status.ToString();
    EXPECT_EQ(engine, nullptr);
    EXPECT_TRUE(std::filesystem::exists(load));
  }
  std::unique_ptr<store::Store> store;
  store::StoreOptions store_options;
  store_options.directory = options.directory;
  ASSERT_TRUE(store::Store::Open(store_options, &store).ok());
  put_version(*store, "\x01");
  store.reset();
  MustStart();
  EXPECT_EQ(Find("d/t")->def(), table->def());
}

TEST_F(EngineTest, BadOptionsAreRefusedAndLeaveNothingRunning) {
  options.expert_db_options = "no_such_option=1";
  const Status status = Start();
  EXPECT_TRUE(status.Is(Code::kInvalidArgument)) << status.ToString();
  EXPECT_EQ(engine, nullptr);
  options.expert_db_options.clear();
  MustStart();
}

TEST_F(EngineTest, ManyShortLivesLoseNothing) {
  MustStart();
  Create("d/t");
  for (int life = 0; life < 8; ++life) {
    AddRows(Find("d/t"), life * 10, life * 10 + 10);
    Restart();
    EXPECT_EQ(Find("d/t")->row_count(), static_cast<uint64_t>(life * 10 + 10));
    EXPECT_EQ(EntryCount(Find("d/t")->def()), static_cast<size_t>(life * 20 + 20));
  }
}

TEST_F(EngineTest, OfManyFilesSomeAreClosed) {
  const store::FileLimit limit(256);
  options.expert_family_options =
      "target_file_size_base=1024;compression_per_level=kNoCompression;bottommost_compression=kNoCompression;"
      "block_based_table_factory={block_size=256}";
  MustStart();
  AddRows(Create("d/one"), 0, 6000);
  ASSERT_TRUE(engine->store().CompactRange(Family::kData, {}, {}).ok());
  ASSERT_GT(std::stoi(engine->store().TextProperty(Family::kData, "rocksdb.num-files-at-level6")), 128);
  while (log.text().find("are kept open from now on") == std::string::npos) std::this_thread::yield();
  Restart();
  EXPECT_EQ(EntryCount(Find("d/one")->def()), 12'000u);
}

TEST(MemoryTest, TheDefaultIsAShareOfTheMachine) {
  const uint64_t bytes = DefaultMemoryBytes();
  const uint64_t machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  EXPECT_GE(bytes, uint64_t{32} << 20);
  EXPECT_LE(bytes, std::max(machine / 3, uint64_t{32} << 20));
  EXPECT_EQ(bytes, DefaultMemoryBytes());
}

TEST(DurabilityTest, SettingsMapToWhatTheyPromise) {
  EXPECT_EQ(DurabilityOf(FlushAtCommit::kEverySecond), Durability::kBuffered);
  EXPECT_EQ(DurabilityOf(FlushAtCommit::kSync), Durability::kSync);
  EXPECT_EQ(DurabilityOf(FlushAtCommit::kOs), Durability::kOs);
}

}  // namespace
}  // namespace cairn::engine

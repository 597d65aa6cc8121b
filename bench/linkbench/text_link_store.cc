// SPDX-License-Identifier: GPL-2.0-only
// The ten operations as SQL text.
#include <chrono>

#include "graph.h"
#include "link_store.h"
#include "sql_text.h"

namespace cairn::bench::linkbench {
namespace {

constexpr std::string_view kLinkColumns = "id1, id2, link_type, visibility, data, time, version";

SqlText& AppendKey(SqlText& sql, const LinkKey& key) {
  return sql << " WHERE id1 = " << key.id1 << " AND id2 = " << key.id2 << " AND link_type = " << key.type_id;
}

class TextLinkStore final : public LinkStore {
 public:
  TextLinkStore(Connection read, Connection write)
      : LinkStore(std::move(read), std::move(write)), read_sql_(&read_), write_sql_(&write_) {}

  bool AddLink(const LinkKey& key, std::string_view data) override;
  bool DeleteLink(const LinkKey& key) override;
  std::optional<uint64_t> CountLinks(uint64_t id1, uint64_t type_id) override;
  uint64_t MultigetLinks(uint64_t id1, uint64_t type_id, const std::vector<uint64_t>& id2s) override;
  RangeResult GetLinksList(uint64_t id1, uint64_t type_id, const Range& range) override;
  uint64_t AddNode(std::string_view data) override;
  bool UpdateNode(uint64_t id, std::string_view data) override;
  bool DeleteNode(uint64_t id) override;
  bool GetNode(uint64_t id) override;

 private:
  void IncrementCount(const LinkKey& key, std::string_view commit);
  void UpdateLinkData(const LinkKey& key, std::string_view data, uint64_t now_ms);

  SqlText read_sql_;
  SqlText write_sql_;
};

bool TextLinkStore::AddLink(const LinkKey& key, std::string_view data) {
  const uint64_t now_ms = NowMs();
  write_sql_.Clear() << "INSERT INTO linktable (" << kLinkColumns << ") VALUES (" << key.id1 << ", " << key.id2 << ", "
                     << key.type_id << ", 1, " << Literal{data} << ", " << now_ms
                     << ", 0) ON DUPLICATE KEY UPDATE visibility = VALUES(visibility)";
  // 1: inserted. 2: the link existed hidden. 0: it existed visible.
  const uint64_t affected = write_sql_.Execute().affected_rows;
  const bool existed = affected != 1;
  if (affected != 0) IncrementCount(key, existed ? "" : "; COMMIT");
  if (existed) UpdateLinkData(key, data, now_ms);
  return existed;
}

void TextLinkStore::IncrementCount(const LinkKey& key, std::string_view commit) {
  const uint64_t now_ms = NowMs();
  write_sql_.Clear() << "INSERT INTO counttable (id, link_type, count, time, version) VALUES (" << key.id1 << ", "
                     << key.type_id << ", 1, " << now_ms
                     << ", 0) ON DUPLICATE KEY UPDATE count = count + 1, version = version + 1, time = " << now_ms
                     << commit;
  write_sql_.Execute();
}

void TextLinkStore::UpdateLinkData(const LinkKey& key, std::string_view data, uint64_t now_ms) {
  write_sql_.Clear() << "UPDATE linktable SET visibility = 1, data = " << Literal{data} << ", time = " << now_ms
                     << ", version = 0";
  AppendKey(write_sql_, key) << "; COMMIT";
  write_sql_.Execute();
}

bool TextLinkStore::DeleteLink(const LinkKey& key) {
  bool visible = false;
  write_sql_.Clear() << "SELECT visibility FROM linktable";
  AppendKey(write_sql_, key) << " FOR UPDATE";
  write_sql_.Query([&](Connection::Row row) { visible = row[0] == "1"; });
  if (visible) {
    write_sql_.Clear() << "UPDATE linktable SET visibility = 0";
    AppendKey(write_sql_, key).Execute();
    const uint64_t now_ms = NowMs();
    write_sql_.Clear() << "INSERT INTO counttable (id, link_type, count, time, version) VALUES (" << key.id1 << ", "
                       << key.type_id << ", 0, " << now_ms
                       << ", 0) ON DUPLICATE KEY UPDATE count = IF(count = 0, 0, count - 1), time = " << now_ms
                       << ", version = version + 1";
    write_sql_.Execute();
  }
  write_.Execute("COMMIT");
  return visible;
}

std::optional<uint64_t> TextLinkStore::CountLinks(uint64_t id1, uint64_t type_id) {
  std::optional<uint64_t> count;
  read_sql_.Clear() << "SELECT count FROM counttable WHERE id = " << id1 << " AND link_type = " << type_id;
  read_sql_.Query([&](Connection::Row row) { count = ParseNumber(row[0]); });
  return count;
}

uint64_t TextLinkStore::MultigetLinks(uint64_t id1, uint64_t type_id, const std::vector<uint64_t>& id2s) {
  read_sql_.Clear() << "SELECT " << kLinkColumns << " FROM linktable WHERE id1 = " << id1
                    << " AND link_type = " << type_id << " AND id2 IN (";
  for (size_t i = 0; i < id2s.size(); ++i) read_sql_ << (i == 0 ? "" : ", ") << id2s[i];
  read_sql_ << ")";
  return read_sql_.Query([](Connection::Row) {});
}

LinkStore::RangeResult TextLinkStore::GetLinksList(uint64_t id1, uint64_t type_id, const Range& range) {
  read_sql_.Clear() << "SELECT " << kLinkColumns << " FROM linktable FORCE INDEX(id1_type) WHERE id1 = " << id1
                    << " AND link_type = " << type_id << " AND time >= 0 AND time <= " << range.time_ms_max
                    << " AND visibility = 1 ORDER BY time DESC LIMIT " << range.skip_rows << ", " << kRangeRowsMax;
  RangeResult result;
  result.rows = read_sql_.Query([&](Connection::Row row) { result.last_time_ms = ParseNumber(row[5]); });
  return result;
}

uint64_t TextLinkStore::AddNode(std::string_view data) {
  write_sql_.Clear() << "INSERT INTO nodetable (type, version, time, data) VALUES (" << kNodeType << ", 1, "
                     << NowSeconds() << ", " << Literal{data} << "); COMMIT";
  return write_sql_.Execute().insert_id;
}

bool TextLinkStore::UpdateNode(uint64_t id, std::string_view data) {
  write_sql_.Clear() << "UPDATE nodetable SET version = 2, time = " << NowSeconds() << ", data = " << Literal{data}
                     << " WHERE id = " << id << " AND type = " << kNodeType << "; COMMIT";
  return write_sql_.Execute().affected_rows != 0;
}

bool TextLinkStore::DeleteNode(uint64_t id) {
  write_sql_.Clear() << "DELETE FROM nodetable WHERE id = " << id << " AND type = " << kNodeType << "; COMMIT";
  return write_sql_.Execute().affected_rows != 0;
}

bool TextLinkStore::GetNode(uint64_t id) {
  read_sql_.Clear() << "SELECT id, type, version, time, data FROM nodetable WHERE id = " << id;
  return read_sql_.Query([](Connection::Row) {}) != 0;
}

}  // namespace

std::unique_ptr<LinkStore> MakeTextLinkStore(Connection read, Connection write) {
  return std::make_unique<TextLinkStore>(std::move(read), std::move(write));
}

uint64_t NowMs() {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  return static_cast<uint64_t>(
      duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
}

uint64_t NowSeconds() { return NowMs() / 1000; }

}  // namespace cairn::bench::linkbench

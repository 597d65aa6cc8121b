// SPDX-License-Identifier: GPL-2.0-only
// The ten operations as prepared statements.
#include <map>

#include "graph.h"
#include "link_store.h"
#include "prepared_statement.h"

namespace cairn::bench::linkbench {
namespace {

#define LINK_COLUMNS "id1, id2, link_type, visibility, data, time, version"
#define LINK_KEY " WHERE id1 = ? AND id2 = ? AND link_type = ?"

class PreparedLinkStore final : public LinkStore {
 public:
  PreparedLinkStore(Connection read, Connection write) : LinkStore(std::move(read), std::move(write)) {}

  bool AddLink(const LinkKey& key, std::string_view data) override {
    const uint64_t now_ms = NowMs();
    const uint64_t affected =
        insert_link_.Execute({key.id1, key.id2, key.type_id, data, now_ms}).affected_rows;
    const bool existed = affected != 1;
    if (affected != 0) increment_count_.Execute({key.id1, key.type_id, now_ms, now_ms});
    if (existed) update_link_.Execute({data, now_ms, key.id1, key.id2, key.type_id});
    write_.Execute("COMMIT");
    return existed;
  }

  bool DeleteLink(const LinkKey& key) override {
    bool visible = false;
    lock_link_.Query({key.id1, key.id2, key.type_id}, [&] { visible = lock_link_.Number(0) == 1; });
    if (visible) {
      hide_link_.Execute({key.id1, key.id2, key.type_id});
      const uint64_t now_ms = NowMs();
      decrement_count_.Execute({key.id1, key.type_id, now_ms, now_ms});
    }
    write_.Execute("COMMIT");
    return visible;
  }

  std::optional<uint64_t> CountLinks(uint64_t id1, uint64_t type_id) override {
    std::optional<uint64_t> count;
    get_count_.Query({id1, type_id}, [&] { count = get_count_.Number(0); });
    return count;
  }

  uint64_t MultigetLinks(uint64_t id1, uint64_t type_id, const std::vector<uint64_t>& id2s) override {
    std::vector<Parameter> parameters = {id1, type_id};
    parameters.insert(parameters.end(), id2s.begin(), id2s.end());
    return MultigetStatement(id2s.size()).Query(parameters, [] {});
  }

  RangeResult GetLinksList(uint64_t id1, uint64_t type_id, const Range& range) override {
    constexpr size_t kTimeColumn = 5;
    RangeResult result;
    result.rows = get_list_.Query({id1, type_id, range.time_ms_max, range.skip_rows, kRangeRowsMax},
                                  [&] { result.last_time_ms = get_list_.Number(kTimeColumn); });
    return result;
  }

  uint64_t AddNode(std::string_view data) override {
    const uint64_t id = insert_node_.Execute({kNodeType, NowSeconds(), data}).insert_id;
    write_.Execute("COMMIT");
    return id;
  }

  bool UpdateNode(uint64_t id, std::string_view data) override {
    const uint64_t affected = update_node_.Execute({NowSeconds(), data, id, kNodeType}).affected_rows;
    write_.Execute("COMMIT");
    return affected != 0;
  }

  bool DeleteNode(uint64_t id) override {
    const uint64_t affected = delete_node_.Execute({id, kNodeType}).affected_rows;
    write_.Execute("COMMIT");
    return affected != 0;
  }

  bool GetNode(uint64_t id) override { return get_node_.Query({id}, [] {}) != 0; }

 private:
  // Each length of the list is a statement of its own.
  PreparedStatement& MultigetStatement(size_t length) {
    const auto found = multiget_.find(length);
    if (found != multiget_.end()) return found->second;
    std::string sql = "SELECT " LINK_COLUMNS " FROM linktable WHERE id1 = ? AND link_type = ? AND id2 IN (";
    for (size_t i = 0; i < length; ++i) sql += i == 0 ? "?" : ", ?";
    return multiget_.try_emplace(length, &read_, sql + ")").first->second;
  }

  PreparedStatement insert_link_{&write_, "INSERT INTO linktable (" LINK_COLUMNS
                                          ") VALUES (?, ?, ?, 1, ?, ?, 0)"
                                          " ON DUPLICATE KEY UPDATE visibility = VALUES(visibility)"};
  PreparedStatement increment_count_{
      &write_,
      "INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, 1, ?, 0)"
      " ON DUPLICATE KEY UPDATE count = count + 1, version = version + 1, time = ?"};
  PreparedStatement update_link_{
      &write_, "UPDATE linktable SET visibility = 1, data = ?, time = ?, version = 0" LINK_KEY};
  PreparedStatement lock_link_{&write_, "SELECT visibility FROM linktable" LINK_KEY " FOR UPDATE"};
  PreparedStatement hide_link_{&write_, "UPDATE linktable SET visibility = 0" LINK_KEY};
  PreparedStatement decrement_count_{
      &write_,
      "INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, 0, ?, 0)"
      " ON DUPLICATE KEY UPDATE count = IF(count = 0, 0, count - 1), time = ?, version = version + 1"};
  PreparedStatement get_count_{&read_, "SELECT count FROM counttable WHERE id = ? AND link_type = ?"};
  PreparedStatement get_list_{
      &read_,
      "SELECT " LINK_COLUMNS " FROM linktable FORCE INDEX(id1_type) WHERE id1 = ? AND link_type = ?"
      " AND time >= 0 AND time <= ? AND visibility = 1 ORDER BY time DESC LIMIT ?, ?"};
  PreparedStatement insert_node_{&write_, "INSERT INTO nodetable (type, version, time, data) VALUES (?, 1, ?, ?)"};
  PreparedStatement update_node_{
      &write_, "UPDATE nodetable SET version = 2, time = ?, data = ? WHERE id = ? AND type = ?"};
  PreparedStatement delete_node_{&write_, "DELETE FROM nodetable WHERE id = ? AND type = ?"};
  PreparedStatement get_node_{&read_, "SELECT id, type, version, time, data FROM nodetable WHERE id = ?"};
  std::map<size_t, PreparedStatement> multiget_;
};

#undef LINK_COLUMNS
#undef LINK_KEY

}  // namespace

std::unique_ptr<LinkStore> MakePreparedLinkStore(Connection read, Connection write) {
  return std::make_unique<PreparedLinkStore>(std::move(read), std::move(write));
}

}  // namespace cairn::bench::linkbench

// SPDX-License-Identifier: GPL-2.0-only
// The ten operations as SQL.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "connection.h"
#include "sql_text.h"

namespace cairn::linkbench {

// The primary key of a link.
struct LinkKey {
  uint64_t id1;
  uint64_t type_id;
  uint64_t id2;
};

// Statement texts, round trips and transaction borders are those of Facebook's client: SQL strings over
// the text protocol, a commit sent in the packet of a transaction's last statement, reads on a connection
// with autocommit, writes on one without.
//
// Every call may throw SqlError; WithRetries() on write_connection() then gives what the original does.
//
// Thread rule: one thread.
class LinkStore {
 public:
  LinkStore(Connection read, Connection write);
  LinkStore(const LinkStore&) = delete;
  LinkStore& operator=(const LinkStore&) = delete;

  Connection& write_connection() { return write_; }

  // ADD_LINK and UPDATE_LINK, which are one operation in the original: makes the link visible with this
  // data and keeps the count. True if a row for the key existed.
  bool AddLink(const LinkKey& key, std::string_view data);

  // DELETE_LINK: hides the link and keeps the count. True if it was visible.
  bool DeleteLink(const LinkKey& key);

  // COUNT_LINK: nothing if there is no count row.
  std::optional<uint64_t> CountLinks(uint64_t id1, uint64_t type_id);

  // MULTIGET_LINK: the number of links found.
  uint64_t MultigetLinks(uint64_t id1, uint64_t type_id, const std::vector<uint64_t>& id2s);

  // GET_LINKS_LIST: visible links, newest first.
  static constexpr uint64_t kRangeRowsMax = 10'000;
  struct Range {
    uint64_t time_ms_max = INT64_MAX;
    uint64_t skip_rows = 0;
  };
  struct RangeResult {
    uint64_t rows = 0;
    uint64_t last_time_ms = 0;
  };
  RangeResult GetLinksList(uint64_t id1, uint64_t type_id, const Range& range);

  // ADD_NODE: the generated id.
  uint64_t AddNode(std::string_view data);
  // The rest: true if the node existed.
  bool UpdateNode(uint64_t id, std::string_view data);
  bool DeleteNode(uint64_t id);
  bool GetNode(uint64_t id);

 private:
  void ChangeCount(const LinkKey& key, bool commit);
  void UpdateLinkData(const LinkKey& key, std::string_view data, uint64_t now_ms);

  Connection read_;
  Connection write_;
  SqlText read_sql_;
  SqlText write_sql_;
};

// Milliseconds and seconds since 1970.
uint64_t NowMs();
uint64_t NowSeconds();

}  // namespace cairn::linkbench

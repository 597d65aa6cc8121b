// SPDX-License-Identifier: GPL-2.0-only
// The ten operations on the tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "connection.h"

namespace cairn::bench::linkbench {

// The primary key of a link.
struct LinkKey {
  uint64_t id1;
  uint64_t type_id;
  uint64_t id2;
};

// Reads run on a connection with autocommit, writes on one without; each call is one transaction.
//
// Every call may throw SqlError; WithRetries() on write_connection() then gives what the original does.
//
// Thread rule: one thread.
class LinkStore {
 public:
  LinkStore(Connection read, Connection write) : read_(std::move(read)), write_(std::move(write)) {}
  virtual ~LinkStore() = default;
  LinkStore(const LinkStore&) = delete;
  LinkStore& operator=(const LinkStore&) = delete;

  Connection& write_connection() { return write_; }

  // ADD_LINK and UPDATE_LINK, which are one operation in the original: makes the link visible with this
  // data and keeps the count. True if a row for the key existed.
  virtual bool AddLink(const LinkKey& key, std::string_view data) = 0;

  // DELETE_LINK: hides the link and keeps the count. True if it was visible.
  virtual bool DeleteLink(const LinkKey& key) = 0;

  // COUNT_LINK: nothing if there is no count row.
  virtual std::optional<uint64_t> CountLinks(uint64_t id1, uint64_t type_id) = 0;

  // MULTIGET_LINK: the number of links found.
  virtual uint64_t MultigetLinks(uint64_t id1, uint64_t type_id, const std::vector<uint64_t>& id2s) = 0;

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
  virtual RangeResult GetLinksList(uint64_t id1, uint64_t type_id, const Range& range) = 0;

  // ADD_NODE: the generated id.
  virtual uint64_t AddNode(std::string_view data) = 0;
  // The rest: true if the node existed.
  virtual bool UpdateNode(uint64_t id, std::string_view data) = 0;
  virtual bool DeleteNode(uint64_t id) = 0;
  virtual bool GetNode(uint64_t id) = 0;

 protected:
  Connection read_;
  Connection write_;
};

// Statement texts, round trips and transaction borders are those of Facebook's client: SQL strings over
// the text protocol, a commit sent in the packet of a transaction's last statement.
std::unique_ptr<LinkStore> MakeTextLinkStore(Connection read, Connection write);

// The same statements, prepared once for each connection: the server parses less, but every commit is a
// round trip of its own.
std::unique_ptr<LinkStore> MakePreparedLinkStore(Connection read, Connection write);

// Milliseconds and seconds since 1970.
uint64_t NowMs();
uint64_t NowSeconds();

}  // namespace cairn::bench::linkbench

// SPDX-License-Identifier: GPL-2.0-only
// Foreign keys bound to the tables they are between, ready to be checked.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/foreign_key_fit.h"
#include "catalog/plain_layout.h"
#include "codec/row_codec.h"
#include "dml/row_writer.h"

namespace cairn::foreign {

struct Link;

// A table that foreign keys lead to. Its records are in the plain layout of `access`.
struct Node {
  std::string name;
  std::shared_ptr<catalog::Table> table;         // null: there is none of the name
  std::shared_ptr<catalog::TableAccess> access;  // likewise
  std::optional<codec::DecodePlan> plan;         // of all columns
  bool has_index_on_virtual_column = false;
  dml::RowWriter writer;
  uint64_t writer_statement = 0;  // for which statement the writer is bound

  // Made when they are first asked for.
  std::optional<std::vector<Link*>> as_child;
  std::optional<std::vector<Link*>> as_parent;
};

// A foreign key between two nodes.
struct Link {
  catalog::ForeignKeyPtr key;
  Node* child = nullptr;
  Node* parent = nullptr;
  // Both tables are there, with indexes and columns that fit. Otherwise no row of the parent can be found.
  bool is_whole = false;
  catalog::ForeignKeyPlace in_child;
  catalog::ForeignKeyPlace in_parent;
};

// The tables that can be reached from one, by name, with what was made of their definitions. Kept from
// statement to statement as long as nobody has changed any of them.
//
// Thread rule: one thread. Pointers are valid until Refresh().
class Relations {
 public:
  Relations(catalog::Catalog* catalog, catalog::CollationById collation_by_id)
      : catalog_(catalog), collation_by_id_(std::move(collation_by_id)) {}

  // When a statement begins: forgets what is out of date. The caller keeps definitions from changing until
  // it ends.
  Status Refresh();
  // Before the store is closed, and when a table is.
  void Clear();
  // Gives back what writers have pinned.
  void ResetWriters() {
    for (auto& [name, node] : nodes_) node->writer.Reset();
  }

  Status NodeOf(const std::string& name, Node** node);
  // The keys in which the table is the child, in the order of their names, and those in which it is the parent, in that of its indexes which
  // they refer to, and then of their names. InnoDB has the same: where one key would remove a child and another keep it, the first decides.
  Status LinksAsChild(Node* node, const std::vector<Link*>** links);
  Status LinksAsParent(Node* node, const std::vector<Link*>** links);

 private:
  // Whether all is as it was made, with `keys` the catalog's now.
  Status IsCurrent(const catalog::ForeignKeySet* keys, bool* current);
  Status LinkOf(const catalog::ForeignKeyPtr& key, Link** link);
  // Of those keys; made when they are asked for first.
  Status LinksOf(const std::vector<catalog::ForeignKeyPtr>& keys, std::optional<std::vector<Link*>>* made,
                 const std::vector<Link*>** links);

  catalog::Catalog* const catalog_;
  const catalog::CollationById collation_by_id_;
  uint64_t version_ = 0;  // of the catalog's definitions
  std::shared_ptr<const catalog::ForeignKeySet> keys_ = std::make_shared<const catalog::ForeignKeySet>();
  std::unordered_map<std::string, std::unique_ptr<Node>> nodes_;
  std::unordered_map<const catalog::ForeignKeyDef*, std::unique_ptr<Link>> links_;
};

// Which tables a change of rows of one may lead to, for their definitions to be held in place.
struct AffectedTables {
  std::set<std::string> read;     // looked into
  std::set<std::string> written;  // rows may change; not in `read`
};

// `only_insert`: rows of `table` are added, none removed or changed.
AffectedTables TablesAffectedBy(const catalog::ForeignKeySet& keys, const std::string& table, bool only_insert);

}  // namespace cairn::foreign

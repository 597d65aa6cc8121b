// SPDX-License-Identifier: GPL-2.0-only
// Binding of foreign keys to tables.
#include "foreign/relations.h"

#include <algorithm>
#include <cstdint>

namespace cairn::foreign {

using catalog::ForeignKeyFault;
using catalog::ForeignKeyPtr;

namespace {

void Visit(const catalog::ForeignKeySet& keys, const std::string& table, AffectedTables* affected) {
  if (!affected->written.insert(table).second) return;
  for (const ForeignKeyPtr& key : keys.OfChild(table)) affected->read.insert(key->parent);
  for (const ForeignKeyPtr& key : keys.OfParent(table)) {
    if (catalog::ChangesChild(key->on_delete) || catalog::ChangesChild(key->on_update)) {
      Visit(keys, key->child, affected);
    } else {
      affected->read.insert(key->child);
    }
  }
}

}  // namespace

AffectedTables TablesAffectedBy(const catalog::ForeignKeySet& keys, const std::string& table, bool only_insert) {
  AffectedTables affected;
  if (only_insert) {
    affected.written.insert(table);
    for (const ForeignKeyPtr& key : keys.OfChild(table)) affected.read.insert(key->parent);
  } else {
    Visit(keys, table, &affected);
  }
  for (const std::string& name : affected.written) affected.read.erase(name);
  return affected;
}

void Relations::Clear() {
  links_.clear();
  nodes_.clear();
  version_ = 0;
}

// Other tables than these may have changed, or have only been loaded.
Status Relations::IsCurrent(const catalog::ForeignKeySet* keys, bool* current) {
  *current = keys_.get() == keys;
  for (auto at = nodes_.begin(); *current && at != nodes_.end(); ++at) {
    std::shared_ptr<catalog::Table> now;
    Status status = catalog_->Find(at->first, &now);
    if (!status.ok() && !status.Is(Status::Code::kNotFound)) return status;
    *current = now == at->second->table;
  }
  return Status::Ok();
}

Status Relations::Refresh() {
  const uint64_t version = catalog_->definitions_version();
  if (version == version_) return Status::Ok();
  // Asked for once: of those that come after the look at the nodes nothing would be known there.
  std::shared_ptr<const catalog::ForeignKeySet> keys = catalog_->foreign_keys();
  bool current;
  CAIRN_RETURN_IF_ERROR(IsCurrent(keys.get(), &current));
  if (!current) Clear();
  keys_ = std::move(keys);
  version_ = version;
  return Status::Ok();
}

Status Relations::NodeOf(const std::string& name, Node** node) {
  if (const auto found = nodes_.find(name); found != nodes_.end()) {
    *node = found->second.get();
    return Status::Ok();
  }
  auto made = std::make_unique<Node>();
  made->name = name;
  Status status = catalog_->Find(name, &made->table);
  if (status.ok()) {
    CAIRN_RETURN_IF_ERROR(catalog::PlainAccessOf(made->table, collation_by_id_, &made->access));
    made->plan.emplace(made->access->rows().Plan(codec::ColumnSet::All(made->access->layout().columns.size())));
    made->has_index_on_virtual_column = made->access->HasIndexOnVirtualColumn();
  } else if (!status.Is(Status::Code::kNotFound)) {
    return status;
  }
  *node = made.get();
  nodes_.emplace(name, std::move(made));
  return Status::Ok();
}

Status Relations::LinkOf(const ForeignKeyPtr& key, Link** link) {
  if (const auto found = links_.find(key.get()); found != links_.end()) {
    *link = found->second.get();
    return Status::Ok();
  }
  auto made = std::make_unique<Link>();
  made->key = key;
  CAIRN_RETURN_IF_ERROR(NodeOf(key->child, &made->child));
  CAIRN_RETURN_IF_ERROR(NodeOf(key->parent, &made->parent));
  if (made->child->table != nullptr && made->parent->table != nullptr) {
    const catalog::TableDef& child = made->child->table->def();
    const catalog::TableDef& parent = made->parent->table->def();
    size_t wrong;
    made->is_whole =
        catalog::FitToChild(*key, child, &made->in_child, &wrong) == ForeignKeyFault::kNone &&
        catalog::PlaceForeignKey(parent, key->parent_columns, &made->in_parent, &wrong) == ForeignKeyFault::kNone &&
        catalog::FitTogether(child, made->in_child, parent, made->in_parent, collation_by_id_, &wrong) ==
            ForeignKeyFault::kNone;
  }
  // The child's place counts also while there is no parent.
  if (made->child->table != nullptr && !made->is_whole) {
    size_t wrong;
    (void)catalog::PlaceForeignKey(made->child->table->def(), key->child_columns, &made->in_child, &wrong);
  }
  *link = made.get();
  links_.emplace(key.get(), std::move(made));
  return Status::Ok();
}

Status Relations::LinksOf(const std::vector<ForeignKeyPtr>& keys, std::optional<std::vector<Link*>>* made,
                          const std::vector<Link*>** links) {
  if (!made->has_value()) {
    std::vector<Link*> found;
    for (const ForeignKeyPtr& key : keys) CAIRN_RETURN_IF_ERROR(LinkOf(key, &found.emplace_back()));
    *made = std::move(found);
  }
  *links = &**made;
  return Status::Ok();
}

Status Relations::LinksAsChild(Node* node, const std::vector<Link*>** links) {
  return LinksOf(keys_->OfChild(node->name), &node->as_child, links);
}

Status Relations::LinksAsParent(Node* node, const std::vector<Link*>** links) {
  const bool is_made = node->as_parent.has_value();
  CAIRN_RETURN_IF_ERROR(LinksOf(keys_->OfParent(node->name), &node->as_parent, links));
  if (!is_made) {
    const auto index_of = [](const Link* link) { return link->is_whole ? link->in_parent.index : SIZE_MAX; };
    std::stable_sort(node->as_parent->begin(), node->as_parent->end(),
                     [&](const Link* a, const Link* b) { return index_of(a) < index_of(b); });
  }
  return Status::Ok();
}

}  // namespace cairn::foreign

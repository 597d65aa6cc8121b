// SPDX-License-Identifier: GPL-2.0-only
// Statements' borders, and the search for parents. What happens to children: cascade.cc.
#include "foreign/referee.h"

#include <algorithm>

#include "codec/value_copy.h"
#include "scan/index_scan.h"

namespace cairn::foreign {

using catalog::ForeignKeyPtr;

Status Referee::Begin(const Use& use) {
  End();
  CAIRN_RETURN_IF_ERROR(relations_.Refresh());
  use_ = use;
  ++statement_;
  failure_ = {};
  updating_.clear();
  CAIRN_RETURN_IF_ERROR(relations_.NodeOf(use.table->def().name, &node_));
  CAIRN_RETURN_IF_ERROR(relations_.LinksAsChild(node_, &as_child_));
  static const std::vector<Link*> none;
  as_parent_ = &none;
  if (!use.only_inserts) CAIRN_RETURN_IF_ERROR(relations_.LinksAsParent(node_, &as_parent_));
  if (!use.copy_of.empty()) {
    new_links_.clear();
    for (Link* link : *as_child_) {
      // Others of the same name, also if they say the same, are new.
      const bool is_kept = std::any_of(use.kept.begin(), use.kept.end(),
                                       [&](const ForeignKeyPtr& key) { return key->name == link->key->name; });
      if (!is_kept) new_links_.push_back(link);
    }
    as_child_ = &new_links_;
  }
  delete_changes_children_ = std::any_of(as_parent_->begin(), as_parent_->end(), [](const Link* link) {
    return catalog::ChangesChild(link->key->on_delete);
  });
  return Status::Ok();
}

bool Referee::UpdateChangesChildren(const codec::ColumnSet& touched) const {
  return std::any_of(as_parent_->begin(), as_parent_->end(), [&](const Link* link) {
    return catalog::ChangesChild(link->key->on_update) && link->is_whole && Touches(link->in_parent, touched);
  });
}

void Referee::End() {
  reader_.Reset();
  // All that were bound for this statement.
  if (node_ != nullptr) relations_.ResetWriters();
  node_ = nullptr;
  use_ = {};
}

void Referee::Close() {
  End();
  relations_.Clear();
}

Status Referee::Fail(Status::Code code, const Link& link) {
  failure_.key = link.key;
  return Status::Of(code);
}

scan::ReadMode Referee::LockingMode(txn::LockMode mode) const {
  scan::ReadMode read;
  read.locking = true;
  // Also at READ COMMITTED: who looks for a row must see those that are not committed.
  read.ranges = true;
  read.lock = use_.lock;
  read.lock.mode = mode;
  read.lock.wait = txn::LockWait::kWait;
  return read;
}

bool Referee::Touches(const catalog::ForeignKeyPlace& place, const codec::ColumnSet& touched) {
  return std::any_of(place.columns.begin(), place.columns.end(), [&](uint16_t column) { return touched.Has(column); });
}

bool Referee::HasNull(const catalog::ForeignKeyPlace& place, const Row& row) {
  return std::any_of(place.columns.begin(), place.columns.end(), [&](uint16_t column) {
    return codec::IsNull(row.access->layout().columns[column], row.record);
  });
}

bool Referee::SameValues(const catalog::ForeignKeyPlace& place, const Row& a, const Row& b) {
  return std::all_of(place.columns.begin(), place.columns.end(), [&](uint16_t column) {
    return codec::SameBytes(a.access->layout().columns[column], a.record, b.record);
  });
}

// The key that a row's parent has in the parent's index. False when there can be none.
bool Referee::ParentKey(const Link& link, const Row& row, ByteBuffer* key, bool* has_null) {
  *has_null = HasNull(link.in_child, row);
  if (*has_null || !link.is_whole) return false;
  key->Clear();
  link.parent->access->indexes()[link.in_parent.index].EncodeTupleFromOther(row.access->layout(), link.in_child.columns,
                                                                           row.record, key);
  return true;
}

// Whether a row that refers to its own table is its own parent, as it will be when `parent` is written.
bool Referee::IsOwnParent(const Link& link, const Row& row, const Row& parent) {
  bool has_null;
  if (link.child != link.parent || !ParentKey(link, row, &other_key_, &has_null)) return false;
  ByteBuffer own;
  parent.access->indexes()[link.in_parent.index].EncodeTupleFromRecord(
      parent.record, static_cast<unsigned>(link.in_parent.columns.size()), &own);
  return own.view() == other_key_.view();
}

Status Referee::FindParent(const Link& link, const Row& row, ByteView except) {
  bool has_null;
  const bool possible = ParentKey(link, row, &key_, &has_null);
  if (has_null) return Status::Ok();
  if (!possible) return Fail(Status::Code::kNoReferencedRow, link);
  if (IsOwnParent(link, row, row)) return Status::Ok();
  Status status = LookForParent(link, key_.view(), except);
  return status.Is(Status::Code::kNotFound) ? Fail(Status::Code::kNoReferencedRow, link) : std::move(status);
}

Status Referee::LookForParent(const Link& link, ByteView key, ByteView except) {
  const catalog::TableAccess& parent = *link.parent->access;
  const size_t index = link.in_parent.index;
  const codec::IndexCodec& codec = parent.indexes()[index];
  reader_.Bind(store_, use_.transaction, &parent,
               use_.copy_of.empty() ? LockingMode(txn::LockMode::kShared) : scan::ReadMode::Consistent());
  scan::StoredRow row;
  if (codec.own_part_count() == link.in_parent.columns.size() && (codec.is_primary() || codec.unique())) {
    if (!except.empty()) return Status::NotFound();  // no other row has its key
    return codec.is_primary() ? reader_.ByPrimaryKey(key, &row) : reader_.ByUniqueKey(index, key, &row);
  }
  ByteBuffer upper;
  upper.Assign(key);
  if (!codec::AdvancePastPrefix(&upper)) return Status::Corruption("an index id is out of range");
  scan::IndexScan scan;
  scan.Open(&reader_, {.index = index});
  scan::FoundRow found;
  Status status = scan.First(key, upper.view(), &found);
  while (status.ok() && !except.empty() && found.row.primary_key == except) status = scan.Next(&found);
  scan.Close();
  return status;
}

// `touched` null: all columns are new.
Status Referee::FindParents(Node* node, const Row& row, const codec::ColumnSet* touched, const Link* except) {
  const std::vector<Link*>* links = as_child_;
  if (node != node_) CAIRN_RETURN_IF_ERROR(relations_.LinksAsChild(node, &links));
  for (const Link* link : *links) {
    if (link == except || (touched != nullptr && !Touches(link->in_child, *touched))) continue;
    CAIRN_RETURN_IF_ERROR(FindParent(*link, row));
  }
  return Status::Ok();
}

Status Referee::BeforeInsert(const dml::RowRef& row) { return FindParents(node_, RowOf(row.record), nullptr, nullptr); }

Status Referee::BeforeUpdate(const dml::RowRef& old_row, const dml::RowRef& new_row, const codec::ColumnSet& touched) {
  const Row old_one = RowOf(old_row.record), new_one = RowOf(new_row.record);
  for (const Link* link : *as_child_) {
    // What stays is not looked for, not even when no parent can be found: the row may be older than that.
    if (!Touches(link->in_child, touched) || SameValues(link->in_child, old_one, new_one)) continue;
    bool old_has_null, new_has_null;
    const bool had = ParentKey(*link, old_one, &other_key_, &old_has_null);
    const bool has = ParentKey(*link, new_one, &key_, &new_has_null);
    if (new_has_null || (had && has && other_key_.view() == key_.view())) continue;
    // The row as it is would be found, but is no parent any more once this is written.
    ByteBuffer itself;
    if (IsOwnParent(*link, new_one, old_one)) node_->access->primary().EncodePrimaryKey(old_row.record, old_row.hidden_row_id, &itself);
    CAIRN_RETURN_IF_ERROR(FindParent(*link, new_one, itself.view()));
  }
  // Its own row may be a child that stands in the way, before it is written.
  if (!UpdateChangesChildren(touched)) return ChildrenAfterUpdate(node_, old_one, new_one, touched, 0);
  for (const Link* link : *as_parent_) {
    if (Touches(link->in_parent, touched) && KeyChanges(*link, old_one, new_one) && IsOwnParent(*link, old_one, old_one)) {
      return Fail(Status::Code::kRowIsReferenced, *link);
    }
  }
  return Status::Ok();
}

Status Referee::BeforeDelete(const uint8_t* record) {
  return delete_changes_children_ ? NeedNotItself(node_, RowOf(record)) : ChildrenAfterDelete(node_, RowOf(record), 0);
}

Status Referee::AfterUpdate(const uint8_t* old_record, const uint8_t* new_record, const codec::ColumnSet& touched) {
  if (!UpdateChangesChildren(touched)) return Status::Ok();
  updating_.assign(1, node_);
  Status status = ChildrenAfterUpdate(node_, RowOf(old_record), RowOf(new_record), touched, 0);
  updating_.clear();
  return status;
}

Status Referee::AfterDelete(const uint8_t* record) {
  return delete_changes_children_ ? ChildrenAfterDelete(node_, RowOf(record), 0) : Status::Ok();
}

}  // namespace cairn::foreign

// SPDX-License-Identifier: GPL-2.0-only
// What becomes of children when a parent's row has gone or changed.
#include <algorithm>

#include "codec/value_copy.h"
#include "foreign/referee.h"
#include "scan/index_scan.h"

namespace cairn::foreign {

using catalog::ForeignAction;

namespace {

// Children are found in pieces, as rows are changed while no walk is under way.
constexpr size_t kChildrenPerPiece = 256;

}  // namespace

// A child's row as it was found.
struct Referee::ChildRow {
  Row row;
  std::vector<uint8_t> record;
  ByteBuffer primary_key;
  ByteBuffer value;  // large values of the record point into it
};

// The key that children of a row have in the child's index. False when there can be none: the row has a NULL.
bool Referee::ChildKey(const Link& link, const Row& row, ByteBuffer* key) {
  if (HasNull(link.in_parent, row)) return false;
  key->Clear();
  link.child->access->indexes()[link.in_child.index].EncodeTupleFromOther(row.access->layout(), link.in_parent.columns,
                                                                         row.record, key);
  return true;
}

// A key that is only spelled differently is still there, but children are to be spelled like it.
bool Referee::KeyChanges(const Link& link, const Row& old_row, const Row& new_row) {
  if (ChangesChild(link.key->on_update)) {
    return !SameValues(link.in_parent, old_row, new_row);
  }
  const codec::IndexCodec& codec = old_row.access->indexes()[link.in_parent.index];
  ByteBuffer old_key, new_key;
  codec.EncodeTupleFromRecord(old_row.record, static_cast<unsigned>(link.in_parent.columns.size()), &old_key);
  codec.EncodeTupleFromRecord(new_row.record, static_cast<unsigned>(link.in_parent.columns.size()), &new_key);
  return old_key.view() != new_key.view();
}

bool Referee::IsBeingUpdated(const Node* node) const {
  return std::find(updating_.begin(), updating_.end(), node) != updating_.end();
}

Status Referee::ChildrenAfterDelete(Node* node, const Row& row, unsigned depth) {
  const std::vector<Link*>* links;
  CAIRN_RETURN_IF_ERROR(relations_.LinksAsParent(node, &links));
  for (const Link* link : *links) {
    CAIRN_RETURN_IF_ERROR(ChangesChild(link->key->on_delete) ? ChangeChildren(*link, row, nullptr, depth)
                                                             : NeedNoChild(*link, row));
  }
  return Status::Ok();
}

// An update that comes back to a table it is under way in would never end: there it stops, as if it were forbidden.
Status Referee::ChildrenAfterUpdate(Node* node, const Row& old_row, const Row& new_row, const codec::ColumnSet& touched,
                                    unsigned depth) {
  const std::vector<Link*>* links;
  CAIRN_RETURN_IF_ERROR(relations_.LinksAsParent(node, &links));
  for (const Link* link : *links) {
    if (!link->is_whole || !Touches(link->in_parent, touched) || !KeyChanges(*link, old_row, new_row)) continue;
    const bool changes = ChangesChild(link->key->on_update) && !IsBeingUpdated(link->child);
    CAIRN_RETURN_IF_ERROR(changes ? ChangeChildren(*link, old_row, &new_row, depth) : NeedNoChild(*link, old_row));
  }
  return Status::Ok();
}

// A row that is its own child, by a key that keeps parents with children, stays. Asked before it is removed, as
// then it is no child any more.
Status Referee::NeedNotItself(Node* node, const Row& row) {
  const std::vector<Link*>* links;
  CAIRN_RETURN_IF_ERROR(relations_.LinksAsParent(node, &links));
  for (const Link* link : *links) {
    if (!ChangesChild(link->key->on_delete) && IsOwnParent(*link, row, row)) {
      return Fail(Status::Code::kRowIsReferenced, *link);
    }
  }
  return Status::Ok();
}

Status Referee::NeedNoChild(const Link& link, const Row& row) {
  ByteBuffer lower, upper;
  if (!link.is_whole || !ChildKey(link, row, &lower)) return Status::Ok();
  upper.Assign(lower.view());
  if (!codec::AdvancePastPrefix(&upper)) return Status::Corruption("an index id is out of range");
  scan::RowReader reader;
  reader.Bind(store_, use_.transaction, link.child->access.get(), LockingMode(txn::LockMode::kShared));
  scan::IndexScan scan;
  scan.Open(&reader, {.index = link.in_child.index});
  scan::FoundRow found;
  Status status = scan.First(lower.view(), upper.view(), &found);
  scan.Close();
  if (status.Is(Status::Code::kNotFound)) return Status::Ok();
  return status.ok() ? Fail(Status::Code::kRowIsReferenced, link) : std::move(status);
}

// Locks the next rows of the child from `lower` on, and moves `lower` behind them.
Status Referee::CollectChildren(const Link& link, ByteView upper, ByteBuffer* lower,
                                std::vector<std::string>* primary_keys, bool* all) {
  scan::RowReader reader;
  reader.Bind(store_, use_.transaction, link.child->access.get(), LockingMode(txn::LockMode::kExclusive));
  scan::IndexScan scan;
  scan.Open(&reader, {.index = link.in_child.index});
  scan::FoundRow found;
  ByteBuffer last;
  Status status = scan.First(lower->view(), upper, &found);
  while (status.ok()) {
    primary_keys->emplace_back(found.row.primary_key);
    last.Assign(found.key);
    if (primary_keys->size() == kChildrenPerPiece) break;
    status = scan.Next(&found);
  }
  scan.Close();
  *all = status.Is(Status::Code::kNotFound);
  if (!status.ok() && !*all) return status;
  if (!*all) {
    lower->Assign(last.view());
    lower->AppendU8(0);
  }
  return Status::Ok();
}

Status Referee::ChangeChildren(const Link& link, const Row& old_parent, const Row* new_parent, unsigned depth) {
  ByteBuffer child_key, lower, upper;
  if (!link.is_whole || !ChildKey(link, old_parent, &child_key)) return Status::Ok();
  lower.Assign(child_key.view());
  upper.Assign(child_key.view());
  if (!codec::AdvancePastPrefix(&upper)) return Status::Corruption("an index id is out of range");
  for (bool all = false; !all;) {
    std::vector<std::string> primary_keys;
    CAIRN_RETURN_IF_ERROR(CollectChildren(link, upper.view(), &lower, &primary_keys, &all));
    if (!primary_keys.empty() && depth + 1 >= kDepthMax) return Fail(Status::Code::kCascadeTooDeep, link);
    for (const std::string& primary_key : primary_keys) {
      if (use_.transaction->is_interrupted()) return Status::Of(Status::Code::kInterrupted);
      CAIRN_RETURN_IF_ERROR(ChangeChild(link, child_key.view(), primary_key, new_parent, depth));
    }
  }
  return Status::Ok();
}

Status Referee::BindWriter(Node* node) {
  if (node->has_index_on_virtual_column) {
    return Status::NotSupported("a foreign key's change of rows of a table with an index on a virtual column");
  }
  if (node->writer_statement == statement_) return Status::Ok();
  node->writer.Bind(use_.transaction, node->access.get(), use_.lock);
  node->writer_statement = statement_;
  return Status::Ok();
}

// The row is locked; what was done since it was found, for another row or key, may have changed it.
Status Referee::ChangeChild(const Link& link, ByteView child_key, ByteView primary_key, const Row* new_parent,
                            unsigned depth) {
  Node* const node = link.child;
  const catalog::TableAccess& access = *node->access;
  ChildRow child;
  {
    store::PinnedValue value;
    Status status = use_.transaction->Get(store::Family::kData, primary_key, txn::View::kNewest, &value);
    if (status.Is(Status::Code::kNotFound)) return Status::Ok();
    CAIRN_RETURN_IF_ERROR(std::move(status));
    child.value.Assign(value.view());
  }
  child.primary_key.Assign(primary_key);
  child.record.assign(access.layout().record_bytes, 0);
  child.row = {.access = &access, .record = child.record.data()};
  CAIRN_RETURN_IF_ERROR(
      access.rows().Decode(*node->plan, child.primary_key.view(), child.value.view(), child.record.data()));
  if (access.primary().has_hidden_row_id()) {
    CAIRN_RETURN_IF_ERROR(access.primary().HiddenRowIdOf(child.primary_key.view(), &child.row.hidden_row_id));
  }
  ByteBuffer key_now;
  access.indexes()[link.in_child.index].EncodeTupleFromRecord(
      child.record.data(), static_cast<unsigned>(link.in_child.columns.size()), &key_now);
  if (key_now.view() != child_key) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(BindWriter(node));
  const ForeignAction action = new_parent == nullptr ? link.key->on_delete : link.key->on_update;
  if (new_parent != nullptr || action == ForeignAction::kSetNull) {
    return UpdateChild(link, child, action == ForeignAction::kSetNull ? nullptr : new_parent, depth);
  }
  CAIRN_RETURN_IF_ERROR(NeedNotItself(node, child.row));
  CAIRN_RETURN_IF_ERROR(
      node->writer.Delete({.record = child.record.data(), .hidden_row_id = child.row.hidden_row_id}));
  return ChildrenAfterDelete(node, child.row, depth + 1);
}

// Gives the child the parent's new values, or NULL when there is no new parent.
Status Referee::UpdateChild(const Link& link, const ChildRow& child, const Row* new_parent, unsigned depth) {
  Node* const node = link.child;
  const codec::RecordLayout& layout = node->access->layout();
  std::vector<uint8_t> record = child.record;
  codec::ColumnSet touched(layout.columns.size());
  for (size_t i = 0; i < link.in_child.columns.size(); ++i) {
    const uint16_t column = link.in_child.columns[i];
    touched.Add(column);
    if (new_parent == nullptr) {
      codec::MakeNull(layout, column, record.data());
    } else if (!codec::CopyValue(new_parent->access->layout().columns[link.in_parent.columns[i]], new_parent->record,
                                 layout.columns[column], record.data())) {
      return Fail(Status::Code::kRowIsReferenced, link);
    }
  }
  const Row row{.access = node->access.get(), .record = record.data(), .hidden_row_id = child.row.hidden_row_id};
  CAIRN_RETURN_IF_ERROR(FindParents(node, row, &touched, &link));
  updating_.push_back(node);
  Status status = node->writer.Update({.record = child.record.data(), .hidden_row_id = row.hidden_row_id},
                                      {.record = record.data(), .hidden_row_id = row.hidden_row_id}, touched);
  if (status.ok()) {
    status = ChildrenAfterUpdate(node, child.row, row, touched, depth + 1);
  } else if (status.Is(Status::Code::kDuplicateKey)) {
    failure_.duplicate_index = node->access->def().indexes[node->writer.duplicate_index()].name;
    status = Fail(Status::Code::kForeignDuplicate, link);
  }
  updating_.pop_back();
  return status;
}

}  // namespace cairn::foreign

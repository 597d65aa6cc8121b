// SPDX-License-Identifier: GPL-2.0-only
// Sees to it that foreign keys hold: asks parents for rows, and does to children what the keys say.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "dml/row_writer.h"
#include "foreign/relations.h"
#include "scan/row_reader.h"
#include "store/store.h"
#include "txn/transaction.h"

namespace cairn::foreign {

// A row of a table whose record is in the layout of `access`.
struct Row {
  const catalog::TableAccess* access = nullptr;
  const uint8_t* record = nullptr;
  uint64_t hidden_row_id = 0;
};

// What stands between a statement and a row. Set with the statuses kNoReferencedRow, kRowIsReferenced,
// kCascadeTooDeep (the key) and kForeignDuplicate (the child and its index too).
struct Failure {
  catalog::ForeignKeyPtr key;
  std::string duplicate_index;  // its name
};

// How a statement uses a table.
struct Use {
  txn::Transaction* transaction = nullptr;
  const catalog::TableAccess* table = nullptr;
  txn::LockOptions lock;  // how it waits
  // Rows are added, none updated or deleted: tables that refer to this one need not even be readable.
  bool only_inserts = false;
  // ALTER TABLE fills the table by copying the table `copy_of`. Only keys that were not `kept` from that one are asked
  // about, and without locks: the caller keeps others from changing the parents.
  std::string copy_of;
  std::vector<catalog::ForeignKeyPtr> kept;
};

// Serves one table of one connection: the *row* is always the one the statement changes. Before a row is written its
// parents are found and locked (shared), so they stay until the transaction ends; whoever wants to remove a parent waits
// for that lock, then looks for children by a locking walk.
//
// Order: keys are looked at in the order of their names, those of a parent by its indexes first (foreign/relations.h). Rows of
// children are changed after the parent's row, one table after the other, depth first, at most kDepthMax tables deep. Changes of
// children are made in the same transaction; neither triggers nor CHECK know of them.
//
// Thread rule: one thread.
class Referee final : public dml::RowGuard {
 public:
  static constexpr unsigned kDepthMax = 15;

  Referee(const store::Store* store, catalog::Catalog* catalog, catalog::CollationById collation_by_id)
      : store_(store), relations_(catalog, std::move(collation_by_id)) {}

  // All in `use` must outlive the statement. Definitions of the tables that TablesAffectedBy() tells must not change
  // until its transaction ends.
  Status Begin(const Use& use);
  // Gives back pinned memory; at the end of a statement, and before the store is closed.
  void End();
  void Close();

  // Whether rows of other tables, or others of this one, may change with a row that is removed, or updated in these
  // columns. If so the caller sets a savepoint before the row is written, and rolls back to it when anything fails.
  bool DeleteChangesChildren() const { return delete_changes_children_; }
  bool UpdateChangesChildren(const codec::ColumnSet& touched) const;

  // What a row needs before it is written. All that may fail without anything having changed.
  Status BeforeInsert(const dml::RowRef& row) override;
  Status BeforeUpdate(const dml::RowRef& old_row, const dml::RowRef& new_row, const codec::ColumnSet& touched) override;
  Status BeforeDelete(const uint8_t* record);

  // The rest, after the row was written. Does nothing when no children change.
  Status AfterUpdate(const uint8_t* old_record, const uint8_t* new_record, const codec::ColumnSet& touched);
  Status AfterDelete(const uint8_t* record);

  const Failure& failure() const { return failure_; }

 private:
  struct ChildRow;

  Row RowOf(const uint8_t* record) const { return {.access = use_.table, .record = record}; }
  Status Fail(Status::Code code, const Link& link);

  bool ParentKey(const Link& link, const Row& row, ByteBuffer* key, bool* has_null);
  bool ChildKey(const Link& link, const Row& row, ByteBuffer* key);
  bool IsOwnParent(const Link& link, const Row& row, const Row& parent);
  bool KeyChanges(const Link& link, const Row& old_row, const Row& new_row);
  static bool HasNull(const catalog::ForeignKeyPlace& place, const Row& row);
  static bool SameValues(const catalog::ForeignKeyPlace& place, const Row& a, const Row& b);
  static bool Touches(const catalog::ForeignKeyPlace& place, const codec::ColumnSet& touched);

  // `except`: the primary key of a row that is not to be one, if any.
  Status FindParent(const Link& link, const Row& row, ByteView except = {});
  Status LookForParent(const Link& link, ByteView key, ByteView except);
  Status FindParents(Node* node, const Row& row, const codec::ColumnSet* touched, const Link* except);

  Status ChildrenAfterDelete(Node* node, const Row& row, unsigned depth);
  Status ChildrenAfterUpdate(Node* node, const Row& old_row, const Row& new_row, const codec::ColumnSet& touched,
                             unsigned depth);
  Status NeedNotItself(Node* node, const Row& row);
  Status NeedNoChild(const Link& link, const Row& row);
  Status ChangeChildren(const Link& link, const Row& old_parent, const Row* new_parent, unsigned depth);
  Status CollectChildren(const Link& link, ByteView upper, ByteBuffer* lower, std::vector<std::string>* primary_keys,
                         bool* all);
  Status ChangeChild(const Link& link, ByteView child_key, ByteView primary_key, const Row* new_parent, unsigned depth);
  Status UpdateChild(const Link& link, const ChildRow& child, const Row* new_parent, unsigned depth);
  Status BindWriter(Node* node);
  scan::ReadMode LockingMode(txn::LockMode mode) const;
  bool IsBeingUpdated(const Node* node) const;

  const store::Store* const store_;
  Relations relations_;
  Use use_;
  uint64_t statement_ = 0;
  Node* node_ = nullptr;  // of the statement's table
  const std::vector<Link*>* as_child_ = nullptr;
  const std::vector<Link*>* as_parent_ = nullptr;
  std::vector<Link*> new_links_;  // when the table is a copy
  bool delete_changes_children_ = false;
  std::vector<const Node*> updating_;  // tables an update is under way in, the statement's first
  Failure failure_;

  scan::RowReader reader_;
  ByteBuffer key_;
  ByteBuffer other_key_;
};

}  // namespace cairn::foreign

// SPDX-License-Identifier: GPL-2.0-only
// Reaches the trees, which are private members of RocksDB's memtables.
#include "store/memtable_access.h"

#include <typeinfo>

#include "db/memtable.h"
#include "db/memtable_list.h"

#include "store/memtable_rep.h"
#include "store/version_files.h"

namespace cairn::store {
namespace {

// Private members have no names outside; an explicit instantiation may name them all the same.
template <auto kMember>
struct TableMember {
  friend const rocks::MemTableRep& TableMemberOf(const rocks::MemTable& memtable) { return *(memtable.*kMember); }
};
template struct TableMember<&rocks::MemTable::table_>;
const rocks::MemTableRep& TableMemberOf(const rocks::MemTable& memtable);

template <auto kMember>
struct ListMember {
  friend const std::list<rocks::ReadOnlyMemTable*>& ListMemberOf(const rocks::MemTableListVersion& list) {
    return list.*kMember;
  }
};
template struct ListMember<&rocks::MemTableListVersion::memlist_>;
const std::list<rocks::ReadOnlyMemTable*>& ListMemberOf(const rocks::MemTableListVersion& list);

const rocks::MemTable* PlainMemtable(const rocks::ReadOnlyMemTable& memtable) {
  return typeid(memtable) == typeid(rocks::MemTable) ? static_cast<const rocks::MemTable*>(&memtable) : nullptr;
}

}  // namespace

const MemtableTree* TreeOf(const rocks::ReadOnlyMemTable& memtable) {
  const rocks::MemTable* plain = PlainMemtable(memtable);
  return plain == nullptr ? nullptr : TreeOf(TableMemberOf(*plain));
}

bool HasPlainEntries(const rocks::ReadOnlyMemTable& memtable) {
  const rocks::MemTable* plain = PlainMemtable(memtable);
  if (plain == nullptr) return false;
  const rocks::ImmutableMemTableOptions& options = *plain->GetImmutableMemTableOptions();
  return options.protection_bytes_per_key == 0 && !options.paranoid_memory_checks && !options.inplace_update_support;
}

bool HasPlainEntriesOnly(const rocks::ReadOnlyMemTable& memtable) {
  return HasPlainEntries(memtable) && memtable.NumRangeDeletion() == 0;
}

const std::list<rocks::ReadOnlyMemTable*>& OlderMemtables(const rocks::SuperVersion& version) {
  return ListMemberOf(*version.imm);
}

bool IsActiveMemtableEmpty(const rocks::SuperVersion& version, const rocks::Slice& from, ByteView upper) {
  const rocks::ReadOnlyMemTable& memtable = *version.mem;
  if (memtable.IsEmpty()) return true;
  if (memtable.NumRangeDeletion() != 0) return false;
  const MemtableTree* tree = TreeOf(memtable);
  if (tree == nullptr) return false;
  MemtableTree::Position position;
  tree->FindAtLeast(MemtableTarget(EntryKey::OfInternal(ToView(from))), &position);
  if (position.entry == nullptr) return true;
  const EntryKey key = EntryKey::Of(position.entry);
  return !upper.empty() && ByteView(key.data, key.size) >= upper;
}

}  // namespace cairn::store

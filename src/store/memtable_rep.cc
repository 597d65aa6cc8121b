// SPDX-License-Identifier: GPL-2.0-only
// What RocksDB asks of a memtable, handed to the tree.
#include "store/memtable_rep.h"

#include <new>
#include <optional>
#include <random>
#include <typeinfo>

#include "db/memtable.h"
#include "memory/arena.h"

#include "store/memtable_filter.h"
#include "store/memtable_tree.h"

namespace cairn::store {
namespace {

using ValidateEntry = std::function<rocks::Status(const char*, bool)>;

EntryKey KeyOf(const rocks::Slice& internal_key) { return EntryKey::OfInternal({internal_key.data(), internal_key.size()}); }

EntryKey KeyOf(const rocks::Slice& internal_key, const char* entry) {
  return entry == nullptr ? KeyOf(internal_key) : EntryKey::Of(entry);
}

// Of two neighbours. The caller may ask for the keys to be left out of the message.
rocks::Status CheckOrder(const char* before, const char* after, bool allow_data_in_errors) {
  const EntryKey key = EntryKey::Of(before);
  if (CompareToEntry(MemtableTarget(key), after) < 0) return rocks::Status::OK();
  return rocks::Status::Corruption("entries of a memtable are out of order",
                                   allow_data_in_errors ? rocks::Slice(key.data, key.size).ToString(true) : "");
}

class TreeIterator final : public rocks::MemTableRep::Iterator {
 public:
  explicit TreeIterator(const MemtableTree& tree) : tree_(tree) {}

  bool Valid() const override { return position_.entry != nullptr; }
  const char* key() const override { return position_.entry; }
  void Next() override { tree_.Next(&position_); }
  void Prev() override { tree_.Prev(&position_); }
  void SeekToFirst() override { tree_.FindFirst(&position_); }
  void SeekToLast() override { tree_.FindLast(&position_); }

  void Seek(const rocks::Slice& internal_key, const char* entry) override {
    tree_.FindAtLeast(MemtableTarget(KeyOf(internal_key, entry)), &position_);
  }
  void SeekForPrev(const rocks::Slice& internal_key, const char* entry) override {
    tree_.FindBefore(MemtableTarget(KeyOf(internal_key, entry)), /*or_equal=*/true, &position_);
  }

  rocks::Status NextAndValidate(bool allow_data_in_errors) override {
    const char* before = position_.entry;
    Next();
    return Valid() ? Keep(CheckOrder(before, position_.entry, allow_data_in_errors)) : rocks::Status::OK();
  }
  rocks::Status PrevAndValidate(bool allow_data_in_errors) override {
    const char* behind = position_.entry;
    Prev();
    return Valid() ? Keep(CheckOrder(position_.entry, behind, allow_data_in_errors)) : rocks::Status::OK();
  }
  rocks::Status SeekAndValidate(const rocks::Slice& internal_key, const char* entry, bool allow_data_in_errors,
                                bool /*detect_key_out_of_order*/, const ValidateEntry& validate) override {
    Seek(internal_key, entry);
    if (!Valid()) return rocks::Status::OK();
    const MemtableTarget target(KeyOf(internal_key, entry));
    if (CompareToEntry(target, position_.entry) > 0) {
      return Keep(rocks::Status::Corruption("a seek in a memtable ended before its key"));
    }
    return validate == nullptr ? rocks::Status::OK() : Keep(validate(position_.entry, allow_data_in_errors));
  }

 private:
  rocks::Status Keep(rocks::Status status) {
    if (!status.ok()) position_.entry = nullptr;
    return status;
  }

  const MemtableTree& tree_;
  MemtableTree::Position position_;
};

class TreeRep final : public rocks::MemTableRep {
 public:
  TreeRep(rocks::Allocator* allocator, uint64_t filter_bytes) : rocks::MemTableRep(allocator), tree_(allocator) {
    if (filter_bytes != 0) filter_.emplace(allocator, filter_bytes);
  }

  // The tree takes writers side by side, and remembers by itself where an index was written last.
  bool InsertKey(rocks::KeyHandle handle) override { return Insert(handle, /*concurrently=*/false); }
  bool InsertKeyWithHint(rocks::KeyHandle handle, void**) override { return Insert(handle, /*concurrently=*/false); }
  bool InsertKeyConcurrently(rocks::KeyHandle handle) override { return Insert(handle, /*concurrently=*/true); }
  bool InsertKeyWithHintConcurrently(rocks::KeyHandle handle, void**) override { return Insert(handle, /*concurrently=*/true); }
  void Insert(rocks::KeyHandle handle) override { static_cast<void>(InsertKey(handle)); }
  void InsertConcurrently(rocks::KeyHandle handle) override { static_cast<void>(InsertKeyConcurrently(handle)); }

  bool Contains(const char* key) const override {
    MemtableTree::Position position;
    const MemtableTarget target(EntryKey::Of(key));
    tree_.FindAtLeast(target, &position);
    return position.entry != nullptr && CompareToEntry(target, position.entry) == 0;
  }

  void Get(const rocks::LookupKey& key, void* argument, bool (*found)(void*, const char*)) override {
    const EntryKey wanted = KeyOf(key.internal_key());
    if (filter_ && !filter_->MayHave(MemtableFilter::Key(wanted))) return;
    MemtableTree::Position position;
    tree_.FindAtLeast(MemtableTarget(wanted), &position);
    while (position.entry != nullptr && found(argument, position.entry)) tree_.Next(&position);
  }

  rocks::Status GetAndValidate(const rocks::LookupKey& key, void* argument, bool (*found)(void*, const char*),
                               bool allow_data_in_errors, bool detect_key_out_of_order,
                               const ValidateEntry& validate) override {
    TreeIterator iterator(tree_);
    rocks::Status status = iterator.SeekAndValidate(key.internal_key(), nullptr, allow_data_in_errors,
                                                    detect_key_out_of_order, validate);
    while (status.ok() && iterator.Valid() && found(argument, iterator.key())) {
      status = iterator.NextAndValidate(allow_data_in_errors);
    }
    return status;
  }

  uint64_t ApproximateNumEntries(const rocks::Slice& first, const rocks::Slice& end) override {
    return tree_.EstimateBetween(MemtableTarget(KeyOf(first)), MemtableTarget(KeyOf(end)));
  }

  // Each entry is taken with the share of what is still wanted in what is still to come (Knuth's algorithm S).
  void UniqueRandomSample(const uint64_t entry_count, const uint64_t wanted,
                          std::unordered_set<const char*>* entries) override {
    entries->clear();
    std::minstd_rand random(std::random_device{}());
    MemtableTree::Position position;
    tree_.FindFirst(&position);
    for (uint64_t left = entry_count; position.entry != nullptr && left != 0 && entries->size() < wanted; --left) {
      if (random() % left < wanted - entries->size()) entries->insert(position.entry);
      tree_.Next(&position);
    }
  }

  // All memory is the allocator's, which counts it.
  size_t ApproximateMemoryUsage() override { return 0; }

  rocks::MemTableRep::Iterator* GetIterator(rocks::Arena* arena) override {
    void* memory = arena == nullptr ? operator new(sizeof(TreeIterator)) : arena->AllocateAligned(sizeof(TreeIterator));
    return new (memory) TreeIterator(tree_);
  }

  const MemtableTree& tree() const { return tree_; }

 private:
  // Who finds the entry by the filter has it in the tree: nobody looks before its sequence number is published.
  bool Insert(rocks::KeyHandle handle, bool concurrently) {
    const char* const entry = static_cast<const char*>(handle);
    if (!filter_) return tree_.Insert(entry);
    const MemtableFilter::Key key(EntryKey::Of(entry));
    filter_->Fetch(key);
    if (!tree_.Insert(entry, InsertAhead::OfThread())) return false;  // only the data family has filters
    filter_->Add(key, concurrently);
    return true;
  }

  MemtableTree tree_;
  std::optional<MemtableFilter> filter_;
};

bool IsBytewise(const rocks::MemTableRep::KeyComparator& comparator) {
  const auto* known = dynamic_cast<const rocks::MemTable::KeyComparator*>(&comparator);
  return known != nullptr && known->comparator.user_comparator() == rocks::BytewiseComparator();
}

}  // namespace

rocks::MemTableRep* MemtableTreeFactory::CreateMemTableRep(const rocks::MemTableRep::KeyComparator& comparator,
                                                           rocks::Allocator* allocator,
                                                           const rocks::SliceTransform* prefix, rocks::Logger* log) {
  if (!IsBytewise(comparator)) return rocks::SkipListFactory().CreateMemTableRep(comparator, allocator, prefix, log);
  return new TreeRep(allocator, memtable_bytes_.load(std::memory_order_relaxed) / MemtableFilter::kMemtableShare);
}

const MemtableTree* TreeOf(const rocks::MemTableRep& memtable) {
  return typeid(memtable) == typeid(TreeRep) ? &static_cast<const TreeRep&>(memtable).tree() : nullptr;
}

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// Learning where nothing is, and looking into the one memtable that may have changed since.
#include "store/empty_ranges.h"

#include <algorithm>
#include <memory>

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "db/lookup_key.h"
#include "db/memtable.h"
#include "db/merge_context.h"
#include "memory/arena.h"
#include "table/internal_iterator.h"

#include "base/ids.h"
#include "store/current_version.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

// Any version of the key, also a deletion. Committed changes of a key reach the memtable before its lock is given
// up, so those of the caller's key are there whatever sequence number readers may see.
bool IsInMemtable(rocks::ReadOnlyMemTable& memtable, ByteView key) {
  const rocks::LookupKey wanted(ToSlice(key), rocks::kMaxSequenceNumber);
  rocks::Status status;
  rocks::MergeContext merges;
  rocks::SequenceNumber covering = 0;
  rocks::SequenceNumber found = rocks::kMaxSequenceNumber;
  const bool ended = memtable.Get(wanted, /*value=*/nullptr, /*columns=*/nullptr, /*timestamp=*/nullptr, &status,
                                  &merges, &covering, &found, rocks::ReadOptions(), /*immutable_memtable=*/false);
  return ended || !status.ok() || found != rocks::kMaxSequenceNumber;
}

// The end of the index that the key belongs to.
std::string EndOfIndex(ByteView key) {
  std::string end(key.substr(0, sizeof(IndexId)));
  while (!end.empty() && static_cast<uint8_t>(end.back()) == 0xFF) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

rocks::ColumnFamilyData* FamilyOf(rocks::ColumnFamilyHandle* handle) {
  return static_cast<rocks::ColumnFamilyHandleImpl*>(handle)->cfd();
}

struct DestroyInArena {
  void operator()(rocks::InternalIterator* stream) const { std::destroy_at(stream); }
};

}  // namespace

EmptyRanges::Range* EmptyRanges::Find(ByteView key) {
  for (Range& range : ranges_) {
    if (range.known && range.first.view() <= key && key < range.end.view()) return &range;
  }
  return nullptr;
}

// Seeks are worth their cost as long as ranges serve, and are tried ever less often else.
void EmptyRanges::Forget(Range* range) {
  if (!range->known) return;
  range->known = false;
  looks_between_ = range->spared_count >= kLooksPerSeek ? kLooksBetweenMin
                                                        : std::min(2 * looks_between_, kLooksBetweenMax);
  looks_left_ = std::min(looks_left_, looks_between_);
}

void EmptyRanges::ForgetAll(uint64_t version) {
  for (Range& range : ranges_) Forget(&range);
  version_ = version;
}

EmptyRanges::Range* EmptyRanges::Least() {
  return &*std::ranges::min_element(ranges_, {}, [](const Range& range) { return range.known ? range.used_at : 0; });
}

Status EmptyRanges::Get(const Store& store, PointReader* points, ByteView key, PinnedValue* value) {
  const auto look = [&] {
    return points == nullptr ? store.Get(Family::kData, key, nullptr, value) : points->Get(store, key, nullptr, value);
  };
  if (key.size() < sizeof(IndexId)) return look();
  // The number alone is enough to know of no range, and costs no locked instruction.
  const uint64_t newest = FamilyOf(store.Handle(Family::kData))->GetSuperVersionNumber();
  if (newest != version_) ForgetAll(newest);
  Range* range = Find(key);
  bool absent = false;
  if (range != nullptr) {
    const CurrentVersion sources(store.impl_->root, store.Handle(Family::kData));
    // The memtable looked into must be the one that the range leaves out, so what is held is asked for its number, too.
    if (sources->version_number == version_) {
      absent = !IsInMemtable(*sources->mem, key);
    } else {
      ForgetAll(sources->version_number);
      range = nullptr;
    }
  }
  if (range != nullptr) range->used_at = ++now_;
  if (absent) {
    ++range->spared_count;
    value->Reset();
    return Status::NotFound();
  }
  Status status = look();
  if (range == nullptr && status.Is(Status::Code::kNotFound) && --looks_left_ == 0) Learn(store, key);
  return status;
}

// What is put into the range while the stream is open may be missed by it: it is in the memtable, which is looked into each time.
void EmptyRanges::Learn(const Store& store, ByteView key) {
  auto* db = static_cast<rocks::DBImpl*>(store.impl_->root);
  rocks::ColumnFamilyData* family = FamilyOf(store.Handle(Family::kData));
  const std::string end = EndOfIndex(key);
  const rocks::Slice upper = ToSlice(end);
  rocks::ReadOptions read;
  read.total_order_seek = true;
  if (!end.empty()) read.iterate_upper_bound = &upper;
  rocks::SuperVersion* sources = family->GetReferencedSuperVersion(db);
  if (sources->version_number != version_) ForgetAll(sources->version_number);
  Range* range = Least();
  Forget(range);
  looks_left_ = looks_between_;

  rocks::Arena arena;
  const std::unique_ptr<rocks::InternalIterator, DestroyInArena> stream(db->NewInternalIterator(
      read, family, sources, &arena, rocks::kMaxSequenceNumber, /*allow_unprepared_value=*/false));
  const rocks::LookupKey wanted(ToSlice(key), rocks::kMaxSequenceNumber);
  stream->Seek(wanted.internal_key());
  const ByteView next = stream->Valid() ? ToView(rocks::ExtractUserKey(stream->key())) : ByteView(end);
  // Where rows are put back that were just deleted, there is an entry, and seeks do not pay either.
  if (!stream->status().ok() || next.empty() || next == key) {
    looks_left_ = looks_between_ = std::min(2 * looks_between_, kLooksBetweenMax);
    return;
  }
  range->first.Assign(key);
  range->end.Assign(end.empty() ? next : std::min(next, ByteView(end)));
  range->spared_count = 0;
  range->used_at = ++now_;
  range->known = true;
}

}  // namespace cairn::store

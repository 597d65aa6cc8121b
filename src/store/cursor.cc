// SPDX-License-Identifier: GPL-2.0-only
// A position in one family: the iterator that serves it, with its key and value at hand.
#include "store/cursor.h"

#include <rocksdb/iterator.h>

#include "store/cursor_bounds.h"
#include "store/overlay_iterator.h"
#include "store/rocks_status.h"
#include "store/visible_iterator.h"

namespace cairn::store {
namespace {

// The same names and types of both iterators.
class RocksFace {
 public:
  explicit RocksFace(rocks::Iterator* iterator) : iterator_(iterator) {}
  void Seek(ByteView key) { iterator_->Seek(ToSlice(key)); }
  void SeekForPrev(ByteView key) { iterator_->SeekForPrev(ToSlice(key)); }
  void SeekToFirst() { iterator_->SeekToFirst(); }
  void SeekToLast() { iterator_->SeekToLast(); }
  void Next() { iterator_->Next(); }
  void Prev() { iterator_->Prev(); }
  bool Valid() const { return iterator_->Valid(); }
  ByteView key() const { return ToView(iterator_->key()); }
  ByteView value() const { return ToView(iterator_->value()); }

 private:
  rocks::Iterator* iterator_;
};

}  // namespace

Cursor::Cursor() = default;

Cursor::Cursor(Cursor&& other) noexcept { *this = std::move(other); }

Cursor& Cursor::operator=(Cursor&& other) noexcept {
  std::swap(bounds_, other.bounds_);
  std::swap(visible_, other.visible_);
  std::swap(overlay_, other.overlay_);
  std::swap(iterator_, other.iterator_);
  std::swap(source_, other.source_);
  std::swap(open_, other.open_);
  std::swap(valid_, other.valid_);
  std::swap(key_, other.key_);
  std::swap(value_, other.value_);
  return *this;
}

Cursor::~Cursor() { Close(); }

void Cursor::Close() {
  if (source_ == Source::kOverlay) overlay_->Close();
  if (visible_ != nullptr) visible_->Close();
  iterator_.reset();
  open_ = valid_ = false;
  key_ = value_ = ByteView();
}

CursorBounds* Cursor::PrepareBounds() {
  iterator_.reset();
  source_ = Source::kVisible;
  open_ = valid_ = false;
  if (bounds_ == nullptr) bounds_ = std::make_unique<CursorBounds>();
  return bounds_.get();
}

// Precondition: just opened, as one of the data family.
void Cursor::OverlayWith(const ChangeIndex& changes, bool shows_removed) {
  if (overlay_ == nullptr) overlay_ = std::make_unique<OverlayIterator>();
  overlay_->Open(visible_.get(), &changes, bounds_->lower, bounds_->upper, shows_removed);
  source_ = Source::kOverlay;
}

template <typename Move>
inline void Cursor::MoveBy(const Move& move) {
  const auto load = [this](const auto& iterator) {
    valid_ = iterator.Valid();
    if (__builtin_expect(valid_, true)) {
      key_ = iterator.key();
      value_ = iterator.value();
    }
  };
  // Not inlined, as the walk without own changes is the one that counts every instruction.
  const auto move_other = [&]() __attribute__((noinline)) {
    if (source_ == Source::kOverlay) {
      move(*overlay_);
      return load(*overlay_);
    }
    RocksFace iterator(iterator_.get());
    move(iterator);
    load(iterator);
  };
  if (__builtin_expect(source_ != Source::kVisible, false)) return move_other();
  move(*visible_);
  load(*visible_);
}

void Cursor::Seek(ByteView key) {
  MoveBy([key](auto& iterator) { iterator.Seek(key); });
}
void Cursor::SeekForPrev(ByteView key) {
  MoveBy([key](auto& iterator) { iterator.SeekForPrev(key); });
}
void Cursor::SeekToFirst() {
  MoveBy([](auto& iterator) { iterator.SeekToFirst(); });
}
void Cursor::SeekToLast() {
  MoveBy([](auto& iterator) { iterator.SeekToLast(); });
}
void Cursor::Next() {
  MoveBy([](auto& iterator) { iterator.Next(); });
}
void Cursor::Prev() {
  MoveBy([](auto& iterator) { iterator.Prev(); });
}

ByteView Cursor::PositionNow() const { return source_ == Source::kOverlay ? overlay_->key() : key_; }

Status Cursor::status() const {
  if (!open_) return Status::Ok();
  return source_ == Source::kRocks ? FromRocks(iterator_->status()) : visible_->status();
}

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// A position in one family: RocksDB's iterator with its key and value at hand.
#include "store/cursor.h"

#include <rocksdb/iterator.h>

#include "store/cursor_bounds.h"
#include "store/rocks_status.h"

namespace cairn::store {

Cursor::Cursor() = default;

Cursor::Cursor(Cursor&& other) noexcept { *this = std::move(other); }

Cursor& Cursor::operator=(Cursor&& other) noexcept {
  std::swap(bounds_, other.bounds_);
  std::swap(iterator_, other.iterator_);
  std::swap(valid_, other.valid_);
  std::swap(key_, other.key_);
  std::swap(value_, other.value_);
  return *this;
}

Cursor::~Cursor() { Close(); }

void Cursor::Close() {
  iterator_.reset();
  valid_ = false;
  key_ = value_ = ByteView();
}

inline void Cursor::Load() {
  valid_ = iterator_->Valid();
  if (__builtin_expect(valid_, true)) {
    key_ = ToView(iterator_->key());
    value_ = ToView(iterator_->value());
  }
}

void Cursor::Seek(ByteView key) {
  iterator_->Seek(ToSlice(key));
  Load();
}

void Cursor::SeekForPrev(ByteView key) {
  iterator_->SeekForPrev(ToSlice(key));
  Load();
}

void Cursor::SeekToFirst() {
  iterator_->SeekToFirst();
  Load();
}

void Cursor::SeekToLast() {
  iterator_->SeekToLast();
  Load();
}

void Cursor::Next() {
  iterator_->Next();
  Load();
}

void Cursor::Prev() {
  iterator_->Prev();
  Load();
}

Status Cursor::status() const {
  if (iterator_ == nullptr) return Status::Ok();
  return FromRocks(iterator_->status());
}

}  // namespace cairn::store

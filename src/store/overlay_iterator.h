// SPDX-License-Identifier: GPL-2.0-only
// Walks a transaction's own changes and what is committed as if they were one.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "store/change_index.h"

namespace cairn::store {

class VisibleIterator;

// The merge of two orders: of committed values, and of changes, which hide the values of their keys. A
// change made while it is open is seen if it comes behind the current key, in the direction of the walk.
//
// Lifetime: what it was opened with must outlive its use; a change that is undone ends it. The views die at the next
// move and at the next change, after which key() gives a new one.
// Thread rule: one thread at a time, which may be another than the one that looks into the changes.
class OverlayIterator final {
 public:
  // `base` is open between the same bounds, of which an empty one is none. `shows_removed`: CursorOptions.
  void Open(VisibleIterator* base, const ChangeIndex* changes, ByteView lower, ByteView upper, bool shows_removed);
  void Close();

  void Seek(ByteView key);
  void SeekForPrev(ByteView key);
  void SeekToFirst();
  void SeekToLast();
  // Precondition of both: Valid().
  void Next();
  void Prev();

  bool Valid() const { return valid_; }
  // Also after a change, as whoever lets go of a walk keeps its position then.
  ByteView key() const { return at_own_ ? changes_->KeyOf(own_) : base_key_; }
  ByteView value() const { return value_; }
  Status status() const;  // why it is not valid: ok at the end

 private:
  void LoadBase();
  void LoadOwn(const ChangeIndex::Node* own);
  template <bool kForward>
  void MoveBase();
  template <bool kForward>
  void Turn();
  template <bool kForward>
  void Step();
  template <bool kForward>
  void Settle();

  VisibleIterator* base_ = nullptr;
  const ChangeIndex* changes_ = nullptr;
  ByteView lower_;
  ByteView upper_;
  bool shows_removed_ = false;

  // Each side's first entry at the current key or behind it in the direction of the walk.
  bool base_valid_ = false;
  bool base_failed_ = false;
  ByteView base_key_;
  const ChangeIndex::Node* own_ = nullptr;
  ByteView own_key_;
  uint64_t own_version_ = 0;  // of the changes when own_ was found

  bool valid_ = false;
  bool forward_ = true;
  bool at_own_ = false;   // the current entry is own_
  bool at_base_ = false;  // base_ stands on the current key
  ByteView value_;
  ByteBuffer turning_key_;
};

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// A position in one family that moves in key order, in both directions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"
#include "store/types.h"

namespace cairn::store {

class ChangeIndex;
struct CursorBounds;
class OverlayIterator;
class VisibleIterator;

struct CursorOptions {
  // Null reads what is committed when the cursor is opened (a moment of its own).
  const Snapshot* snapshot = nullptr;
  // The cursor sees keys k with lower_bound <= k < upper_bound; empty means unbounded. The bytes
  // are copied. Always give both: they keep the cursor from wading through the neighbours' deleted
  // keys and let it skip comparisons.
  ByteView lower_bound;
  ByteView upper_bound;
  // How far to read ahead from disk; 0 lets it grow by itself with sequential use.
  uint64_t readahead_bytes = 0;
  // False keeps a big scan from pushing everything else out of the block cache.
  bool fill_cache = true;
  // Once another thread has set it, a move that looks at many entries that are not to be seen ends with kInterrupted; the
  // cursor must then be opened again. Asked every kHiddenPerPoll of them. Must outlive the cursor's being open.
  const std::atomic<bool>* interrupted = nullptr;
  // Having looked at so many of them, in one move or several, the cursor ends the same way, for whoever can do without the rest;
  // 0: never. Also asked every kHiddenPerPoll.
  uint64_t hidden_max = 0;
  // Of a cursor of a WriteTransaction: what it has removed is shown nevertheless as it was committed, to a caller who tells himself what
  // counts.
  bool shows_removed = false;
  static constexpr uint64_t kHiddenPerPoll = 1024;
};

// A position between two bounds.
//
// Usage: `for (c.Seek(k); c.Valid(); c.Next()) use(c.key(), c.value()); if (!c.status().ok()) ...`.
// Valid() == false is either the end or an error: status() must be asked.
//
// Lifetime: key() and value() are views that die at the next move, at Close(), and, for a cursor
// opened by a WriteTransaction, at the next write of that transaction (moving on after such a write
// is fine: the cursor itself stays). A cursor of a WriteTransaction also dies, and must be closed
// unused, when the transaction rolls back to a savepoint, rolls back or commits. A cursor must
// be closed before its snapshot is released and before its store is closed, and serves no other store.
// Thread rule: one thread at a time.
//
// A cursor that is open may be opened again, with other bounds: while nothing else has changed since,
// that costs next to nothing.
class Cursor final {
 public:
  Cursor();
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  bool is_open() const { return open_; }
  void Close();

  // Moves; each needs is_open(), Next and Prev also Valid().
  void Seek(ByteView key);         // to the first key >= `key`
  void SeekForPrev(ByteView key);  // to the last key <= `key`
  void SeekToFirst();
  void SeekToLast();
  void Next();
  void Prev();

  bool Valid() const { return valid_; }
  ByteView key() const { return key_; }
  ByteView value() const { return value_; }
  // key() found anew: also after a write of the transaction, for whoever lets go of the cursor then. Needs Valid().
  ByteView PositionNow() const;

  // Why the cursor is not valid: ok at the end of its range, else the error.
  Status status() const;

 private:
  friend class Store;
  friend class WriteTransaction;
  // What moves: visible_ alone; overlay_ over it where a transaction's own changes are to be merged;
  // iterator_ where there may be other entries than values and deletions.
  enum class Source : uint8_t { kVisible, kOverlay, kRocks };

  CursorBounds* PrepareBounds();  // of another opening
  void OverlayWith(const ChangeIndex& changes, bool shows_removed);
  template <typename Move>
  void MoveBy(const Move& move);

  std::unique_ptr<CursorBounds> bounds_;  // the iterators point into it, so it dies after them
  std::unique_ptr<VisibleIterator> visible_;  // this one and the next are kept for the next opening
  std::unique_ptr<OverlayIterator> overlay_;
  std::unique_ptr<rocks::Iterator> iterator_;
  Source source_ = Source::kVisible;
  bool open_ = false;
  bool valid_ = false;
  ByteView key_;
  ByteView value_;
};

}  // namespace cairn::store

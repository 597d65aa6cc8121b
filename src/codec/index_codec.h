// SPDX-License-Identifier: GPL-2.0-only
// Keys and values of index entries: from rows and search tuples, and back into rows. The format
// is docs/formats/key.md.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/shared_bytes.h"
#include "base/status.h"
#include "codec/column_set.h"
#include "codec/key_part.h"
#include "codec/record_layout.h"

namespace cairn::codec {

// One part of an index as the user declared it.
struct KeyPart {
  // Position in RecordLayout::columns.
  uint16_t column = 0;
  // 0: the whole column. Otherwise the length the server gives the part, in bytes: the number
  // of characters times the character set's widest character.
  uint32_t prefix_bytes = 0;
  bool descending = false;
};

class IndexCodec;

// Which columns to take from an index entry and where they are in it. Made once per statement by
// IndexCodec::Plan(); used only with that codec. Thread rule: immutable, shared by all threads.
class EntryPlan {
 public:
  // The wanted columns that the entry cannot give (they need the row).
  const ColumnSet& missing() const { return missing_; }
  bool complete() const { return missing_.empty(); }

 private:
  friend class IndexCodec;
  explicit EntryPlan(size_t column_count) : missing_(column_count) {}
  bool Wants(unsigned part) const { return (wanted_parts_ >> part & 1) != 0; }

  // What is to be done with the next bytes of an entry's key.
  struct Step {
    enum class Form : uint8_t {
      kPass,     // nobody wants these `bytes`
      kInteger,  // of so many `bytes`, to `at` in the record
      kPart,     // the entry's part number `at`, of whatever form
    };
    Form form;
    bool is_signed;
    uint16_t bytes;
    uint32_t at;
  };
  static constexpr unsigned kStepsMax = 12;

  void AddStep(const Step& step) {
    if (step_count_ < kStepsMax) steps_[step_count_] = step;
    ++step_count_;
  }
  // Whether an entry without originals can be read by the steps.
  bool has_steps() const { return step_count_ != 0 && step_count_ <= kStepsMax; }

  uint64_t wanted_parts_ = 0;        // bit per entry part
  unsigned visited_part_count_ = 0;  // the parts up to the last one that matters
  bool reads_originals_ = false;
  unsigned step_count_ = 0;
  std::array<Step, kStepsMax> steps_;
  ColumnSet missing_;
};

// Knows one index of one table.
//
// Words: the *own parts* are those the user declared; the *entry parts* are the own parts and
// then the primary key's parts that are not there already (none for the primary key itself). One is
// there already when the index has as much of the same column.
//
// Thread rule: immutable after construction; shared by all threads. Self-contained: keeps
// nothing of the RecordLayout or the primary codec it was made from, but shares the default record and
// borrows collations.
//
// All record pointers are to records of the layout given at construction.
class IndexCodec {
 public:
  // The server allows 32 parts to a key.
  static constexpr unsigned kEntryPartsMax = 64;

  // The primary key. No parts: a hidden one, whose only part is an 8-byte row id.
  static IndexCodec Primary(const RecordLayout& layout, IndexId id, const std::vector<KeyPart>& parts);
  static IndexCodec Secondary(const RecordLayout& layout, IndexId id, const std::vector<KeyPart>& parts, bool unique,
                              const IndexCodec& primary);

  IndexId id() const { return id_; }
  bool is_primary() const { return is_primary_; }
  bool has_hidden_row_id() const { return hidden_row_id_; }
  bool unique() const { return unique_; }
  // Number of parts the user declared; 0 for a hidden primary key.
  unsigned own_part_count() const { return own_part_count_; }
  // Own parts and the primary key's rest. Search keys may have up to this many for indexes that
  // are not unique, and own_part_count() for those that are.
  unsigned entry_part_count() const { return static_cast<unsigned>(parts_.size()); }

  // Whether the last part of an entry is a hidden row id, which is no column's value.
  bool ends_with_row_id() const { return ends_with_row_id_; }

  // --- Encoding. All of these append. ---

  // The key of the row. Primary only. `hidden_row_id` is read only when has_hidden_row_id().
  void EncodePrimaryKey(const uint8_t* record, uint64_t hidden_row_id, ByteBuffer* key) const;

  // The whole entry of the row. Secondary only. `primary_key` is the row's whole primary key
  // (with its index id).
  void EncodeEntry(const uint8_t* record, ByteView primary_key, ByteBuffer* key, ByteBuffer* value) const;

  // Index id and the first `part_count` parts of a search tuple. The tuple is in the server's
  // key_copy() format, whole parts only, and those of the entry, in its order: a prefix that the primary key has of a column
  // is one, though the column be an own part. A hidden row id cannot be searched this way.
  void EncodeSearchKey(const uint8_t* tuple, unsigned part_count, ByteBuffer* key) const;

  // The same bytes, from a record.
  void EncodeTupleFromRecord(const uint8_t* record, unsigned part_count, ByteBuffer* key) const;

  // The same for a row of another table, from its `columns`, of which none is NULL: what entries equal to it start
  // with. Precondition: each is comparable with its part's column (AreComparable() of value_copy.h), no part is a prefix.
  void EncodeTupleFromOther(const RecordLayout& other, const std::vector<uint16_t>& columns, const uint8_t* record,
                            ByteBuffer* key) const;

  // Index id only: every key of the index starts with it, no other key does.
  void EncodeIndexPrefix(ByteBuffer* key) const { key->AppendBe32(id_.value); }

  // Whether any of the own parts is NULL. Then a unique index allows duplicates.
  bool HasNullPart(const uint8_t* record) const;

  // --- Reading keys. Corruption carries index id, what is wrong and the key. ---

  // Length of index id and the first `part_count` parts of `key`; 0 when it is malformed or
  // shorter. A unique entry without NULL has own_part_count() parts in the key.
  size_t PrefixBytes(ByteView key, unsigned part_count) const;

  // Appends the primary key (with its index id) of the row the entry belongs to. For a primary
  // codec that is `key` itself.
  Status PrimaryKeyOf(ByteView key, ByteView value, ByteBuffer* primary_key) const;

  // The row id in the key of a hidden primary key. Primary with hidden row id only.
  Status HiddenRowIdOf(ByteView key, uint64_t* row_id) const;

  // Whether entries of this index give `column` back whole. For the primary key: whether its
  // key bytes alone do (columns they give only mostly or never are in the row's value).
  bool Covers(size_t column) const;

  EntryPlan Plan(const ColumnSet& wanted) const;

  // Writes the columns of the plan, null bits included, into `record`; others are not touched.
  // After Corruption these columns are unspecified. Secondary only: rows of the primary key are
  // read by RowCodec.
  Status DecodeColumns(const EntryPlan& plan, ByteView key, ByteView value, uint8_t* record) const;

 private:
  friend class RowCodec;
  // Where a part of the primary key is in an entry of a secondary.
  struct PrimarySource {
    uint8_t entry_part;
    bool inverted;
  };
  // The encoded parts of one entry, in key and value.
  struct Walk;

  IndexCodec() = default;
  void AddPart(const RecordLayout& layout, const KeyPart& part);
  void AddPrimaryRest(const IndexCodec& primary);
  void AppendPrimaryRest(ByteView primary_key, ByteBuffer* out) const;
  void AppendOriginals(const uint8_t* record, size_t value_start, ByteBuffer* value) const;
  void PlanSteps(EntryPlan* plan) const;
  [[nodiscard]] bool DecodeBySteps(const EntryPlan& plan, ByteView key, uint8_t* record) const;
  Status DecodeByParts(const EntryPlan& plan, ByteView key, ByteView value, uint8_t* record) const;
  [[nodiscard]] bool ReadOriginals(const EntryPlan& plan, const Walk& walk, uint8_t* record) const;
  Status Corrupt(const char* what, ByteView key, ByteView value) const;

  IndexId id_;
  bool is_primary_ = false;
  bool hidden_row_id_ = false;  // of a primary key
  bool ends_with_row_id_ = false;
  bool unique_ = false;
  // All of the primary key is behind the own parts, none among them.
  bool rest_is_whole_ = false;
  bool keeps_originals_ = false;
  unsigned own_part_count_ = 0;
  size_t column_count_ = 0;
  SharedBytes default_record_;
  std::vector<KeyPartCodec> parts_;          // the entry parts
  std::vector<KeyPart> declared_;            // what each was made from
  IndexId primary_id_;                       // secondaries only, as the next two
  std::vector<KeyPartCodec> primary_parts_;
  std::vector<PrimarySource> primary_sources_;
};

// Turns `key` into the least key greater than every key that starts with it. False, leaving it
// empty, when there is none (all bytes are ff).
[[nodiscard]] bool AdvancePastPrefix(ByteBuffer* key);

}  // namespace cairn::codec

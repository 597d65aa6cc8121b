// SPDX-License-Identifier: GPL-2.0-only
// The value of a primary key's entry: the row's columns that its key does not give back. The
// format is docs/formats/row.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/shared_bytes.h"
#include "base/status.h"
#include "codec/column_set.h"
#include "codec/index_codec.h"
#include "codec/record_layout.h"
#include "codec/row_history.h"

namespace cairn::codec {

struct EarlierPlan;
struct EarlierPlans;
struct EarlierVersion;
struct EarlierVersions;

// The straight-line work to fill a set of columns of a record from a row. Made once per statement
// by RowCodec::Plan(); used only with that codec. Thread rule: shared by all threads; nothing of it changes
// but that plans for rows of earlier schema versions are added when the first such row comes.
class DecodePlan {
 private:
  friend class RowCodec;
  DecodePlan() = default;

  // A stretch of wanted columns that lie side by side in the row and in the record.
  struct Run {
    uint32_t row_offset;  // from the start of the fixed columns, when none is absent
    uint32_t record_offset;
    uint32_t bytes;
  };
  struct NullByte {
    uint32_t record_offset;
    uint8_t mask;
  };
  // A column of variable size, wanted or before one that is.
  struct Variable {
    enum class Form : uint8_t {
      kUnwanted,
      kVarchar1,    // one byte of length before the data
      kVarchar2,    // two
      kSpacedChar,  // padded with single bytes
      kOther,
    };
    uint32_t record_offset;
    uint32_t bytes_max;  // of the data; CHAR(n): what the column takes
    uint32_t absence_bit;  // kNoBit: it is always there
    uint16_t slot;  // among those of variable size
    Form form;
  };
  // A wanted integer of the key.
  struct KeyInteger {
    uint32_t key_offset;
    uint32_t record_offset;
    uint32_t bytes;
    bool is_signed;
  };

  uint64_t wanted_key_parts_ = 0;     // bit per part of the primary key
  unsigned visited_key_parts_ = 0;    // the parts up to the last wanted
  unsigned visited_fixed_ = 0;        // likewise, slots of fixed size
  uint32_t dense_bytes_ = 0;          // what the visited fixed slots take when none is absent
  std::vector<Run> runs_;
  std::vector<NullByte> null_bytes_;  // null bits of the wanted columns
  std::vector<uint8_t> slow_mask_;    // presence bits that must be zero for runs_ and null_bytes_ to do
  std::vector<uint8_t> wants_slot_;   // per slot of fixed size
  std::vector<Variable> variables_;   // the slots of variable size up to the last wanted
  // Where the visited key parts take the same bytes in every key and the wanted ones are integers in ascending order: these,
  // and the bytes with the index's number; else 0.
  std::vector<KeyInteger> key_integers_;
  uint32_t integer_key_bytes_ = 0;
  std::shared_ptr<EarlierPlans> earlier_;  // null when the table has no earlier versions
};

// Knows the rows of one table: writes them at its present schema version, reads them at that and at earlier
// ones, whose columns are given the places they have in present records.
//
// Thread rule: shared by all threads; nothing of it changes after construction but that what reads rows of an earlier
// version is added when the first such row comes. Self-contained, but shares the default record and the history, and
// borrows collations.
class RowCodec {
 public:
  // `primary` is the table's primary key codec, made from the same layout. `schema_version` is
  // written into each row. `history`, null when there are no earlier versions, must be sound (IsSound) and its versions
  // fewer than `schema_version`.
  RowCodec(const RecordLayout& layout, const IndexCodec& primary, uint32_t schema_version,
           std::shared_ptr<const RowHistory> history = nullptr);

  uint32_t schema_version() const { return schema_version_; }

  // Appends the value of the row in `record`.
  void Encode(const uint8_t* record, ByteBuffer* value) const;

  // Virtual generated columns in `wanted` are ignored: the server computes them.
  DecodePlan Plan(const ColumnSet& wanted) const;

  // Writes the columns of the plan, null bits included, into `record`; other columns are not
  // touched. A kBlob column gets a pointer into `value`, valid as long as `value` is, or into the
  // codec's history.
  // Corruption (a row of a schema version the table never had included) leaves these columns unspecified.
  Status Decode(const DecodePlan& plan, ByteView key, ByteView value, uint8_t* record) const;

 private:
  static constexpr uint32_t kNoBit = UINT32_MAX;
  static constexpr unsigned kNoPart = UINT32_MAX;
  static constexpr uint16_t kNoPosition = UINT16_MAX;  // of dropped columns, and of a hidden row id
  static constexpr size_t kKeptLengths = 16;  // of a row's lengths, those that are read once

  // A column's place in the row.
  struct Slot {
    ColumnLayout column;
    uint16_t position = 0;       // in RecordLayout::columns, or kNoPosition
    uint32_t absence_bit = kNoBit;
    unsigned key_part = kNoPart;  // absent means: the key gives it back, by this part
    uint32_t dense_offset = 0;   // fixed slots only
  };

  // Of an earlier version of the rows of `present`, to decode them. `columns` are the slots' columns and positions, in
  // the order of the table then.
  RowCodec(const RowCodec& present, const std::vector<Slot>& columns, uint32_t schema_version);
  static std::vector<Slot> SlotsOf(const RecordLayout& layout);
  // By their ids, all columns that rows of any version have: where they are in the present record.
  std::unordered_map<uint32_t, Slot> SlotsOfAllVersions() const;
  // Of version number `index` of the history.
  std::unique_ptr<const EarlierVersion> MakeEarlierVersion(size_t index) const;
  std::unique_ptr<const EarlierPlan> PlanEarlierVersion(const ColumnSet& wanted, size_t index) const;
  // `columns` as above.
  void AddSlots(const std::vector<Slot>& columns);
  void PlaceSlots();
  bool IsAbsent(const Slot& slot, const uint8_t* record) const;
  void EncodeFixed(const uint8_t* record, const uint8_t* bitmap, ByteBuffer* value) const;
  void EncodeVariable(const uint8_t* record, size_t bitmap_at, ByteBuffer* value) const;
  void PlanKey(DecodePlan* plan) const;
  void PlanFixed(DecodePlan* plan) const;
  static DecodePlan::Variable::Form FormOf(const ColumnLayout& column);
  // Inlined into Decode(), the hot path; the earlier versions' codecs call the other.
  [[gnu::always_inline]] inline const char* DecodeRow(const DecodePlan& plan, ByteView value, uint8_t* record) const;
  [[gnu::noinline]] const char* DecodeOwnRow(const DecodePlan& plan, ByteView value, uint8_t* record) const;
  [[gnu::noinline]] const char* DecodeEarlierRow(const DecodePlan& plan, ByteView value, uint8_t* record) const;
  // Out of line, so that the hot path needs no room for its texts.
  [[gnu::noinline]] Status Damaged(const char* wrong, ByteView key, ByteView value) const;
  void FillInitial(const ColumnLayout& column, const InitialValue& initial, uint8_t* record) const;
  [[gnu::always_inline]] inline const char* DecodeKey(const DecodePlan& plan, ByteView key, uint8_t* record) const;
  const char* DecodeKeyParts(const DecodePlan& plan, ByteView key, uint8_t* record) const;
  [[gnu::always_inline]] inline const char* DecodeDense(const DecodePlan& plan, const uint8_t* fixed, const uint8_t* end,
                                                        uint8_t* record) const;
  const char* DecodeFixedSparsely(const DecodePlan& plan, const uint8_t* bitmap, const uint8_t* at,
                                  const uint8_t* end, uint8_t* record) const;
  [[gnu::always_inline]] inline bool StoreVariable(const DecodePlan::Variable& variable, const uint8_t* value, uint32_t bytes,
                                                   uint8_t* record) const;
  const char* DecodeVariable(const DecodePlan& plan, const uint8_t* bitmap, const uint8_t* at, const uint8_t* end,
                             uint8_t* record) const;
  uint32_t AbsentFixedBytes(const uint8_t* bitmap) const;
  uint32_t PresentVariableCount(const uint8_t* bitmap) const;

  uint32_t schema_version_;
  std::string version_bytes_;  // the schema version as each row begins
  IndexId primary_id_;
  SharedBytes default_record_;
  std::vector<KeyPartCodec> key_parts_;
  std::vector<uint16_t> key_columns_;
  std::vector<Slot> fixed_;
  std::vector<Slot> variable_;
  uint32_t bitmap_bytes_ = 0;
  uint32_t absence_bits_ = 0;
  uint32_t fixed_absence_bits_ = 0;  // the first ones belong to fixed slots
  uint32_t fixed_bytes_ = 0;         // of all fixed slots when none is absent
  std::vector<DecodePlan::Run> runs_;  // all fixed slots
  std::shared_ptr<EarlierVersions> earlier_;  // null when there are none
};

}  // namespace cairn::codec

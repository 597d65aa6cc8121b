// SPDX-License-Identifier: GPL-2.0-only
// Adapts CHARSET_INFO to codec::Collation. What a weight is, and how wide, is found by weighing a
// space, so that collations added by later servers or by users' tailorings need no list here.
#include "server/collation.h"

#include <my_global.h>

#include <m_ctype.h>
#include <my_bit.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>

namespace cairn::server {
namespace {

using codec::Collation;
using codec::PadRule;

// As MY_ALL_CHARSETS_SIZE, which the server keeps to itself.
constexpr size_t kCollationNumbersMax = 4096;

// Weights that strnxfrm() may write for one more character; less room left than this may mean
// that it stopped for want of room.
constexpr size_t kRoomForOneMore = 64;

const uchar* Bytes(ByteView text) { return reinterpret_cast<const uchar*>(text.data()); }

// Appends what strnxfrm() makes of the text on one level, however long it gets.
void AppendSortKey(CHARSET_INFO* charset, ByteView text, uint level_flag, ByteBuffer* out) {
  size_t room = text.size() / charset->mbminlen * 2 + kRoomForOneMore;
  for (;; room *= 4) {
    const size_t start = out->size();
    uint8_t* to = out->Extend(room);
    const size_t size =
        charset->coll->strnxfrm(charset, to, room, UINT_MAX32, Bytes(text), text.size(), level_flag);
    out->Truncate(start + size);
    if (room - size >= kRoomForOneMore / 2) return;
    out->Truncate(start);
  }
}

// The levels of a collation as strnxfrm() flags, first to last.
unsigned LevelFlags(CHARSET_INFO* charset, std::array<uint, Collation::kLevelsMax>* flags) {
  unsigned count = 0;
  for (unsigned level = 0; level < MY_STRXFRM_NLEVELS && count < flags->size(); ++level) {
    if ((charset->levels_for_order >> level & 1) != 0) (*flags)[count++] = MY_STRXFRM_LEVEL1 << level;
  }
  if (count == 0) (*flags)[count++] = MY_STRXFRM_LEVEL1;
  return count;
}

class ServerCollation : public Collation {
 public:
  ServerCollation(CHARSET_INFO* charset, const Shape& shape) : Collation(shape), charset_(charset) {
    LevelFlags(charset, &level_flags_);
    if (shape.pad_rule == PadRule::kTrimSpace) level_flags_[0] = MY_STRXFRM_LEVEL_ALL;
  }

  void AppendWeights(ByteView text, unsigned level, ByteBuffer* out) const override {
    AppendSortKey(charset_, text, level_flags_[level], out);
  }

  size_t PrefixBytes(ByteView text, size_t char_count) const override {
    if (charset_->mbmaxlen == 1) return std::min(text.size(), char_count);
    return std::min(text.size(), charset_->charpos(text.data(), text.data() + text.size(), char_count));
  }

 protected:
  // The server's number, from 0, of a level of ours.
  unsigned level_number(unsigned level) const { return my_bit_log2_uint32(level_flags_[level]); }

  CHARSET_INFO* const charset_;

 private:
  std::array<uint, kLevelsMax> level_flags_{};
};

// One byte, one character, one weight: a table look-up without strnxfrm()'s overhead.
class TableCollation final : public ServerCollation {
 public:
  using ServerCollation::ServerCollation;
  void AppendWeights(ByteView text, unsigned, ByteBuffer* out) const override {
    uint8_t* to = out->Extend(text.size());
    for (const char byte : text) *to++ = charset_->sort_order[static_cast<uchar>(byte)];
  }
};

// Whether an ASCII character weighs the same whatever ASCII characters stand around it. Not so
// where a tailoring makes one letter of several ("ch").
bool AsciiStandsAlone(CHARSET_INFO* charset, unsigned level_number) {
  if ((charset->state & MY_CS_UNICODE) == 0 || charset->mbminlen != 1) return false;
  if (charset->uca == nullptr) return true;
  const MY_CONTRACTIONS& contractions = charset->uca->level[level_number].contractions;
  for (size_t item = 0; item < contractions.nitems; ++item) {
    const auto& characters = contractions.item[item].ch;
    for (size_t at = 1; at < std::size(characters); ++at) {
      if (characters[at] > 0 && characters[at] < 0x80) return false;
    }
  }
  return true;
}

// UTF-8 with units of two bytes: takes the weights of ASCII from a table, for strnxfrm() needs
// several times as long. From the character before the first other one on (an "l" with a middle
// dot behind it is one letter) the server does it.
class AsciiTableCollation final : public ServerCollation {
 public:
  AsciiTableCollation(CHARSET_INFO* charset, const Shape& shape) : ServerCollation(charset, shape) {
    for (unsigned level = 0; level < shape.level_count; ++level) {
      const bool usable = AsciiStandsAlone(charset, level_number(level));
      for (size_t character = 0; character < kAsciiCount; ++character) {
        const char byte = static_cast<char>(character);
        ByteBuffer weight;
        ServerCollation::AppendWeights(ByteView(&byte, 1), level, &weight);
        Weight& entry = table_[level][character];
        entry.bytes = usable && weight.size() <= sizeof entry.unit ? static_cast<uint8_t>(weight.size()) : kNoEntry;
        if (entry.bytes == sizeof entry.unit) std::memcpy(entry.unit, weight.data(), sizeof entry.unit);
      }
    }
  }

  void AppendWeights(ByteView text, unsigned level, ByteBuffer* out) const override {
    const std::array<Weight, kAsciiCount>& table = table_[level];
    const size_t start = out->size();
    uint8_t* const begin = out->Extend(text.size() * sizeof(Weight::unit));
    uint8_t* to = begin;
    size_t at = 0;
    for (; at < text.size(); ++at) {
      const uint8_t byte = static_cast<uint8_t>(text[at]);
      if (byte >= kAsciiCount || table[byte].bytes == kNoEntry) break;
      // Without a branch: a character without weight is written over.
      std::memcpy(to, table[byte].unit, sizeof(Weight::unit));
      to += table[byte].bytes;
    }
    if (at < text.size() && at > 0) to -= table[static_cast<uint8_t>(text[--at])].bytes;
    out->Truncate(start + static_cast<size_t>(to - begin));
    if (at < text.size()) ServerCollation::AppendWeights(text.substr(at), level, out);
  }

 private:
  static constexpr size_t kAsciiCount = 0x80;
  static constexpr uint8_t kNoEntry = 0xff;
  struct Weight {
    uint8_t unit[2] = {0, 0};
    uint8_t bytes = kNoEntry;  // 0: the character has no weight
  };
  std::array<std::array<Weight, kAsciiCount>, kLevelsMax> table_;
};

// big5_chinese_ci compares two-byte characters by their codes, but its strnxfrm() sorts them by
// strokes. Keys follow the comparison, as indexes of other engines do.
class Big5Collation final : public ServerCollation {
 public:
  using ServerCollation::ServerCollation;
  void AppendWeights(ByteView text, unsigned, ByteBuffer* out) const override {
    const uchar* at = Bytes(text);
    const uchar* const end = at + text.size();
    while (at != end) {
      const int size = charset_->charlen(at, end);
      if (size == 2) {
        out->Append(at, 2);
        at += 2;
        continue;
      }
      if (size <= 0) out->AppendU8(kIllegalLead);
      out->AppendU8(size <= 0 ? *at : charset_->sort_order[*at]);
      ++at;
    }
  }

 private:
  // A byte that is no character sorts after all that are.
  static constexpr uint8_t kIllegalLead = 0xff;
};

// tis620_thai_nopad_ci compares no further than a zero byte.
class ThaiNoPadCollation final : public ServerCollation {
 public:
  using ServerCollation::ServerCollation;
  void AppendWeights(ByteView text, unsigned level, ByteBuffer* out) const override {
    const size_t start = out->size();
    ServerCollation::AppendWeights(text, level, out);
    const ByteView weights = out->view().substr(start);
    const size_t zero = weights.find('\0');
    if (zero != ByteView::npos) out->Truncate(start + zero);
  }
};

// Character sets whose binary collations order text as memcmp orders its bytes: all but those
// where surrogate pairs or little-endian units put bytes and code points in different orders.
bool BytesAreInOrder(CHARSET_INFO* charset) {
  if ((charset->state & MY_CS_BINSORT) == 0) return false;
  const std::string_view name(charset->cs_name.str, charset->cs_name.length);
  return name != "utf16" && name != "utf16le";
}

void WeighSpace(CHARSET_INFO* charset, Collation::Shape* shape) {
  std::array<uint, Collation::kLevelsMax> flags{};
  shape->level_count = static_cast<uint8_t>(LevelFlags(charset, &flags));
  const ByteView space = AsBytes(shape->space_text, shape->char_bytes_min);
  for (unsigned level = 0; level < shape->level_count; ++level) {
    ByteBuffer weight;
    AppendSortKey(charset, space, flags[level], &weight);
    if (level == 0) shape->unit_bytes = static_cast<uint8_t>(weight.size());
    if (weight.size() != shape->unit_bytes || weight.size() > Collation::kUnitBytesMax) {
      shape->unit_bytes = 0;
      return;
    }
    std::memcpy(shape->space_weight[level], weight.data(), weight.size());
  }
}

PadRule PadRuleOf(CHARSET_INFO* charset) {
  if ((charset->state & MY_CS_NOPAD) != 0 || charset == &my_charset_bin) return PadRule::kNoPad;
  // The Czech collations of old: one key for all levels, which switches between them.
  if ((charset->state & MY_CS_STRNXFRM_BAD_NWEIGHTS) != 0) return PadRule::kTrimSpace;
  return PadRule::kPadSpace;
}

std::unique_ptr<const Collation> MakeCollation(CHARSET_INFO* charset) {
  const std::string_view name(charset->cs_name.str, charset->cs_name.length);
  Collation::Shape shape;
  shape.id = charset->number;
  shape.pad_rule = PadRuleOf(charset);
  shape.char_bytes_min = static_cast<uint8_t>(charset->mbminlen);
  shape.char_bytes_max = static_cast<uint8_t>(charset->mbmaxlen);
  charset->fill(reinterpret_cast<char*>(shape.space_text), charset->mbminlen, ' ');
  shape.raw = BytesAreInOrder(charset);
  shape.trailing_spaces_stand_alone = name != "tis620" || shape.raw;
  if (shape.raw) {
    shape.unit_bytes = shape.char_bytes_min;
    std::memcpy(shape.space_weight[0], shape.space_text, shape.unit_bytes);
    return std::make_unique<ServerCollation>(charset, shape);
  }
  // The server keeps this character set for file names; no column can have it.
  if ((charset->state & MY_CS_HIDDEN) != 0) return nullptr;
  if (shape.pad_rule == PadRule::kTrimSpace) return std::make_unique<ServerCollation>(charset, shape);
  WeighSpace(charset, &shape);
  if (shape.unit_bytes == 0) return nullptr;
  if (charset->coll == &my_collation_8bit_simple_ci_handler ||
      charset->coll == &my_collation_8bit_simple_nopad_ci_handler) {
    return std::make_unique<TableCollation>(charset, shape);
  }
  if (name == "big5") return std::make_unique<Big5Collation>(charset, shape);
  if (name == "tis620" && shape.pad_rule == PadRule::kNoPad) {
    return std::make_unique<ThaiNoPadCollation>(charset, shape);
  }
  if (shape.unit_bytes == 2 && (charset->state & MY_CS_UNICODE) != 0) {
    return std::make_unique<AsciiTableCollation>(charset, shape);
  }
  return std::make_unique<ServerCollation>(charset, shape);
}

}  // namespace

const codec::Collation* CollationOf(const charset_info_st* charset) {
  static std::array<std::atomic<const Collation*>, kCollationNumbersMax> cache;
  static std::mutex mutex;
  if (charset->number >= cache.size()) return nullptr;
  std::atomic<const Collation*>& slot = cache[charset->number];
  if (const Collation* known = slot.load(std::memory_order_acquire)) return known;
  std::lock_guard<std::mutex> lock(mutex);
  if (const Collation* known = slot.load(std::memory_order_relaxed)) return known;
  const Collation* made = MakeCollation(charset).release();
  slot.store(made, std::memory_order_release);
  return made;
}

}  // namespace cairn::server

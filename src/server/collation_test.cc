// SPDX-License-Identifier: GPL-2.0-only
// Every collation of the server, in keys: the order of keys is the server's order of the values,
// and the values come back from the index.
#include "server/collation.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <my_global.h>

#include <m_ctype.h>
#include <my_sys.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "codec/evidence.h"
#include "codec/index_codec.h"

#undef min
#undef max

namespace cairn::server {
namespace {

using codec::ColumnLayout;
using codec::ColumnType;
using codec::IndexCodec;
using codec::RecordLayout;

constexpr size_t kChars = 12;

// Characters that collations are known to treat in special ways.
constexpr uint32_t kLetters[] = {'a', 'A', 'b', 'B', 'c', 'C', 'h', 'H', 'l', 'L', 'j', 'd', 'z', 's', 'S', 'n', 'e', 'o'};
constexpr uint32_t kOddities[] = {
    0x00, 0x01, 0x09, 0x0a, 0x1f, 0x7f, ' ', '!', '-', '0', '~', 0xa0, 0xad, 0xb7, 0x387, 0xc4, 0xc5, 0xc6, 0xd6, 0xdf, 0xe4, 0xe5,
    0xe9, 0xf1, 0xfc, 0xff, 0x10d, 0x131, 0x130, 0x159, 0x161, 0x1c4, 0x1c6, 0x300, 0x301, 0x308, 0x30a, 0x3b1,
    0x3c2, 0x3c3, 0x410, 0x430, 0x451, 0x5d0, 0x627, 0x964, 0xe01, 0xe10, 0xe40, 0xe44, 0xe31, 0xe34, 0xe47, 0xe48,
    0xe49, 0xe4c, 0xe4d, 0x1e9e, 0x200b, 0x200d, 0x2028, 0x3000, 0x3042, 0x3044, 0x304b, 0x304c, 0x30a2, 0x30a1,
    0x30fc, 0x309d, 0x4e00, 0x4e01, 0x4e8c, 0x9fa5, 0xac00, 0xac01, 0xe000, 0xf8ff, 0xfb00, 0xfeff, 0xff21, 0xff66,
    0xff71, 0xfffd, 0xffff, 0x10000, 0x10400, 0x10428, 0x1d400, 0x1f600, 0x20000, 0x10ffff};

class Texts {
 public:
  Texts(CHARSET_INFO* charset, unsigned seed) : charset_(charset), random_(seed) {}

  uint64_t Below(uint64_t bound) { return random_() % bound; }

  std::string Character(uint32_t code_point) const {
    uchar bytes[16];
    const int size = charset_->cset->wc_mb(charset_, code_point, bytes, bytes + sizeof bytes);
    return size <= 0 ? std::string() : std::string(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  }

  std::string AnyCharacter() {
    for (;;) {
      std::string text = Character(AnyCodePoint());
      if (!text.empty()) return text;
    }
  }

  std::vector<std::string> Some() {
    std::vector<std::string> text(Below(kChars / 2));
    for (std::string& character : text) character = AnyCharacter();
    Pad(&text);
    return text;
  }

  // A text that differs from `text` little or not at all.
  std::vector<std::string> Near(std::vector<std::string> text) {
    for (uint64_t change = Below(3); change != 0; --change) {
      const size_t at = Below(text.size() + 1);
      const uint64_t kind = Below(4);
      if (kind == 0 && text.size() < kChars) {
        text.insert(text.begin() + static_cast<ptrdiff_t>(at), AnyCharacter());
      } else if (kind == 1 && at < text.size()) {
        text.erase(text.begin() + static_cast<ptrdiff_t>(at));
      } else if (at < text.size()) {
        text[at] = AnyCharacter();
      }
    }
    Pad(&text);
    return text;
  }

 private:
  uint32_t AnyCodePoint() {
    switch (Below(8)) {
      case 0: return ' ';
      case 1: return static_cast<uint32_t>(Below(0x80));
      case 2: return static_cast<uint32_t>(Below(0x600));
      case 3: return static_cast<uint32_t>(Below(0x10000));
      case 4: return kOddities[Below(std::size(kOddities))];
      case 5: return Below(4) == 0 ? 0x4e00 + static_cast<uint32_t>(Below(0x5200)) : 'e';
      default: return kLetters[Below(std::size(kLetters))];
    }
  }

  void Pad(std::vector<std::string>* text) {
    if (Below(4) != 0) return;
    for (uint64_t spaces = Below(3); spaces != 0 && text->size() < kChars; --spaces) text->push_back(Character(' '));
  }

  CHARSET_INFO* charset_;
  std::mt19937_64 random_;
};

std::string Join(const std::vector<std::string>& characters) {
  std::string text;
  for (const std::string& character : characters) text += character;
  return text;
}

int Sign(int number) { return number < 0 ? -1 : number > 0 ? 1 : 0; }
int Compare(ByteView a, ByteView b) { return Sign(a.compare(b)); }

// A table of one text column with indexes on it, and the record to fill.
class OneColumn {
 public:
  OneColumn(CHARSET_INFO* charset, ColumnType type, uint32_t prefix_chars) : charset_(charset) {
    const uint32_t bytes_max = static_cast<uint32_t>(kChars * charset->mbmaxlen);
    ColumnLayout column;
    column.type = type;
    column.offset = 1;
    column.length_bytes = type == ColumnType::kVarchar ? 2 : 0;
    column.pack_length = bytes_max + column.length_bytes;
    column.data_bytes_max = bytes_max;
    column.collation = CollationOf(charset);
    layout_.columns.push_back(column);
    layout_.record_bytes = 1 + column.pack_length;
    layout_.null_bytes = 1;
    record_.assign(layout_.record_bytes, 0);
    primary_.emplace_back(IndexCodec::Primary(layout_, IndexId(1), {}));
    const uint32_t prefix_bytes = prefix_chars * charset->mbmaxlen;
    const codec::KeyPart ascending{.prefix_bytes = prefix_bytes}, descending{.prefix_bytes = prefix_bytes, .descending = true};
    ascending_.emplace_back(IndexCodec::Secondary(layout_, IndexId(2), {ascending}, false, primary_[0]));
    descending_.emplace_back(IndexCodec::Secondary(layout_, IndexId(2), {descending}, false, primary_[0]));
  }

  bool is_supported() const { return layout_.columns[0].collation != nullptr; }

  void Store(const std::string& text) {
    const ColumnLayout& column = layout_.columns[0];
    uint8_t* at = record_.data() + 1;
    if (column.type == ColumnType::kVarchar) {
      StoreLe16(at, static_cast<uint16_t>(text.size()));
      std::memcpy(at + 2, text.data(), text.size());
      std::memset(at + 2 + text.size(), 0, column.data_bytes_max - text.size());
    } else {
      std::memcpy(at, text.data(), text.size());
      charset_->fill(reinterpret_cast<char*>(at) + text.size(), column.pack_length - text.size(), ' ');
    }
  }

  std::string Key(const std::string& text, bool descending) {
    Store(text);
    ByteBuffer key;
    (descending ? descending_ : ascending_)[0].EncodeTupleFromRecord(record_.data(), 1, &key);
    return key.ToString();
  }

  // Compares as Field_string::cmp() does, with values that fill the record.
  int CompareRecords(const std::string& a, const std::string& b) {
    const auto padded = [&](const std::string& text) {
      Store(text);
      return std::string(record_.begin() + 1, record_.end());
    };
    const std::string left = padded(a), right = padded(b);
    return Sign(charset_->coll->strnncollsp_nchars(charset_, reinterpret_cast<const uchar*>(left.data()), left.size(),
                                                   reinterpret_cast<const uchar*>(right.data()), right.size(), kChars,
                                                   0));
  }

  // Whether an index gives back the record with `text`, and its primary key.
  bool ComesBack(const std::string& text, bool descending) {
    const IndexCodec& index = (descending ? descending_ : ascending_)[0];
    Store(text);
    ByteBuffer primary_key, key, value, primary_again;
    primary_[0].EncodePrimaryKey(record_.data(), 7, &primary_key);
    index.EncodeEntry(record_.data(), primary_key.view(), &key, &value);
    const codec::EntryPlan plan = index.Plan(codec::ColumnSet::All(1));
    std::vector<uint8_t> back(record_.size(), 0);
    if (!plan.complete()) return false;
    if (!index.DecodeColumns(plan, key.view(), value.view(), back.data()).ok()) return false;
    if (!index.PrimaryKeyOf(key.view(), value.view(), &primary_again).ok()) return false;
    return back == record_ && primary_again.view() == primary_key.view();
  }

 private:
  CHARSET_INFO* charset_;
  RecordLayout layout_;
  std::vector<uint8_t> record_;
  std::vector<IndexCodec> primary_, ascending_, descending_;
};

class CollationTest : public ::testing::Test {
 public:
  static void SetUpTestSuite() {
    my_init();
    Dl_info library;
    ASSERT_NE(dladdr(reinterpret_cast<void*>(&get_charset_name), &library), 0);
    // <prefix>/lib/libmariadbd.so, where lib may be a link to elsewhere.
    const auto prefix = std::filesystem::path(library.dli_fname).parent_path().parent_path();
    static std::string directory = (prefix / "share/mysql/charsets/").string();
    ASSERT_TRUE(std::filesystem::exists(directory + "Index.xml")) << directory;
    charsets_dir = directory.data();
  }

  static std::vector<CHARSET_INFO*> All() {
    std::vector<CHARSET_INFO*> all;
    for (uint number = 1; number < 4096; ++number) {
      CHARSET_INFO* charset = get_charset(number, MYF(0));
      // The character set of file names is not for columns.
      if (charset != nullptr && (charset->state & MY_CS_HIDDEN) == 0) all.push_back(charset);
    }
    return all;
  }
};

std::string Describe(CHARSET_INFO* charset, const std::string& a, const std::string& b) {
  return std::string(charset->coll_name.str) + " (" + std::to_string(charset->number) + "): " + codec::HexEvidence(a) +
         " and " + codec::HexEvidence(b);
}

int ServerCompare(CHARSET_INFO* charset, const std::string& a, const std::string& b) {
  return Sign(charset->coll->strnncollsp(charset, reinterpret_cast<const uchar*>(a.data()), a.size(),
                                         reinterpret_cast<const uchar*>(b.data()), b.size()));
}

// Runs `check(column, texts, a, b)` on random pairs for each collation; it returns what is wrong,
// or nothing. Reports each collation once.
template <typename Check>
void ForAllPairs(ColumnType type, unsigned rounds, uint32_t prefix_chars, Check check) {
  const std::vector<CHARSET_INFO*> all = CollationTest::All();
  EXPECT_GT(all.size(), 300u);
  for (CHARSET_INFO* charset : all) {
    OneColumn column(charset, type, prefix_chars);
    EXPECT_TRUE(column.is_supported()) << charset->coll_name.str;
    if (!column.is_supported()) continue;
    Texts texts(charset, charset->number);
    unsigned failed = 0;
    for (unsigned round = 0; round < rounds; ++round) {
      const std::vector<std::string> some = texts.Some();
      const std::vector<std::string> other = texts.Below(2) == 0 ? texts.Some() : texts.Near(some);
      const std::string wrong = check(charset, &column, some, other);
      if (wrong.empty() || failed++ != 0) continue;
      ADD_FAILURE() << Describe(charset, Join(some), Join(other)) << ": " << wrong;
    }
    if (failed > 1) ADD_FAILURE() << charset->coll_name.str << " failed " << failed << " times";
  }
}

std::string Differ(int expected, int ascending, int descending) {
  if (expected == ascending && -expected == descending) return {};
  return "server " + std::to_string(expected) + ", ascending " + std::to_string(ascending) + ", descending " +
         std::to_string(descending);
}

using Characters = std::vector<std::string>;

TEST_F(CollationTest, VarcharKeysAreInTheServersOrder) {
  ForAllPairs(ColumnType::kVarchar, 2000, 0,
              [](CHARSET_INFO* charset, OneColumn* column, const Characters& some, const Characters& other) {
                const std::string a = Join(some), b = Join(other);
                return Differ(ServerCompare(charset, a, b), Compare(column->Key(a, false), column->Key(b, false)),
                              Compare(column->Key(a, true), column->Key(b, true)));
              });
}

TEST_F(CollationTest, PrefixKeysAreInTheOrderOfThePrefixes) {
  static constexpr size_t kPrefix = 3;
  ForAllPairs(ColumnType::kVarchar, 500, kPrefix,
              [](CHARSET_INFO* charset, OneColumn* column, Characters some, Characters other) {
                const std::string a = Join(some), b = Join(other);
                const int ascending = Compare(column->Key(a, false), column->Key(b, false));
                const int descending = Compare(column->Key(a, true), column->Key(b, true));
                some.resize(std::min<size_t>(some.size(), kPrefix));
                other.resize(std::min<size_t>(other.size(), kPrefix));
                return Differ(ServerCompare(charset, Join(some), Join(other)), ascending, descending);
              });
}

TEST_F(CollationTest, VarcharAndCharComeBackFromTheIndex) {
  for (const ColumnType type : {ColumnType::kVarchar, ColumnType::kChar}) {
    ForAllPairs(type, 300, 0, [](CHARSET_INFO*, OneColumn* column, const Characters& some, const Characters& other) {
      const bool back = column->ComesBack(Join(some), false) && column->ComesBack(Join(other), true);
      return std::string(back ? "" : "does not come back");
    });
  }
}

// CHAR(n) compares as in the padding collation of the same name: then what SQL calls equal has
// one key, also where the number of weights is not the number of characters.
TEST_F(CollationTest, CharKeysAreInTheOrderOfThePaddingCollation) {
  ForAllPairs(ColumnType::kChar, 1000, 0,
              [](CHARSET_INFO* charset, OneColumn* column, const Characters& some, const Characters& other) {
                const std::string a = Join(some), b = Join(other);
                std::string name(charset->coll_name.str);
                if (const size_t nopad = name.find("nopad_"); nopad != std::string::npos) name.erase(nopad, 6);
                CHARSET_INFO* padding = get_charset_by_name(name.c_str(), MYF(0));
                if (padding == nullptr) return name + " is missing";
                // The one collation for which a zero byte ends the text only when it does not pad.
                const bool stops_at_zero = std::string_view(charset->coll_name.str) == "tis620_thai_nopad_ci";
                if (stops_at_zero && (a + b).find('\0') != std::string::npos) return std::string();
                return Differ(OneColumn(padding, ColumnType::kChar, 0).CompareRecords(a, b),
                              Compare(column->Key(a, false), column->Key(b, false)),
                              Compare(column->Key(a, true), column->Key(b, true)));
              });
}

}  // namespace
}  // namespace cairn::server

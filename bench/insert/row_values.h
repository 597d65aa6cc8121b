// SPDX-License-Identifier: GPL-2.0-only
// The values of inserted rows and the starts of range queries.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "generation.h"
#include "random.h"

namespace cairn::bench::insert {

// Base64 text of random bytes, from which all threads of a program cut.
class RandomText {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;

  explicit RandomText(uint64_t seed) : text_(kBytes, '\0') {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Random random(seed, /*stream=*/0);
    for (char& c : text_) c = kAlphabet[random.Below(kAlphabet.size())];
  }

  // `bytes` of it, from a random place.
  std::string_view Cut(size_t bytes, Random* random) const {
    return std::string_view(text_).substr(random->Below(kBytes - bytes + 1), bytes);
  }

 private:
  std::string text_;
};

// One row without its id and time. `price` is in units of 1 / Generation::price_scale.
struct RowValues {
  uint64_t cashregisterid;
  uint64_t customerid;
  uint64_t productid;
  uint64_t price;
  std::string data;
};

// Appends a price as SQL has it.
inline void AppendPrice(uint64_t price, uint64_t scale, std::string* to) {
  *to += std::to_string(price / scale);
  if (scale == 1) return;
  const uint64_t hundredths = price % scale * 100 / scale;
  *to += '.';
  *to += static_cast<char>('0' + hundredths / 10);
  *to += static_cast<char>('0' + hundredths % 10);
}

// Thread rule: one thread. The text must outlive the object.
class RowGenerator {
 public:
  static constexpr uint64_t kDataBytesMin = 10;
  static constexpr uint64_t kDataBytesMax = 20;

  RowGenerator(const Generation& generation, const RandomText& text, uint64_t seed, uint64_t stream)
      : generation_(generation), text_(text), random_(seed, stream) {}

  // Valid until the next call.
  const RowValues& Next() {
    row_.cashregisterid = random_.Below(kCashRegisters);
    row_.productid = random_.Below(kProducts);
    row_.customerid = random_.Below(kCustomers);
    row_.price = Price(row_.customerid);
    const uint64_t bytes = kDataBytesMin + random_.Below(kDataBytesMax - kDataBytesMin + 1);
    const uint64_t random_bytes = RandomBytes(bytes);
    row_.data.assign(bytes - random_bytes, 'a');
    row_.data += text_.Cut(random_bytes, &random_);
    return row_;
  }

  // How much of data of that length is random: 0.75 of a half, to the nearest byte, the smaller one of two.
  static uint64_t RandomBytes(uint64_t bytes) { return (bytes * 3 + 3) / 8; }

 private:
  // In 2016 the price follows the customer, within 5 currency units.
  uint64_t Price(uint64_t customerid) {
    if (generation_.price_scale == 1) return random_.Below(kPrices2024);
    return static_cast<uint64_t>(std::lround(random_.Unit() * 500 + static_cast<double>(customerid)));
  }

  const Generation& generation_;
  const RandomText& text_;
  Random random_;
  RowValues row_;
};

// A start for a range query, uniform over the column's values (of the rows, where they are not uniform).
inline uint64_t DrawRangeStart(RangeStart start, const Generation& generation, Random* random) {
  switch (start) {
    case RangeStart::kProduct: return random->Below(kProducts);
    case RangeStart::kCashRegister: return random->Below(kCashRegisters);
    case RangeStart::kPrice: break;
  }
  if (generation.price_scale == 1) return random->Below(kPrices2024);
  return random->Below(kCustomers) + random->Below(501);
}

}  // namespace cairn::bench::insert

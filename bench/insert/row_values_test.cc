// SPDX-License-Identifier: GPL-2.0-only
// Inserted values have the ranges and distributions of both generations.
#include "row_values.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace cairn::bench::insert {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int kRows = 200'000;

const RandomText& Text() {
  static const RandomText text(kSeed);
  return text;
}

// Mean and range of a series.
struct Series {
  double sum = 0;
  uint64_t count = 0, min = UINT64_MAX, max = 0;

  void Add(uint64_t value) {
    sum += static_cast<double>(value);
    ++count;
    min = std::min(min, value);
    max = std::max(max, value);
  }
  double mean() const { return sum / static_cast<double>(count); }
};

class RowValuesOf : public testing::TestWithParam<const Generation*> {};

TEST_P(RowValuesOf, AreUniformOverTheirColumns) {
  RowGenerator generator(*GetParam(), Text(), kSeed, 1);
  Series registers, products, customers, lengths;
  for (int i = 0; i < kRows; ++i) {
    const RowValues& row = generator.Next();
    registers.Add(row.cashregisterid);
    products.Add(row.productid);
    customers.Add(row.customerid);
    lengths.Add(row.data.size());
  }
  EXPECT_NEAR(registers.mean(), 499.5, 5);
  EXPECT_NEAR(products.mean(), 4999.5, 50);
  EXPECT_NEAR(customers.mean(), 49'999.5, 500);
  EXPECT_NEAR(lengths.mean(), 15, 0.05);
  EXPECT_EQ(registers.min, 0u);
  EXPECT_EQ(registers.max, 999u);
  EXPECT_LT(products.max, 10'000u);
  EXPECT_LT(customers.max, 100'000u);
  EXPECT_EQ(lengths.min, 10u);
  EXPECT_EQ(lengths.max, 20u);
}

INSTANTIATE_TEST_SUITE_P(Insert, RowValuesOf, testing::Values(&kIb2016, &kIb2024),
                         [](const auto& each) { return std::string(each.param->name); });

TEST(RowValues, PriceOf2016FollowsTheCustomer) {
  RowGenerator generator(kIb2016, Text(), kSeed, 1);
  Series above;
  for (int i = 0; i < kRows; ++i) {
    const RowValues& row = generator.Next();
    ASSERT_GE(row.price, row.customerid);
    above.Add(row.price - row.customerid);
  }
  EXPECT_LE(above.max, 500u);
  EXPECT_NEAR(above.mean(), 250, 2);
}

TEST(RowValues, PriceOf2024IsUniformAndIndependentOfTheCustomer) {
  RowGenerator generator(kIb2024, Text(), kSeed, 1);
  Series low_customers, high_customers;
  for (int i = 0; i < kRows; ++i) {
    const RowValues& row = generator.Next();
    (row.customerid < kCustomers / 2 ? low_customers : high_customers).Add(row.price);
  }
  EXPECT_EQ(low_customers.min, 0u);
  EXPECT_EQ(low_customers.max, 499u);
  EXPECT_NEAR(low_customers.mean(), 249.5, 3);
  EXPECT_NEAR(high_customers.mean(), 249.5, 3);
}

TEST(RowValues, DataIsOneLetterThenRandomText) {
  EXPECT_EQ(RowGenerator::RandomBytes(10), 4u);
  EXPECT_EQ(RowGenerator::RandomBytes(20), 7u);
  RowGenerator generator(kIb2024, Text(), kSeed, 1);
  std::set<std::string> tails;
  constexpr int kTails = 1000;
  for (int i = 0; i < kTails; ++i) {
    const std::string& data = generator.Next().data;
    const size_t letters = data.size() - RowGenerator::RandomBytes(data.size());
    ASSERT_EQ(data.substr(0, letters), std::string(letters, 'a'));
    tails.insert(data.substr(letters));
  }
  EXPECT_GT(tails.size(), kTails * 99 / 100);
}

TEST(RowValues, RandomTextHasBase64sSymbolsEquallyOften) {
  std::map<char, uint64_t> counts;
  for (const char c : Text().Cut(RandomText::kBytes, std::make_unique<Random>(1).get())) ++counts[c];
  EXPECT_EQ(counts.size(), 64u);
  for (const auto& [symbol, count] : counts) EXPECT_NEAR(static_cast<double>(count), 65'536, 1500) << symbol;
}

TEST(RowValues, StreamsDifferAndRepeat) {
  const auto rows = [](uint64_t seed, uint64_t stream) {
    RowGenerator generator(kIb2024, Text(), seed, stream);
    std::string text;
    for (int i = 0; i < 100; ++i) {
      const RowValues& row = generator.Next();
      text += std::to_string(row.customerid) + "/" + std::to_string(row.productid) + row.data + " ";
    }
    return text;
  };
  EXPECT_EQ(rows(1, 1), rows(1, 1));
  EXPECT_NE(rows(1, 1), rows(1, 3));
  EXPECT_NE(rows(1, 1), rows(2, 1));
}

TEST(RowValues, PricesHaveTheColumnsForm) {
  const auto text = [](uint64_t price, uint64_t scale) {
    std::string to;
    AppendPrice(price, scale, &to);
    return to;
  };
  EXPECT_EQ(text(499, 1), "499");
  EXPECT_EQ(text(100'499, 100), "1004.99");
  EXPECT_EQ(text(7, 100), "0.07");
  EXPECT_EQ(text(0, 100), "0.00");
}

TEST(RangeStarts, CoverTheirColumns) {
  Random random(kSeed);
  const std::tuple<RangeStart, const Generation*, uint64_t> cases[] = {
      {RangeStart::kProduct, &kIb2024, 10'000},
      {RangeStart::kCashRegister, &kIb2024, 1000},
      {RangeStart::kPrice, &kIb2024, 500},
      {RangeStart::kPrice, &kIb2016, 100'500},
  };
  for (const auto& [start, generation, end] : cases) {
    Series starts;
    for (int i = 0; i < kRows; ++i) starts.Add(DrawRangeStart(start, *generation, &random));
    EXPECT_LT(starts.max, end);
    EXPECT_NEAR(starts.mean() / static_cast<double>(end), 0.5, 0.01);
  }
}

}  // namespace
}  // namespace cairn::bench::insert

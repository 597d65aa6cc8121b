// SPDX-License-Identifier: GPL-2.0-only
// For tests: rows of words that come again, which are what a dictionary for blocks learns.
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace cairn::store {

// One of the 2,000 words of a kind, of twelve letters, drawn by a generator of random numbers.
template <typename Random>
std::string DrawWord(Random* random, unsigned kind = 0) {
  std::minstd_rand letters(1 + 10'000 * kind + (*random)() % 2000);
  std::string word;
  for (int i = 0; i < 12; ++i) word += static_cast<char>('a' + letters() % 26);
  return word;
}

// Appends words, each with a number that no dictionary knows behind it, until the text has so many bytes or more. A word is hardly
// twice in a block of 8 KiB, so without a dictionary that is new to itself.
template <typename Random>
void FillWithWords(size_t bytes, Random* random, std::string* text, unsigned kind = 0) {
  while (text->size() < bytes) {
    *text += DrawWord(random, kind);
    *text += std::to_string((*random)() % 1000);
  }
}

}  // namespace cairn::store

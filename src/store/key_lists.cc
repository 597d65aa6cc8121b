// SPDX-License-Identifier: GPL-2.0-only
// A merge of short lists.
#include "store/key_lists.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cairn::store {
namespace {

// Is such a part of a list that was cut, and no fewer keys, versions of its last one, then what lies before that does not
// speak for it.
constexpr size_t kCrowdPart = 4;
constexpr size_t kCrowdMin = 4;

}  // namespace

KeyLists::Rows KeyLists::Count() const {
  Rows found{.all = true};
  std::array<size_t, kListsMax> at;
  ByteView bound;  // what is complete ends before it
  for (size_t i = 0; i < list_count_; ++i) {
    at[i] = begins_[i];
    if (!cut_[i]) continue;
    const size_t count = begins_[i + 1] - begins_[i];
    if (count == 0) return {};
    const ByteView last = keys_[begins_[i + 1] - 1].view();
    const size_t crowd = std::max(kCrowdMin, count / kCrowdPart);
    if (count >= crowd && last == keys_[begins_[i + 1] - crowd].view()) return {};
    bound = found.all ? last : std::min(bound, last);
    found.all = false;
  }
  for (;;) {
    const Key* first = nullptr;  // of equal keys the newest
    uint32_t having = 0;         // bits of the lists that have it
    for (size_t i = 0; i < list_count_; ++i) {
      if (at[i] == begins_[i + 1]) continue;
      const Key& key = keys_[at[i]];
      const int order = first == nullptr ? -1 : Compare(key, *first);
      if (order < 0) first = &key;
      having = order < 0 ? 1u << i : having | uint32_t{order == 0} << i;
    }
    if (first == nullptr || (!found.all && first->view() >= bound)) return found;
    found.rows += first->is_value;
    for (; having != 0; having &= having - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(having));
      do {
        ++found.entries;
        ++at[i];
      } while (has_versions_[i] && at[i] != begins_[i + 1] && AreEqual(keys_[at[i]], *first));
    }
  }
}

}  // namespace cairn::store

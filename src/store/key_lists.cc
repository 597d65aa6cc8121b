// SPDX-License-Identifier: GPL-2.0-only
// A merge of short lists.
#include "store/key_lists.h"

#include <algorithm>

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
    for (size_t i = 0; i < list_count_; ++i) {
      if (at[i] == begins_[i + 1]) continue;
      const Key& key = keys_[at[i]];
      if (first == nullptr || key.view() < first->view()) first = &key;
    }
    if (first == nullptr || (!found.all && first->view() >= bound)) return found;
    found.rows += first->is_value;
    for (size_t i = 0; i < list_count_; ++i) {
      for (; at[i] != begins_[i + 1] && keys_[at[i]].view() == first->view(); ++at[i]) ++found.entries;
    }
  }
}

}  // namespace cairn::store

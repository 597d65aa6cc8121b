// SPDX-License-Identifier: GPL-2.0-only
// Compared byte by byte: two dictionaries differ in their first bytes, which are a number drawn from all of them.
#include "store/ready_dictionaries.h"

#include <algorithm>
#include <utility>

namespace cairn::store {

ReadyDictionary ReadyDictionaries::Find(std::string_view dictionary) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.ready != nullptr && kept.bytes == dictionary; });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().ready;
}

// Made outside of the mutex; who comes second makes another.
ReadyDictionary ReadyDictionaries::Of(std::string_view dictionary) {
  if (ReadyDictionary found = Find(dictionary)) return found;
  const ReadyDictionary made(ZSTD_createDDict(dictionary.data(), dictionary.size()),
                             [](const ZSTD_DDict* tables) { ZSTD_freeDDict(const_cast<ZSTD_DDict*>(tables)); });
  if (made == nullptr) return nullptr;
  Kept last{.bytes = std::string(dictionary), .ready = made};
  const std::lock_guard lock(mutex_);
  for (Kept& kept : kept_) std::swap(kept, last);
  return made;
}

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// Compared byte by byte: two dictionaries differ in their first bytes, which are a number drawn from all of them.
#include "store/ready_dictionaries.h"

#include <algorithm>
#include <utility>

namespace cairn::store {

std::shared_ptr<const ReadyDictionary> ReadyDictionary::Make(std::string_view dictionary) {
  ZSTD_DDict* const tables = ZSTD_createDDict(dictionary.data(), dictionary.size());
  if (tables == nullptr) return nullptr;
  return std::shared_ptr<const ReadyDictionary>(new ReadyDictionary(dictionary, tables));
}

std::shared_ptr<const ReadyDictionary> ReadyDictionaries::Find(std::string_view dictionary) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(kept_, [&](const auto& kept) { return kept != nullptr && kept->bytes() == dictionary; });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front();
}

// Made outside of the mutex; who comes second makes another.
std::shared_ptr<const ReadyDictionary> ReadyDictionaries::Of(std::string_view dictionary) {
  if (auto found = Find(dictionary)) return found;
  std::shared_ptr<const ReadyDictionary> made = ReadyDictionary::Make(dictionary);
  if (made == nullptr) return nullptr;
  std::shared_ptr<const ReadyDictionary> last = made;
  const std::lock_guard lock(mutex_);
  for (auto& kept : kept_) std::swap(kept, last);
  return made;
}

}  // namespace cairn::store

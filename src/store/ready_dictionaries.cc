// SPDX-License-Identifier: GPL-2.0-only
// Compared byte by byte: two dictionaries differ in their first bytes, which are a number drawn from all of them.
#include "store/ready_dictionaries.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/endian.h"

namespace cairn::store {
namespace {

struct FreeTables {
  void operator()(ZSTD_DDict* tables) const { ZSTD_freeDDict(tables); }
};
using OwnTables = std::unique_ptr<ZSTD_DDict, FreeTables>;

// A dictionary's number, behind Zstandard's mark. Those without a mark have some other bytes there.
uint32_t NumberOf(std::string_view dictionary) {
  constexpr size_t kMarkBytes = 4;
  return dictionary.size() < kMarkBytes + sizeof(uint32_t) ? 0 : LoadLe32(dictionary.data() + kMarkBytes);
}

}  // namespace

// The bytes are here a second time, for nobody but Zstandard sees its copy.
class ReadyDictionaries::Tables {
 public:
  Tables(std::string_view dictionary, OwnTables tables, std::shared_ptr<std::atomic<size_t>> gone)
      : dictionary_(dictionary), tables_(std::move(tables)), gone_(std::move(gone)) {}
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  ~Tables() { gone_->fetch_add(1, std::memory_order_relaxed); }

  std::string_view dictionary() const { return dictionary_; }
  const ZSTD_DDict* tables() const { return tables_.get(); }
  size_t bytes() const {
    return ZSTD_sizeof_DDict(tables_.get()) + dictionary_.capacity() + sizeof(*this) + sizeof(std::pair<uint32_t, Shared>);
  }

 private:
  const std::string dictionary_;
  const OwnTables tables_;
  const std::shared_ptr<std::atomic<size_t>> gone_;
};

ReadyDictionaries::Charge::Charge(std::shared_ptr<rocks::Cache> cache, const void* charged, size_t bytes) : cache_(std::move(cache)) {
  if (cache_ == nullptr) return;
  // Any key of the length that the cache wants: it only says which part of the cache is charged, which is not to be the same for many.
  char key[16] = {};
  std::memcpy(key, &charged, sizeof charged);
  handle_ = cache_->CreateStandalone(rocks::Slice(key, sizeof key), nullptr, &rocks::kNoopCacheItemHelper, bytes,
                                     /*allow_uncharged=*/true);
}

ReadyDictionaries::Charge::Charge(Charge&& other) noexcept
    : cache_(std::move(other.cache_)), handle_(std::exchange(other.handle_, nullptr)) {}

ReadyDictionaries::Charge::~Charge() {
  if (handle_ != nullptr) cache_->Release(handle_);
}

ReadyDictionary ReadyDictionaries::From(const std::shared_ptr<const Tables>& tables) { return {tables, tables->tables()}; }

std::shared_ptr<const ReadyDictionaries::Tables> ReadyDictionaries::Find(std::string_view dictionary) const {
  const auto [begin, end] = shared_.equal_range(NumberOf(dictionary));
  for (auto at = begin; at != end; ++at) {
    auto tables = at->second.tables.lock();
    if (tables != nullptr && tables->dictionary() == dictionary) return tables;
  }
  return nullptr;
}

// In its own place if it has one, else in that of the one that was asked for longest ago.
void ReadyDictionaries::Keep(std::shared_ptr<const Tables> tables) {
  auto place = std::ranges::find(kept_, tables);
  if (place == kept_.end()) place = std::prev(kept_.end());
  *place = std::move(tables);
  std::rotate(kept_.begin(), place, place + 1);
}

// Not all are gone over for one: of sixteen it waits for others, and is charged meanwhile.
void ReadyDictionaries::ForgetThoseThatAreGone() {
  if (16 * gone_->load(std::memory_order_relaxed) <= shared_.size()) return;
  gone_->store(0, std::memory_order_relaxed);
  std::erase_if(shared_, [](const auto& shared) { return shared.second.tables.expired(); });
}

// Made, and charged, outside of the mutex; of two who do so at once the second one's goes.
ReadyDictionary ReadyDictionaries::Of(std::string_view dictionary) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = Find(dictionary)) {
      Keep(found);
      ForgetThoseThatAreGone();  // where all share, none is made for long
      return From(found);
    }
  }
  OwnTables own(ZSTD_createDDict(dictionary.data(), dictionary.size()));
  if (own == nullptr) return nullptr;
  auto made = std::make_shared<const Tables>(dictionary, std::move(own), gone_);
  Charge charge(cache_, made.get(), made->bytes());
  const std::lock_guard lock(mutex_);
  if (const auto found = Find(dictionary)) return From(found);
  Keep(made);
  ForgetThoseThatAreGone();
  shared_.emplace(NumberOf(dictionary), Shared{.tables = made, .charge = std::move(charge)});
  return From(made);
}

}  // namespace cairn::store

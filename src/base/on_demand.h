// SPDX-License-Identifier: GPL-2.0-only
// Objects of which each is made when somebody needs it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace cairn {

// So many objects, by their numbers. Thread rule: all methods from any thread. Threads that are the first to ask for an
// object, together, make one each, and one is kept.
template <typename Object>
class OnDemand {
 public:
  explicit OnDemand(size_t count) : made_(count) {}
  OnDemand(const OnDemand&) = delete;
  OnDemand& operator=(const OnDemand&) = delete;
  ~OnDemand() {
    for (const std::atomic<const Object*>& object : made_) delete object.load(std::memory_order_relaxed);
  }

  size_t count() const { return made_.size(); }

  // Object number `index`, valid as long as this; `make` gives it as a std::unique_ptr, the same whoever calls it.
  template <typename Make>
  const Object& Of(size_t index, const Make& make) {
    const Object* kept = made_[index].load(std::memory_order_acquire);
    if (kept != nullptr) [[likely]] return *kept;
    std::unique_ptr<const Object> made = make();
    if (made_[index].compare_exchange_strong(kept, made.get(), std::memory_order_acq_rel)) kept = made.release();
    return *kept;
  }

 private:
  std::vector<std::atomic<const Object*>> made_;
};

}  // namespace cairn

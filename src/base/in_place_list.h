// SPDX-License-Identifier: GPL-2.0-only
// A few objects in place, of which those that are not needed are not made.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace cairn {

// At most kMax objects, destroyed from the last to the first. They do not move. Thread rule: one thread at a time.
template <typename Object, size_t kMax>
class InPlaceList {
 public:
  InPlaceList() {}  // NOLINT(modernize-use-equals-default): the room is not to be cleared
  InPlaceList(const InPlaceList&) = delete;
  InPlaceList& operator=(const InPlaceList&) = delete;
  ~InPlaceList() {
    while (size_ != 0) DropLast();
  }

  size_t size() const { return size_; }
  bool full() const { return size_ == kMax; }
  // Precondition: i < size().
  Object& operator[](size_t i) { return *std::launder(reinterpret_cast<Object*>(room_ + i * sizeof(Object))); }
  Object* begin() { return size_ == 0 ? nullptr : &(*this)[0]; }
  Object* end() { return begin() + size_; }

  // Precondition: not full.
  template <typename... Arguments>
  Object& Append(Arguments&&... arguments) {
    Object* const made = ::new (static_cast<void*>(room_ + size_ * sizeof(Object))) Object(std::forward<Arguments>(arguments)...);
    ++size_;
    return *made;
  }
  // Precondition: not empty.
  void DropLast() { std::destroy_at(&(*this)[--size_]); }

 private:
  alignas(Object) std::byte room_[kMax * sizeof(Object)];
  size_t size_ = 0;
};

}  // namespace cairn

// SPDX-License-Identifier: GPL-2.0-only
// Byte strings: a borrowed view and a growable output buffer.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/endian.h"

namespace cairn {

// Borrowed bytes; compares as memcmp does. The owner's contract says how long it stays valid.
using ByteView = std::string_view;

inline ByteView AsBytes(const void* data, size_t size) {
  return ByteView(static_cast<const char*>(data), size);
}

// An output buffer that encoders append to and callers reuse, so that the hot path does not
// allocate per row. Capacity only grows until destruction. Growth beyond memory is fatal
// (std::bad_alloc), as elsewhere in the process.
//
// Thread rule: one thread at a time. Views and pointers into it are invalidated by any append.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;
  ByteBuffer(ByteBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~ByteBuffer() { std::free(data_); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  ByteView view() const { return AsBytes(data_, size_); }
  std::string ToString() const { return std::string(view()); }

  void Clear() { size_ = 0; }

  // Drops everything from byte `size` on. Precondition: size <= this->size().
  void Truncate(size_t size) { size_ = size; }

  // Returns memory when a rare large value made the buffer larger than `capacity_bytes_max`.
  void ShrinkAbove(size_t capacity_bytes_max) {
    if (capacity_ <= capacity_bytes_max) return;
    std::free(data_);
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

  // Makes room for `bytes` more without changing the size.
  void Reserve(size_t bytes) {
    if (capacity_ - size_ < bytes) Grow(bytes);
  }

  // Appends `bytes` uninitialised bytes and returns where they begin.
  uint8_t* Extend(size_t bytes) {
    Reserve(bytes);
    uint8_t* at = data_ + size_;
    size_ += bytes;
    return at;
  }

  // Counts bytes that were written behind the last one. Precondition: there is room for them (Reserve).
  void AddWritten(size_t bytes) { size_ += bytes; }

  void Append(const void* from, size_t bytes) {
    if (bytes != 0) std::memcpy(Extend(bytes), from, bytes);
  }
  void Append(ByteView bytes) { Append(bytes.data(), bytes.size()); }
  void Assign(ByteView bytes) {
    Clear();
    Append(bytes);
  }
  void AppendU8(uint8_t v) { *Extend(1) = v; }
  void AppendBe16(uint16_t v) { StoreBe16(Extend(2), v); }
  void AppendBe32(uint32_t v) { StoreBe32(Extend(4), v); }
  void AppendBe64(uint64_t v) { StoreBe64(Extend(8), v); }
  void AppendLe32(uint32_t v) { StoreLe32(Extend(4), v); }
  void AppendLe64(uint64_t v) { StoreLe64(Extend(8), v); }

  // LEB128: seven bits a byte, low bits first, at most ten bytes.
  void AppendVarint(uint64_t v) {
    Reserve(10);
    while (v >= 0x80) {
      data_[size_++] = static_cast<uint8_t>(v | 0x80);
      v >>= 7;
    }
    data_[size_++] = static_cast<uint8_t>(v);
  }
  void AppendLengthPrefixed(ByteView bytes) {
    AppendVarint(bytes.size());
    Append(bytes);
  }

 private:
  [[gnu::noinline]] void Grow(size_t bytes) {
    size_t wanted = size_ + bytes;
    size_t capacity = capacity_ < 64 ? 64 : capacity_ * 2;
    if (capacity < wanted) capacity = wanted;
    void* data = std::realloc(data_, capacity);
    if (data == nullptr) throw std::bad_alloc();
    data_ = static_cast<uint8_t*>(data);
    capacity_ = capacity;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Reads what ByteBuffer wrote. Every Read* returns false, and leaves its output and the reader
// unspecified, when the bytes run out or are malformed; nothing is ever read past the end.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes)
      : at_(reinterpret_cast<const uint8_t*>(bytes.data())), end_(at_ + bytes.size()) {}

  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  bool empty() const { return at_ == end_; }
  const uint8_t* position() const { return at_; }

  [[nodiscard]] bool ReadU8(uint8_t* v) {
    if (at_ == end_) return false;
    *v = *at_++;
    return true;
  }
  [[nodiscard]] bool ReadBe32(uint32_t* v) {
    if (remaining() < 4) return false;
    *v = LoadBe32(at_);
    at_ += 4;
    return true;
  }
  [[nodiscard]] bool ReadBe64(uint64_t* v) {
    if (remaining() < 8) return false;
    *v = LoadBe64(at_);
    at_ += 8;
    return true;
  }
  [[nodiscard]] bool ReadVarint(uint64_t* v) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return false;
      const uint8_t byte = *at_++;
      if (shift == 63 && byte > 1) return false;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        *v = value;
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool ReadVarint32(uint32_t* v) {
    uint64_t wide;
    if (!ReadVarint(&wide) || wide > UINT32_MAX) return false;
    *v = static_cast<uint32_t>(wide);
    return true;
  }
  [[nodiscard]] bool ReadBytes(size_t size, ByteView* bytes) {
    if (remaining() < size) return false;
    *bytes = AsBytes(at_, size);
    at_ += size;
    return true;
  }
  [[nodiscard]] bool ReadLengthPrefixed(ByteView* bytes) {
    uint64_t size;
    return ReadVarint(&size) && size <= remaining() && ReadBytes(static_cast<size_t>(size), bytes);
  }
  [[nodiscard]] bool Skip(size_t size) {
    ByteView ignored;
    return ReadBytes(size, &ignored);
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace cairn

// SPDX-License-Identifier: GPL-2.0-only
// Writes one JSON value, indented.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace cairn::bench {

// Calls must nest as the value does: Key() before each value of an object. Numbers that JSON does not
// have (NaN, infinity) become null.
//
// Thread rule: one thread.
class JsonWriter {
 public:
  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }

  void Key(std::string_view key) {
    NextValue();
    Quote(key);
    text_ += ": ";
    after_key_ = true;
  }

  void Value(std::string_view value) {
    NextValue();
    Quote(value);
  }
  void Value(const char* value) { Value(std::string_view(value)); }
  void Value(bool value) {
    NextValue();
    text_ += value ? "true" : "false";
  }
  template <std::integral T>
  void Value(T value) {
    NextValue();
    text_ += std::to_string(value);
  }
  void Value(double value) {
    if (!std::isfinite(value)) return Null();
    NextValue();
    char digits[32];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6).ptr);
  }
  void Null() {
    NextValue();
    text_ += "null";
  }

  template <typename T>
  void Field(std::string_view key, const T& value) {
    Key(key);
    Value(value);
  }
  template <typename T>
  void Field(std::string_view key, const std::optional<T>& value) {
    Key(key);
    value ? Value(*value) : Null();
  }

  // Complete when every Begin has its End.
  const std::string& text() const { return text_; }

 private:
  void Begin(char bracket) {
    NextValue();
    text_ += bracket;
    ++depth_;
    first_ = true;
  }

  void End(char bracket) {
    --depth_;
    if (!first_) NewLine();
    text_ += bracket;
    first_ = false;
  }

  // Puts what belongs before a value or key.
  void NextValue() {
    if (!after_key_) {
      if (!first_) text_ += ',';
      if (depth_ != 0) NewLine();
    }
    after_key_ = false;
    first_ = false;
  }

  void NewLine() { text_.append("\n").append(2 * depth_, ' '); }

  void Quote(std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    text_ += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (byte < 0x20 || byte >= 0x7f) {
        // Bytes of messages are latin1, whose code points are Unicode's.
        text_ += "\\u00";
        text_ += kHex[byte >> 4];
        text_ += kHex[byte & 15];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  size_t depth_ = 0;
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace cairn::bench

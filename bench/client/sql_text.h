// SPDX-License-Identifier: GPL-2.0-only
// Puts statements together without allocating for each.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "connection.h"

namespace cairn::bench {

// Bytes that are to become an escaped string literal.
struct Literal {
  std::string_view bytes;
};

// A growing statement, reused from one to the next. Borrows the connection, for its escaping rules.
//
// Thread rule: one thread.
class SqlText {
 public:
  explicit SqlText(Connection* connection) : connection_(*connection) {}

  SqlText& Clear() {
    text_.clear();
    return *this;
  }
  SqlText& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  template <std::integral T>
  SqlText& operator<<(T number) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return *this;
  }
  SqlText& operator<<(const Literal& literal) {
    connection_.AppendLiteral(literal.bytes, &text_);
    return *this;
  }

  // Runs the statement text.
  Connection::Outcome Execute() { return connection_.Execute(text_); }
  uint64_t Query(const std::function<void(Connection::Row)>& visit) { return connection_.Query(text_, visit); }

 private:
  Connection& connection_;
  std::string text_;
};

}  // namespace cairn::bench

// SPDX-License-Identifier: GPL-2.0-only
// One connection to the server, text protocol.
#include "connection.h"

#include <array>
#include <charconv>

namespace cairn::bench {
namespace {

// Long statements are load batches; their beginning says enough.
std::string Shortened(std::string_view sql) {
  constexpr size_t kBytesMax = 120;
  return sql.size() <= kBytesMax ? std::string(sql) : std::string(sql.substr(0, kBytesMax)) + " ...";
}

}  // namespace

Connection::Connection(const ConnectionOptions& options, Commit commit) : mysql_(mysql_init(nullptr)) {
  if (mysql_ == nullptr) throw std::bad_alloc();
  MYSQL* mysql = mysql_.get();
  mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "latin1");
  const bool local = !options.socket.empty();
  if (mysql_real_connect(mysql, local ? nullptr : options.host.c_str(), options.user.c_str(), options.password.c_str(),
                         options.database.empty() ? nullptr : options.database.c_str(), local ? 0 : options.port,
                         local ? options.socket.c_str() : nullptr, CLIENT_MULTI_STATEMENTS) == nullptr) {
    throw SqlError(mysql_errno(mysql), std::string("cannot connect to the server: ") + mysql_error(mysql));
  }
  Execute(commit == Commit::kAutomatic ? "SET autocommit=1" : "SET autocommit=0");
  if (!options.isolation.empty()) Execute("SET SESSION TRANSACTION ISOLATION LEVEL " + options.isolation);
  if (options.skip_binlog) Execute("SET SESSION sql_log_bin=0");
}

void Connection::Throw(std::string_view sql) {
  const unsigned code = mysql_errno(mysql_.get());
  throw SqlError(code, "error " + std::to_string(code) + " (" + mysql_sqlstate(mysql_.get()) + "): " +
                           mysql_error(mysql_.get()) + "; statement: " + Shortened(sql));
}

void Connection::Send(std::string_view sql) {
  if (mysql_real_query(mysql_.get(), sql.data(), sql.size()) != 0) Throw(sql);
}

Connection::Result Connection::Store(std::string_view sql) {
  Result result(mysql_store_result(mysql_.get()), &mysql_free_result);
  if (result == nullptr && mysql_field_count(mysql_.get()) != 0) Throw(sql);
  return result;
}

Connection::Outcome Connection::Execute(std::string_view sql) {
  Send(sql);
  Store(sql);
  const Outcome first = {mysql_affected_rows(mysql_.get()), mysql_insert_id(mysql_.get())};
  int next;
  while ((next = mysql_next_result(mysql_.get())) == 0) Store(sql);
  if (next > 0) Throw(sql);
  return first;
}

uint64_t Connection::Query(std::string_view sql, const std::function<void(Row)>& visit) {
  Send(sql);
  const Result result = Store(sql);
  if (result == nullptr) throw SqlError(0, "no result set from: " + Shortened(sql));
  std::array<std::string_view, 16> columns;
  const size_t fields = std::min<size_t>(mysql_num_fields(result.get()), columns.size());
  while (MYSQL_ROW row = mysql_fetch_row(result.get())) {
    const unsigned long* lengths = mysql_fetch_lengths(result.get());
    for (size_t i = 0; i < fields; ++i) columns[i] = row[i] == nullptr ? "" : std::string_view(row[i], lengths[i]);
    visit(Row(columns.data(), fields));
  }
  return mysql_num_rows(result.get());
}

std::string Connection::QueryValue(std::string_view sql) {
  std::string value;
  bool first = true;
  Query(sql, [&](Row row) {
    if (first && !row.empty()) value = row[0];
    first = false;
  });
  return value;
}

void Connection::AppendLiteral(std::string_view bytes, std::string* sql) {
  const size_t start = sql->size();
  sql->resize(start + 2 * bytes.size() + 3);
  (*sql)[start] = '\'';
  const size_t written = mysql_real_escape_string(mysql_.get(), sql->data() + start + 1, bytes.data(), bytes.size());
  sql->resize(start + 1 + written);
  sql->push_back('\'');
}

uint64_t ParseNumber(std::string_view column) {
  uint64_t number = 0;
  std::from_chars(column.data(), column.data() + column.size(), number);
  return number;
}

}  // namespace cairn::bench

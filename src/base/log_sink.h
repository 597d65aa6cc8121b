// SPDX-License-Identifier: GPL-2.0-only
// Where the engine writes lines for people to read.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn {

enum class LogLevel : uint8_t { kInfo, kWarning, kError };

// A receiver of log lines; the server's adapter writes them to its error log.
//
// Thread rule: Log may be called from any thread, also at once; it must not call back into the
// engine and must not throw.
class LogSink {
 public:
  virtual ~LogSink() = default;

  // One line without a newline at its end.
  virtual void Log(LogLevel level, std::string_view line) = 0;
};

}  // namespace cairn

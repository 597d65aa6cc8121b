// SPDX-License-Identifier: GPL-2.0-only
// What the clients' main programs have in common.
#pragma once

#include <string>

#include "stop_flag.h"

namespace cairn::bench {

enum ExitStatus { kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitInterrupted = 130 };

// The program's stop flag, which SIGINT and SIGTERM set once HandleSignals() was called.
StopFlag& ProgramStop();
void HandleSignals();

// The time in UTC, ISO 8601.
std::string UtcNow();

// Throws UsageError unless `path` can be written; "" is stdout. Results must not be lost to a mistyped path.
void CheckJsonPath(const std::string& path);

// Writes to a file, or to stdout when `path` is empty; false when that fails.
[[nodiscard]] bool WriteJson(const std::string& text, const std::string& path);

}  // namespace cairn::bench

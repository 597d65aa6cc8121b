// SPDX-License-Identifier: GPL-2.0-only
// What one invocation found out, and its JSON text (fields: README.md).
#pragma once

#include <optional>
#include <string>

#include "index_build.h"
#include "options.h"
#include "phase.h"
#include "validator.h"

namespace cairn::bench::insert {

struct Report {
  explicit Report(const Options& options) : options(options) {}

  const Options& options;
  std::string started_at;
  bool interrupted = false;
  std::string error;
  std::optional<PhaseReport> phase;  // of load and run
  std::optional<IndexBuildReport> index;
  std::optional<ValidateReport> validate;

  bool ok() const { return error.empty() && !interrupted && (!validate || validate->consistent()); }
};

std::string ToJson(const Report& report);

}  // namespace cairn::bench::insert

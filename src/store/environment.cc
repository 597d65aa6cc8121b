// SPDX-License-Identifier: GPL-2.0-only
// A file system in memory, for tests.
#include "store/environment.h"

#include <rocksdb/env.h>

namespace cairn::store {
namespace {

class MemoryEnvironment final : public Environment {
 public:
  MemoryEnvironment() : env_(rocks::NewMemEnv(rocks::Env::Default())) {}
  rocks::Env* rocks_env() override { return env_.get(); }

 private:
  const std::unique_ptr<rocks::Env> env_;
};

}  // namespace

std::unique_ptr<Environment> NewMemoryEnvironment() { return std::make_unique<MemoryEnvironment>(); }

}  // namespace cairn::store

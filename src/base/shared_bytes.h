// SPDX-License-Identifier: GPL-2.0-only
// Bytes that many keep, once.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace cairn {

// Copies are of the reference. Thread rule: as for a value type; the bytes never change.
class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(std::string bytes) : kept_(std::make_shared<const std::string>(std::move(bytes))), view_(*kept_) {}

  // Valid as long as this object or a copy of it is.
  ByteView view() const { return view_; }

 private:
  std::shared_ptr<const std::string> kept_;
  ByteView view_;  // beside it, so that who reads the bytes need not ask for their place
};

}  // namespace cairn

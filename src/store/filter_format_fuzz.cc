// SPDX-License-Identifier: GPL-2.0-only
// Any bytes as a filter: refused, or what encodes to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "store/filter_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  cairn::store::FilterFormat filter;
  if (!cairn::store::DecodeFilter(bytes, &filter)) return 0;
  cairn::ByteBuffer encoded;
  cairn::store::EncodeFilter(filter, &encoded);
  if (encoded.view() != bytes) std::abort();
  return 0;
}

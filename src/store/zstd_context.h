// SPDX-License-Identifier: GPL-2.0-only
// What Zstandard compresses with.
#pragma once

#include <memory>
#include <string_view>

#include <zstd.h>

namespace cairn::store {

struct FreeZstdContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
using ZstdContext = std::unique_ptr<ZSTD_CCtx, FreeZstdContext>;

// For blocks at Zstandard's `level`, repetitions of `match_bytes_min` bytes and more (0: as the level has it), with a dictionary of which
// it keeps a copy (empty: none). Null: no memory for it, or no dictionary of Zstandard's.
// Threads: any; what it returns is for one at a time.
inline ZstdContext NewZstdContext(int level, int match_bytes_min, std::string_view dictionary) {
  ZstdContext context(ZSTD_createCCtx());
  if (context == nullptr) return nullptr;
  if (ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level)) ||
      ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_minMatch, match_bytes_min)) ||
      ZSTD_isError(ZSTD_CCtx_loadDictionary(context.get(), dictionary.data(), dictionary.size()))) {
    return nullptr;
  }
  return context;
}

}  // namespace cairn::store

// SPDX-License-Identifier: GPL-2.0-only
// The server's collations as the codec layer sees them.
#pragma once

#include "codec/collation.h"

struct charset_info_st;

namespace cairn::server {

// The adapter of one of the server's collations; null when keys cannot be ordered by it (the
// caller refuses the index and names the collation). Made once per process and kept until its
// end. For the binary "collation" the answer orders bytes as memcmp does.
//
// Thread rule: any thread.
const codec::Collation* CollationOf(const charset_info_st* charset);

}  // namespace cairn::server

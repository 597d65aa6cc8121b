// SPDX-License-Identifier: GPL-2.0-only
// XIDs as names of prepared transactions, and back; and in the server's list.
#pragma once

#include <string>

#include "base/bytes.h"

struct xid_t;
typedef struct xid_t XID;

namespace cairn::server {

// The bytes of a name: 8 bytes little-endian format id, one byte each for the lengths of gtrid and
// bqual, then both. Names are on disk (RocksDB keeps them with prepared transactions): this
// never changes.
std::string NameOfXid(const XID& xid);

// The name as the XA statements take it, for people: X'6162',X'',1. Of a name that is no XID's its bytes, as X'6162'.
std::string TextOfXidName(ByteView name);

// False for a name that is no XID's.
bool XidOfName(ByteView name, XID* xid);

// Has the server list a user's prepared transaction, as it does with those found at its start: any connection may name it. Where the XID is
// in its list already, as a connection's that may not be prepared, nothing changes. For TransactionManager::VisitPrepared(): should the
// transaction end meanwhile, the XID would stay.
void ListXid(const std::string& name);

}  // namespace cairn::server

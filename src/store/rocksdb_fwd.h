// SPDX-License-Identifier: GPL-2.0-only
// Names of RocksDB classes for the headers of this layer, so that no other layer sees RocksDB.
#pragma once

namespace cairn_rocksdb {
class Allocator;
class BlockBasedTable;
class ColumnFamilyHandle;
class Env;
class FileIngestionHandle;
class FilterPolicy;
class Iterator;
class PinnableSlice;
class SequentialFile;
class Snapshot;
class Transaction;
class WritableFile;
class WriteBatch;
}  // namespace cairn_rocksdb

namespace cairn::store {
namespace rocks = ::cairn_rocksdb;
}  // namespace cairn::store

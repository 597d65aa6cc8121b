# SPDX-License-Identifier: GPL-2.0-only
# Targets for the RocksDB in CAIRN_ROCKSDB_DIR.

find_package(Threads REQUIRED)

# The library and its headers are two targets: all may link the one, only store/ sees the other.
add_library(cairn_rocksdb STATIC IMPORTED)
set_target_properties(cairn_rocksdb PROPERTIES
  IMPORTED_LOCATION "${CAIRN_ROCKSDB_DIR}/lib/librocksdb.a"
  INTERFACE_LINK_LIBRARIES "lz4;zstd;z;snappy;Threads::Threads;${CMAKE_DL_LIBS}")

# crc32c::Crc32cCombine is called for each record of a log: calls of it go to store/log_checksum.cc (decision 57). The linker has
# passed store's archive by the time it meets them; `undefined` has it take ours from there in advance.
set(cairn_combine _ZN13cairn_rocksdb6crc32c13Crc32cCombineEjjm)
set_property(TARGET cairn_rocksdb PROPERTY INTERFACE_LINK_OPTIONS
  -Wl,--wrap=${cairn_combine} -Wl,--undefined=__wrap_${cairn_combine})

file(STRINGS "${CAIRN_ROCKSDB_DIR}/lib/definitions" cairn_rocksdb_definitions)
add_library(cairn_rocksdb_headers INTERFACE)
target_include_directories(cairn_rocksdb_headers SYSTEM INTERFACE "${CAIRN_ROCKSDB_DIR}/include")
target_compile_definitions(cairn_rocksdb_headers INTERFACE ${cairn_rocksdb_definitions})

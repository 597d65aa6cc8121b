# SPDX-License-Identifier: GPL-2.0-only
# Finds what `./cairn setup` prepared, and gives each part a target.

if(DEFINED ENV{CAIRN_CACHE})
  set(cairn_cache_default "$ENV{CAIRN_CACHE}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(cairn_cache_default "$ENV{XDG_CACHE_HOME}/cairn")
else()
  set(cairn_cache_default "$ENV{HOME}/.cache/cairn")
endif()
set(CAIRN_CACHE "${cairn_cache_default}" CACHE PATH "Dependencies prepared by ./cairn setup")
if(NOT EXISTS "${CAIRN_CACHE}/env.cmake")
  message(FATAL_ERROR "No dependencies in ${CAIRN_CACHE}: run ./cairn setup first")
endif()
include("${CAIRN_CACHE}/env.cmake")

if(CAIRN_SANITIZER STREQUAL "thread")
  set(CAIRN_ROCKSDB_DIR "${CAIRN_ROCKSDB_TSAN_DIR}")
endif()
if(NOT EXISTS "${CAIRN_ROCKSDB_DIR}/.complete")
  message(FATAL_ERROR "RocksDB is not built: run ./cairn setup first")
endif()

find_package(Threads REQUIRED)

# The library and its headers are two targets: all may link the one, only store/ sees the other.
add_library(cairn_rocksdb STATIC IMPORTED)
set_target_properties(cairn_rocksdb PROPERTIES
  IMPORTED_LOCATION "${CAIRN_ROCKSDB_DIR}/lib/librocksdb.a"
  INTERFACE_LINK_LIBRARIES "lz4;zstd;z;snappy;Threads::Threads;${CMAKE_DL_LIBS}")

file(STRINGS "${CAIRN_ROCKSDB_DIR}/lib/definitions" cairn_rocksdb_definitions)
add_library(cairn_rocksdb_headers INTERFACE)
target_include_directories(cairn_rocksdb_headers SYSTEM INTERFACE "${CAIRN_ROCKSDB_DIR}/include")
target_compile_definitions(cairn_rocksdb_headers INTERFACE ${cairn_rocksdb_definitions})

# SPDX-License-Identifier: GPL-2.0-only
# Finds what `./cairn setup` prepared.

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
include(rocksdb)

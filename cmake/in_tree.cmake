# SPDX-License-Identifier: GPL-2.0-only
# The same engine inside a MariaDB source tree, as storage/cairn: the tree's own plugin rules.
#
# RocksDB still comes from ./cairn setup (or -DCAIRN_ROCKSDB_DIR=<folder of include/ and lib/>).
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
include(layers)

set(CAIRN_ROCKSDB_DIR "" CACHE PATH "RocksDB as ./cairn setup builds it")
if(NOT CAIRN_ROCKSDB_DIR)
  include(dependencies)
else()
  include(rocksdb)
endif()
if(NOT TARGET cairn_rocksdb)
  message(STATUS "Cairn is not built: no RocksDB in '${CAIRN_ROCKSDB_DIR}'")
  return()
endif()

# The tree decides optimisation and warnings; the language and what safety needs are ours.
add_library(cairn_flags INTERFACE)
target_compile_features(cairn_flags INTERFACE cxx_std_20)
target_compile_options(cairn_flags INTERFACE -march=x86-64-v2 -mpclmul
  -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden -fno-gnu-unique>)
target_compile_definitions(cairn_flags INTERFACE $<$<CONFIG:Debug>:CAIRN_ASSERTIONS>)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

cairn_add_layers()
cairn_layer_uses(server uses)
list(TRANSFORM uses PREPEND cairn_)
cairn_sources(server library sources)
cairn_export_declaration()
MYSQL_ADD_PLUGIN(cairn ${sources} STORAGE_ENGINE MODULE_ONLY MODULE_OUTPUT_NAME ha_cairn
  LINK_LIBRARIES cairn_flags ${uses} COMPONENT cairn-engine)
if(TARGET cairn)
  target_include_directories(cairn PRIVATE "${CAIRN_SRC}")
  target_compile_definitions(cairn PRIVATE MYSQL_SERVER=1)
  # The services' pointers of the tree's own archive are exported by the same script.
  target_link_options(cairn PRIVATE "-Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/ha_cairn.map"
    -Wl,-Bsymbolic -Wl,-z,nodelete)
endif()

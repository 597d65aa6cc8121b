# SPDX-License-Identifier: GPL-2.0-only
# Test, benchmark and fuzz programs, gathered from what lies beside the code they test.

find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_library(CAIRN_RAPIDCHECK rapidcheck REQUIRED)

# These read pages of the formats. No other object names its checkout, so a compiler's cache serves all checkouts.
set_property(SOURCE "${CAIRN_SRC}/catalog/table_def_test.cc" "${CAIRN_SRC}/codec/vectors_test.cc" "${CAIRN_SRC}/store/filter_format_test.cc"
  APPEND PROPERTY COMPILE_DEFINITIONS CAIRN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")

# Sources of one layer that serve a test program see what that layer itself may see.
function(cairn_add_layer_objects name kind)
  cairn_sources(${name} ${kind} sources)
  if(NOT sources)
    return()
  endif()
  add_library(cairn_${name}_${kind} OBJECT ${sources})
  target_link_libraries(cairn_${name}_${kind} PRIVATE cairn_flags PUBLIC cairn_${name})
  if(name STREQUAL "store")
    target_link_libraries(cairn_${name}_${kind} PRIVATE cairn_rocksdb_headers)
  endif()
endfunction()

# One program from all layers' sources of a kind.
function(cairn_add_program program kind)
  cairn_layer_names(names)
  foreach(name ${names})
    cairn_add_layer_objects(${name} ${kind})
    if(TARGET cairn_${name}_${kind})
      list(APPEND objects cairn_${name}_${kind})
    endif()
  endforeach()
  if(objects)
    add_executable(${program})
    target_link_libraries(${program} PRIVATE cairn_flags ${objects} ${ARGN})
  endif()
endfunction()

# Tests of the adapter, with the server's own code from its embedded library: real collations.
function(cairn_add_server_tests)
  cairn_sources(server test sources)
  if(NOT sources)
    return()
  endif()
  # An archive: of the adapter only what the tests name, for the rest needs a whole server.
  add_library(cairn_server_archive STATIC $<TARGET_OBJECTS:cairn_server>)
  target_link_libraries(cairn_server_archive PUBLIC cairn_server_headers cairn_codec)
  target_include_directories(cairn_server_archive PUBLIC "${CAIRN_SRC}")
  add_executable(cairn_server_tests ${sources})
  target_link_libraries(cairn_server_tests PRIVATE
    cairn_flags cairn_link_quickly cairn_server_archive cairn_services "${CAIRN_RAPIDCHECK}"
    "${CAIRN_SERVER_PREFIX}/lib/libmariadbd.so" GTest::gtest GTest::gtest_main)
  # The embedded server lacks a few functions of the stand-alone one; no test calls those.
  target_link_options(cairn_server_tests PRIVATE "-Wl,-rpath,${CAIRN_SERVER_PREFIX}/lib"
    -Wl,--unresolved-symbols=ignore-all)
endfunction()

# Each fuzz target is a program. Without libFuzzer it runs stored and random inputs by our driver.
function(cairn_add_fuzzers)
  cairn_layer_names(names)
  foreach(name ${names})
    cairn_sources(${name} fuzz sources)
    foreach(source ${sources})
      get_filename_component(program "${source}" NAME_WE)
      add_executable(${program} "${source}")
      set_target_properties(${program} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
      target_link_libraries(${program} PRIVATE cairn_flags cairn_link_quickly cairn_${name})
      if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        target_link_options(${program} PRIVATE -fsanitize=fuzzer)
      else()
        target_sources(${program} PRIVATE "${CMAKE_SOURCE_DIR}/cmake/fuzz_main.cc")
      endif()
    endforeach()
  endforeach()
endfunction()

# Counts instructions under callgrind: of the release build, as users run it.
function(cairn_add_instruction_probe)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR CAIRN_SANITIZER)
    return()
  endif()
  find_path(CAIRN_VALGRIND_HEADERS valgrind/callgrind.h REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/test/instructions/*.cc")
  add_executable(cairn_instruction_probe ${sources})
  target_include_directories(cairn_instruction_probe SYSTEM PRIVATE "${CAIRN_VALGRIND_HEADERS}")
  target_link_libraries(cairn_instruction_probe PRIVATE
    cairn_flags cairn_link_optimised cairn_scan cairn_dml cairn_stats GTest::gtest
    cairn_rocksdb_headers)  # blocks of files are asked for as RocksDB does it
endfunction()

function(cairn_add_tests)
  cairn_add_program(cairn_unit_tests test
    cairn_link_quickly "${CAIRN_RAPIDCHECK}" GTest::gtest GTest::gtest_main)
  cairn_add_program(cairn_bench_micro bench
    cairn_link_optimised benchmark::benchmark benchmark::benchmark_main)
  cairn_add_server_tests()
  cairn_add_instruction_probe()
  cairn_add_fuzzers()
endfunction()

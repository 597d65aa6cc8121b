# SPDX-License-Identifier: GPL-2.0-only
# Language, warnings, optimisation and sanitizers: the same for every target of ours.

set(CAIRN_SANITIZER "" CACHE STRING "Empty, address (with undefined) or thread")
set_property(CACHE CAIRN_SANITIZER PROPERTY STRINGS "" address thread)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CAIRN_CCACHE ccache)
if(CAIRN_CCACHE)
  # One checkout's results serve another: paths below the checkout do not count.
  set(cairn_launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}"
    CCACHE_NOHASHDIR=1 "${CAIRN_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${cairn_launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${cairn_launcher}")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

add_library(cairn_flags INTERFACE)
target_compile_options(cairn_flags INTERFACE
  -march=x86-64-v2 -mpclmul -fno-omit-frame-pointer
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror>
  # GCC 12's flow warnings are wrong too often under optimisation to stop a build; its
  # `restrict` one fires on plain string concatenation.
  $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique -Wno-restrict -Wno-error=maybe-uninitialized
    -Wno-error=stringop-overflow -Wno-error=array-bounds>)
target_compile_definitions(cairn_flags INTERFACE
  $<$<CONFIG:Debug>:CAIRN_ASSERTIONS _GLIBCXX_ASSERTIONS>)

# Objects carry both forms, so that the plugin is optimised across layers while the many test
# programs link in a moment.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cairn_flags INTERFACE $<$<CONFIG:Release>:-flto=auto -ffat-lto-objects>)
endif()
add_library(cairn_link_optimised INTERFACE)
add_library(cairn_link_quickly INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_link_options(cairn_link_optimised INTERFACE $<$<CONFIG:Release>:-flto=auto -O3>)
  target_link_options(cairn_link_quickly INTERFACE $<$<CONFIG:Release>:-fno-lto>)
endif()

if(CAIRN_SANITIZER STREQUAL "address")
  # The server's and RocksDB's objects are not instrumented: their types are unknown to `vptr`.
  set(cairn_sanitize -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all)
elseif(CAIRN_SANITIZER STREQUAL "thread")
  set(cairn_sanitize -fsanitize=thread)
elseif(CAIRN_SANITIZER)
  message(FATAL_ERROR "CAIRN_SANITIZER must be empty, address or thread, not ${CAIRN_SANITIZER}")
endif()
if(cairn_sanitize)
  target_compile_options(cairn_flags INTERFACE ${cairn_sanitize})
  target_link_options(cairn_flags INTERFACE ${cairn_sanitize})
  target_compile_definitions(cairn_flags INTERFACE CAIRN_SANITIZED)
endif()

# SPDX-License-Identifier: GPL-2.0-only
# One static library per folder of src/, linking just the layers below that it may use.
#
# lint/layers.json holds the table: this file links by it, and the include lint reads the same.

get_filename_component(CAIRN_SRC "${CMAKE_CURRENT_LIST_DIR}/../src" ABSOLUTE)
get_filename_component(CAIRN_LAYER_TABLE "${CMAKE_CURRENT_LIST_DIR}/../lint/layers.json" ABSOLUTE)

# Sets `<out>` to the layers from the ground up, without the server's.
function(cairn_layer_names out)
  file(READ "${CAIRN_LAYER_TABLE}" table)
  string(JSON count LENGTH "${table}" layers)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON name GET "${table}" layers ${i} name)
    list(APPEND names "${name}")
  endforeach()
  list(REMOVE_ITEM names server)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# Sets `<out>` to the layers that layer `name` may include.
function(cairn_layer_uses name out)
  file(READ "${CAIRN_LAYER_TABLE}" table)
  string(JSON count LENGTH "${table}" layers)
  math(EXPR last "${count} - 1")
  set(uses "")
  foreach(i RANGE ${last})
    string(JSON candidate GET "${table}" layers ${i} name)
    if(candidate STREQUAL name)
      string(JSON uses GET "${table}" layers ${i} may_include)
    endif()
  endforeach()
  string(REGEX MATCHALL "[a-z]+" uses "${uses}")
  set(${out} "${uses}" PARENT_SCOPE)
endfunction()

# Sets `<out>` to a folder's sources; the suffix of a file's name says what it belongs to.
function(cairn_sources name kind out)
  file(GLOB files CONFIGURE_DEPENDS "${CAIRN_SRC}/${name}/*.cc")
  if(kind STREQUAL "library")
    list(FILTER files EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  else()
    list(FILTER files INCLUDE REGEX "_${kind}\\.cc$")
  endif()
  set(${out} "${files}" PARENT_SCOPE)
endfunction()

# Makes the target cairn_<name>. A folder without sources yet, or with headers only, still gets
# one, so that those above it need not know.
function(cairn_add_layer name)
  cairn_sources(${name} library sources)
  if(sources)
    add_library(cairn_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(cairn_${name} PRIVATE cairn_flags)
  else()
    add_library(cairn_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(cairn_${name} ${scope} "${CAIRN_SRC}")
  cairn_layer_uses(${name} uses)
  foreach(below ${uses})
    target_link_libraries(cairn_${name} ${scope} cairn_${below})
  endforeach()
  if(name STREQUAL "store" AND sources)
    target_link_libraries(cairn_store PRIVATE cairn_rocksdb_headers INTERFACE cairn_rocksdb)
  endif()
endfunction()

function(cairn_add_layers)
  cairn_layer_names(names)
  foreach(name ${names})
    cairn_add_layer(${name})
  endforeach()
endfunction()

# The plugin's declaration is looked up by name; the server's macro does not say it is to be seen.
function(cairn_export_declaration)
  set_source_files_properties("${CAIRN_SRC}/server/plugin.cc" PROPERTIES
    COMPILE_OPTIONS -fvisibility=default)
endfunction()

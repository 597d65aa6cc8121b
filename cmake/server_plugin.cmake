# SPDX-License-Identifier: GPL-2.0-only
# ha_cairn.so for the distribution's server: compiled against that version's private headers.

# What the distribution compiled its server with, as far as its structures depend on it; so also
# debug builds of ours keep DBUG_OFF.
add_library(cairn_server_headers INTERFACE)
target_include_directories(cairn_server_headers SYSTEM INTERFACE
  "${CAIRN_SERVER_GENERATED}"
  "${CAIRN_SERVER_SOURCE}/include"
  "${CAIRN_SERVER_SOURCE}/sql"
  "${CAIRN_SERVER_SOURCE}/wsrep-lib/include"
  "${CAIRN_SERVER_SOURCE}/wsrep-lib/wsrep-API/v26")
target_compile_definitions(cairn_server_headers INTERFACE
  MYSQL_DYNAMIC_PLUGIN HAVE_CONFIG_H DBUG_OFF MYSQL_SERVER=1 WITH_WSREP)
# The server's own headers rely on these.
target_compile_options(cairn_server_headers INTERFACE -fno-strict-aliasing -fwrapv)
if(CAIRN_SANITIZER STREQUAL "address")
  # Its integer macros read unaligned memory on purpose.
  target_compile_options(cairn_server_headers INTERFACE -fno-sanitize=alignment)
endif()

# The server hands its services to a plugin by filling in these pointers.
file(GLOB cairn_services "${CAIRN_SERVER_SOURCE}/libservices/*.c")
add_library(cairn_services STATIC ${cairn_services})
target_link_libraries(cairn_services PRIVATE cairn_server_headers)
set_target_properties(cairn_services PROPERTIES C_VISIBILITY_PRESET default)

function(cairn_add_server_plugin)
  cairn_sources(server library sources)
  if(NOT sources)
    return()
  endif()
  cairn_export_declaration()
  # Objects, not an archive: the server finds the plugin by name, so nothing else refers to it.
  add_library(cairn_server OBJECT ${sources})
  cairn_layer_uses(server uses)
  list(TRANSFORM uses PREPEND cairn_)
  target_include_directories(cairn_server PUBLIC "${CAIRN_SRC}")
  target_link_libraries(cairn_server PRIVATE cairn_flags PUBLIC cairn_server_headers ${uses})

  add_library(ha_cairn MODULE)
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ha_cairn.map")
  set_target_properties(ha_cairn PROPERTIES
    PREFIX "" LINKER_LANGUAGE CXX LINK_DEPENDS "${script}"
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  target_link_libraries(ha_cairn PRIVATE
    cairn_flags cairn_link_optimised cairn_server cairn_services)
  # Threads and thread-local destructors of RocksDB outlive a close, hence nodelete.
  target_link_options(ha_cairn PRIVATE
    "-Wl,--version-script=${script}" -Wl,-Bsymbolic
    -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,--gc-sections)
endfunction()

# SPDX-License-Identifier: GPL-2.0-only
# ns-3's own build functions, as far as contrib/meshpace calls them, for the wheel that pip installs: so the same
# CMakeLists.txt builds in an ns-3 tree and here. They take what ns-3 3.44's take (build-support/custom-modules).

foreach(module IN LISTS NS3_MODULES)
  set("lib${module}" "ns3.44-${module}")
endforeach()
set(NS3_MODULE_INCLUDES "${CMAKE_BINARY_DIR}/ns3-module/include")

# As in ns-3 each public header is reached as "ns3/NAME", by a header that includes it.
function(write_stub_headers)
  foreach(header IN LISTS ARGN)
    get_filename_component(name "${header}" NAME)
    file(CONFIGURE OUTPUT "${NS3_MODULE_INCLUDES}/ns3/${name}"
         CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${header}\"\n" @ONLY)
  endforeach()
endfunction()

# Static, where ns-3 has a shared library: the programs here are the only ones that use it.
function(build_lib)
  cmake_parse_arguments(BLIB "" "LIBNAME" "SOURCE_FILES;HEADER_FILES;LIBRARIES_TO_LINK;TEST_SOURCES" ${ARGN})
  add_library(${BLIB_LIBNAME} STATIC ${BLIB_SOURCE_FILES})
  # Each file that logs has its component's variable by the same name.
  foreach(source IN LISTS BLIB_SOURCE_FILES)
    file(STRINGS "${source}" logs REGEX "^NS_LOG_COMPONENT_DEFINE" LIMIT_COUNT 1)
    if(logs)
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  write_stub_headers(${BLIB_HEADER_FILES})
  target_include_directories(${BLIB_LIBNAME} PUBLIC "${NS3_MODULE_INCLUDES}")
  target_link_libraries(${BLIB_LIBNAME} PUBLIC ns3 ${BLIB_LIBRARIES_TO_LINK})
  list(TRANSFORM BLIB_TEST_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set(NS3_MODULE_TESTS "${BLIB_TEST_SOURCES}" CACHE INTERNAL "sources of the module's test suites")
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/examples/CMakeLists.txt")
    add_subdirectory(examples EXCLUDE_FROM_ALL)
  endif()
endfunction()

function(build_lib_example)
  cmake_parse_arguments(EXAMPLE "" "NAME" "SOURCE_FILES;LIBRARIES_TO_LINK" ${ARGN})
  add_executable(${EXAMPLE_NAME} ${EXAMPLE_SOURCE_FILES})
  target_link_libraries(${EXAMPLE_NAME} PRIVATE meshpace ${EXAMPLE_LIBRARIES_TO_LINK})
  add_dependencies(tests ${EXAMPLE_NAME})
endfunction()

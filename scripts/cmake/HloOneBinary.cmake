# Programs of a release bring along all that Debian has archives of, the C++ runtime too: they need the C library, and those that
# compute on the CPU need oneDNN. Include after find_package of what is used; tests and other builds use the shared libraries.

# hlo_one_binary(target): links a program that way.
function(hlo_one_binary target)
  set_target_properties(${target} PROPERTIES HLO_ONE_BINARY ON)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--version-script=${CMAKE_SOURCE_DIR}/scripts/cmake/one_binary.map)
  # At a fixed address: to relocate LLVM's tables took a quarter of the time that a small program runs.
  target_link_options(${target} PRIVATE -no-pie)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_SOURCE_DIR}/scripts/cmake/one_binary.map)
  if(HLO_LLD)
    target_link_options(${target} PRIVATE -Wl,--icf=all)  # nothing here compares addresses of functions
  endif()
endfunction()

# `hlo_fmt`: {fmt}, with its code inside such programs.
add_library(hlo_fmt_code STATIC EXCLUDE_FROM_ALL scripts/cmake/fmt.cc)
add_library(hlo_fmt INTERFACE)
target_link_libraries(hlo_fmt INTERFACE "$<IF:$<BOOL:$<TARGET_PROPERTY:HLO_ONE_BINARY>>,hlo_fmt_code,fmt::fmt>")

# Debian's package files of abseil name the shared libraries; the archives lie beside them.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER imported INCLUDE REGEX "^absl::")
  foreach(library IN LISTS imported)
    get_target_property(place ${library} IMPORTED_LOCATION_NONE)
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${place}")
    if(EXISTS "${archive}")
      set_target_properties(${library} PROPERTIES IMPORTED_LOCATION_NONE "${archive}")
    endif()
  endforeach()
endif()

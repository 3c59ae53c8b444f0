# hlo_code_version(target): gives `target` the function hlo::CodeVersion() (backends/executable_file.cc), a hash of all that decides
# what machine code is made of a module after the passes, and how it is called. Code of one version is right for programs of the same
# version only. As a script (cmake -P), writes that source; it is left alone while the hash stays the same.
if(CMAKE_SCRIPT_MODE_FILE)
  set(hashes)
  file(STRINGS ${LIST} sources)
  foreach(source IN LISTS sources)
    file(SHA256 ${source} hash)
    string(APPEND hashes ${hash})
  endforeach()
  string(SHA256 version "${hashes}")
  string(SUBSTRING ${version} 0 16 version)
  file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[#include <string_view>

namespace hlo {
std::string_view CodeVersion();
std::string_view CodeVersion() { return "@version@"; }
}  // namespace hlo
]])
  return()
endif()

function(hlo_code_version target)
  set(sources)
  foreach(folder IN ITEMS lib/eval lib/math lib/ops lib/types backends/common backends/codegen backends/llvm backends/cpu)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc ${CMAKE_SOURCE_DIR}/${folder}/*.h
         ${CMAKE_SOURCE_DIR}/${folder}/*.def)
    list(APPEND sources ${found})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(JOIN sources "\n" lines)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/code_version.list CONTENT "${lines}\n" @ONLY)
  set(output ${CMAKE_BINARY_DIR}/code_version.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DLIST=${CMAKE_BINARY_DIR}/code_version.list -DOUTPUT=${output} -P ${CMAKE_SOURCE_DIR}/scripts/cmake/HloCodeVersion.cmake
    COMMAND ${CMAKE_COMMAND} -E touch_nocreate ${output}
    DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/scripts/cmake/HloCodeVersion.cmake ${CMAKE_BINARY_DIR}/code_version.list
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

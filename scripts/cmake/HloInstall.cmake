# hlo_install_library(): installs the boxes as a CMake package for other projects (README.md, "As a library"):
#
#   find_package(hlo REQUIRED)
#   target_link_libraries(mine PRIVATE hlo::runtime)
#
#   hlo::ir         the graph, parser, printer, verifier, serialized modules
#   hlo::compiler   passes and pipelines, with hlo::ir
#   hlo::runtime    platforms and the C API (hlo.h), with all others
function(hlo_install_library)
  set(boxes support types math ops ir match linalg eval analysis parser proto passes common interpreter llvm codegen cpulib cpu gpu
      backends tool_support run_support c_api)
  add_library(hlo_for_ir INTERFACE)
  target_link_libraries(hlo_for_ir INTERFACE hlo_parser hlo_proto)
  target_compile_features(hlo_for_ir INTERFACE cxx_std_20)
  add_library(hlo_for_compiler INTERFACE)
  target_link_libraries(hlo_for_compiler INTERFACE hlo_for_ir hlo_passes)
  add_library(hlo_for_runtime INTERFACE)
  target_link_libraries(hlo_for_runtime INTERFACE hlo_for_compiler hlo_backends hlo_c_api)
  set(targets hlo_for_ir hlo_for_compiler hlo_for_runtime hlo_fmt)
  foreach(name IN ITEMS ir compiler runtime)
    set_target_properties(hlo_for_${name} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  foreach(box IN LISTS boxes)
    if(TARGET hlo_${box})
      set_target_properties(hlo_${box} PROPERTIES EXPORT_NAME box_${box})
      list(APPEND targets hlo_${box})
    endif()
  endforeach()
  foreach(target IN ITEMS hlo_dnnl hlo_llvm_code)
    if(TARGET ${target})
      list(APPEND targets ${target})
    endif()
  endforeach()
  set(package lib/cmake/hlo)
  install(TARGETS ${targets} EXPORT hlo ARCHIVE DESTINATION lib/hlo COMPONENT development)
  install(EXPORT hlo NAMESPACE hlo:: FILE hloTargets.cmake DESTINATION ${package} COMPONENT development)

  set(dependencies "find_dependency(absl)\nfind_dependency(fmt)\nfind_dependency(Threads)\nfind_dependency(ZLIB)\nfind_dependency(Protobuf)\n")
  if(HLO_ENABLE_LLVM)
    string(APPEND dependencies "find_dependency(LLVM ${LLVM_PACKAGE_VERSION} CONFIG)\n")
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/hloConfig.cmake @ONLY CONTENT
       "include(CMakeFindDependencyMacro)\n@dependencies@include(\${CMAKE_CURRENT_LIST_DIR}/hloTargets.cmake)\n")
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/hloConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/hloConfig.cmake ${CMAKE_BINARY_DIR}/hloConfigVersion.cmake DESTINATION ${package}
          COMPONENT development)
  install(DIRECTORY lib parser passes DESTINATION include/hlo COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
  install(DIRECTORY backends DESTINATION include/hlo COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.def"
          PATTERN "cpu" EXCLUDE PATTERN "gpu" EXCLUDE PATTERN "llvm" EXCLUDE PATTERN "codegen" EXCLUDE)
  install(FILES tools/c_api/hlo.h DESTINATION include/hlo COMPONENT development)
endfunction()

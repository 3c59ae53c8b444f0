# Build types: Dev (assertions, not optimised, fast to build), Release, Sanitize (assertions; addresses and undefined behaviour
# are watched), Tsan (threads), Fuzz (as Sanitize, with marks of the code reached, which guide tools/fuzz).
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "" FORCE)
endif()
set_property(CACHE CMAKE_BUILD_TYPE PROPERTY STRINGS Dev Release Sanitize Tsan Fuzz)

# -ffp-contract=off: a fused multiply-add happens only where the code says Fma, so every platform rounds alike.
set(hlo_common_flags "-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Werror=switch -Wno-missing-field-initializers -Wno-maybe-uninitialized -ffp-contract=off")
if(HLO_WERROR)
  string(APPEND hlo_common_flags " -Werror")
endif()
# Places in messages are relative to the project.
string(APPEND hlo_common_flags " -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} ${hlo_common_flags}")
set(CMAKE_CXX_FLAGS_DEV "-O0")
set(CMAKE_C_FLAGS_DEV "-O0")
# g++ 12 folds equal functions of inlined vectors into one, and then takes one class for the other; Sanitize, which does not, warns.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -Wno-array-bounds")
set(hlo_sanitize "-fsanitize=address,undefined")
# What the address sanitizer sees anyway, or the compiler proves: a quarter of the time to compile.
set(hlo_unchecked "-fno-sanitize=null,vptr,object-size,nonnull-attribute,returns-nonnull-attribute")
set(hlo_sanitized "-O1 -g1 -D_GLIBCXX_ASSERTIONS ${hlo_sanitize} ${hlo_unchecked} -fno-sanitize-recover=undefined -fno-omit-frame-pointer")
# Checks as calls, and none of the ends of scopes, which Fuzz has: half the time to compile.
set(hlo_quick_checks "-fno-sanitize-address-use-after-scope --param=asan-instrumentation-with-call-threshold=0")
set(CMAKE_CXX_FLAGS_SANITIZE "${hlo_sanitized} ${hlo_quick_checks}")
set(CMAKE_EXE_LINKER_FLAGS_SANITIZE "${hlo_sanitize}")
set(CMAKE_CXX_FLAGS_TSAN "-O1 -g1 -fsanitize=thread -Wno-tsan")
set(CMAKE_EXE_LINKER_FLAGS_TSAN "-fsanitize=thread")
# With HLO_LIBFUZZER (clang) the program is libFuzzer's; otherwise its own driver reads the marks.
if(HLO_LIBFUZZER)
  set(hlo_coverage "-fsanitize=fuzzer-no-link")
else()
  set(hlo_coverage "-fsanitize-coverage=trace-pc")
endif()
set(CMAKE_CXX_FLAGS_FUZZ "${hlo_sanitized} ${hlo_coverage}")
set(CMAKE_EXE_LINKER_FLAGS_FUZZ "${hlo_sanitize}")

find_program(HLO_CCACHE ccache)
if(HLO_CCACHE)
  # The folder of the build is not part of the key: clones and build folders share results.
  set(hlo_ccache_environment ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${hlo_ccache_environment} ${HLO_CCACHE})
endif()
find_program(HLO_LLD NAMES ld.lld ld.lld-14 ld.lld-19)
if(HLO_LLD)
  add_link_options(-fuse-ld=lld)
endif()


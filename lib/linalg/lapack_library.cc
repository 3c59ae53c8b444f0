#include "lib/linalg/lapack_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace hlo::linalg {
namespace {

// In the order of preference.
constexpr const char* kLibraries[] = {"libopenblas.so.0", "libopenblas.so", "liblapack.so.3",
                                      "liblapack.so"};

// OpenBLAS decides by the processor's model number, and takes code of the year 2004 for one that is
// younger than itself; what counts is what the processor can do. Read once, while it is loaded.
void PrepareOpenBlas() {
  constexpr int kKeepTheUsers = 0;
  setenv("OPENBLAS_NUM_THREADS", "1", kKeepTheUsers);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    setenv("OPENBLAS_CORETYPE", "SkylakeX", kKeepTheUsers);
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    setenv("OPENBLAS_CORETYPE", "Haswell", kKeepTheUsers);
  }
#endif
}

void* Load() {
  PrepareOpenBlas();
  for (const char* name : kLibraries) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    if (dlsym(library, "sgesdd_") == nullptr) {
      dlclose(library);
      continue;
    }
    if (void* const set = dlsym(library, "openblas_set_num_threads"); set != nullptr)
      reinterpret_cast<void (*)(int)>(set)(1);
    return library;
  }
  return nullptr;
}

void* Library() {
  static void* const library = Load();
  return library;
}

}  // namespace

const void* FindLapackRoutine(std::string_view name) {
  if (Library() == nullptr) return nullptr;
  return dlsym(Library(), (std::string(name) + "_").c_str());
}

std::string_view LapackAdvice() {
  return "which needs LAPACK; install Debian's `libopenblas0-pthread` (or `liblapack3`)";
}

std::string LapackCore() {
  void* const core = Library() == nullptr ? nullptr : dlsym(Library(), "openblas_get_corename");
  return core == nullptr ? "" : reinterpret_cast<const char* (*)()>(core)();
}

}  // namespace hlo::linalg

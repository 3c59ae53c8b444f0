#include "backends/gpu/cuda/cublaslt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "lib/support/status.h"

namespace hlo::gpu {

absl::Status CublasLt::Check(int result, const char* call) const {
  return result == 0 ? absl::OkStatus() : Internal("{} of {} failed with {}", call, path, result);
}

absl::StatusOr<CublasLt> LoadCublasLtFrom(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError((library + " not found").c_str());
  CublasLt loaded;
  loaded.path = library;
  std::string missing;
#define HLO_CUBLASLT_SYMBOL(name, parameters)                                  \
  loaded.name = reinterpret_cast<decltype(loaded.name)>(dlsym(handle, #name)); \
  if (loaded.name == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(#name);
#include "backends/gpu/cuda/cublaslt.def"
  if (!missing.empty())
    return absl::NotFoundError(fmt::format("{} has no {}", library, missing).c_str());
  if (auto* const version = reinterpret_cast<size_t (*)()>(dlsym(handle, "cublasLtGetVersion")))
    loaded.version = version();
  return loaded;
}

absl::StatusOr<const CublasLt*> LoadCublasLt() {
  static const absl::StatusOr<CublasLt> loaded = []() -> absl::StatusOr<CublasLt> {
    std::vector<std::string> names = {"libcublasLt.so.13", "libcublasLt.so.12",
                                      "/usr/local/cuda/lib64/libcublasLt.so",
                                      "/usr/local/cuda/targets/x86_64-linux/lib/libcublasLt.so"};
    if (const char* const named = std::getenv("HLO_CUBLASLT")) {
      names.assign(1, named);
      if (names[0].empty()) return absl::NotFoundError("$HLO_CUBLASLT is empty");
    }
    for (const std::string& name : names) {
      absl::StatusOr<CublasLt> found = LoadCublasLtFrom(name);
      if (found.ok()) return found;
    }
    return absl::NotFoundError(
        "libcublasLt.so not found (looked at $HLO_CUBLASLT, the loader's path, /usr/local/cuda)");
  }();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace hlo::gpu

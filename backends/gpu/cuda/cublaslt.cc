#include "backends/gpu/cuda/cublaslt.h"

#include <dlfcn.h>

#include "backends/gpu/cuda/find_library.h"
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
  static const absl::StatusOr<CublasLt> loaded =
      LoadFirstFound("libcublasLt.so", "HLO_CUBLASLT", LoadCublasLtFrom);
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace hlo::gpu

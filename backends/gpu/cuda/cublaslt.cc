#include "backends/gpu/cuda/cublaslt.h"

#include "backends/gpu/cuda/find_library.h"
#include "lib/support/status.h"

namespace hlo::gpu {

absl::Status CublasLt::Check(int result, const char* call) const {
  return result == 0 ? absl::OkStatus() : Internal("{} of {} failed with {}", call, path, result);
}

absl::StatusOr<CublasLt> LoadCublasLtFrom(const std::string& library) {
  SharedLibrary functions(library);
  if (!functions.is_open()) return absl::NotFoundError((library + " not found").c_str());
  CublasLt loaded;
  loaded.path = library;
#define HLO_CUBLASLT_SYMBOL(name, parameters) functions.Find(#name, loaded.name);
#include "backends/gpu/cuda/cublaslt.def"
  if (!functions.missing().empty())
    return absl::NotFoundError(fmt::format("{} has no {}", library, functions.missing()).c_str());
  size_t (*version)() = nullptr;
  functions.Find("cublasLtGetVersion", version);
  if (version != nullptr) loaded.version = version();
  return loaded;
}

absl::StatusOr<const CublasLt*> LoadCublasLt() {
  static const absl::StatusOr<CublasLt> loaded =
      LoadFirstFound("libcublasLt.so", "HLO_CUBLASLT", LoadCublasLtFrom);
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace hlo::gpu

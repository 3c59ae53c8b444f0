#include "backends/gpu/cuda/driver.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "backends/gpu/cuda/find_library.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

absl::Status NotAvailable(const std::string& reason) {
  return MakeError(absl::StatusCode::kUnavailable, SourceLoc(),
                   fmt::format("platform `gpu` is not available: {}", reason));
}

}  // namespace

absl::Status CudaDriver::Check(int result, const char* call) const {
  if (result == 0) return absl::OkStatus();
  const char* text = nullptr;
  if (cuGetErrorString == nullptr || cuGetErrorString(result, &text) != 0) text = nullptr;
  const std::string message = fmt::format(
      "{} failed: {}", call, text != nullptr ? std::string(text) : fmt::format("error {}", result));
  return MakeError(result == kCudaErrorOutOfMemory ? absl::StatusCode::kResourceExhausted
                                                   : absl::StatusCode::kUnavailable,
                   SourceLoc(), message);
}

absl::StatusOr<CudaDriver> LoadCudaDriverFrom(const std::string& library) {
  SharedLibrary functions(library);
  if (!functions.is_open()) return NotAvailable(fmt::format("{} not found", library));
  CudaDriver driver;
  driver.path = library;
#define HLO_CUDA_SYMBOL(name, parameters) functions.Find(#name, driver.name);
#include "backends/gpu/cuda/driver.def"
  if (!functions.missing().empty())
    return NotAvailable(fmt::format("{} is too old: it has no {}", library, functions.missing()));
  const int result = driver.cuInit(0);
  if (result == kCudaErrorStubLibrary) {
    return NotAvailable(
        fmt::format("{} is the toolkit's stub; the driver itself is not installed", library));
  }
  if (absl::Status status = driver.Check(result, "cuInit"); !status.ok())
    return NotAvailable(std::string(status.message()));
  RETURN_IF_ERROR(driver.Check(driver.cuDriverGetVersion(&driver.version), "cuDriverGetVersion"));
  constexpr int kOldest = 12000;  // PTX 8.5 needs 12.5; cubins load from 12.0
  if (driver.version < kOldest) {
    return NotAvailable(fmt::format("the driver supports CUDA {}.{}, 12.0 is needed",
                                    driver.version / 1000, driver.version % 1000 / 10));
  }
  return driver;
}

absl::StatusOr<const CudaDriver*> LoadCudaDriver() {
  static const absl::StatusOr<CudaDriver> loaded = [] {
    const char* const named = std::getenv("HLO_CUDA_DRIVER");
    return LoadCudaDriverFrom(named != nullptr ? named : "libcuda.so.1");
  }();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace hlo::gpu

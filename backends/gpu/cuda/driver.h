// backends/gpu/cuda/driver.h
//
// The CUDA driver, loaded when it is first asked for. Nothing is linked: a machine without a driver
// gives an error that says which names were tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hlo::gpu {

// Values of the driver's enumerations, by the names of its header (cuda/abi_test.cc compares them).
enum : int {
  kCudaErrorOutOfMemory = 2,
  kCudaErrorStubLibrary = 34,
  kCudaErrorNotReady = 600,
  kCudaMaxThreadsPerBlock = 1,  // of cuDeviceGetAttribute, as are those that follow
  kCudaMultiprocessorCount = 16,
  kCudaComputeMajor = 75,
  kCudaComputeMinor = 76,
  kCudaMostSharedPerBlock = 97,  // for kernels that ask for it:
  kCudaSharedOfLaunch = 8,       // of cuFuncSetAttribute
  kCudaStreamNonBlocking = 1,
  kCudaEventDefault = 0,
  kCudaEventNoTiming = 2,
  kCudaCaptureOfThread = 1,
  kCudaProgrammaticSerialization = 6,  // of CudaLaunchAttribute
  kCudaJitErrorLog = 5,
  kCudaJitErrorLogBytes = 6,
};

// The driver's structures, laid out as in its header.
struct CudaLaunchAttribute {
  int id;
  int padding;
  union {
    char all[64];
    int allowed;  // of kCudaProgrammaticSerialization
  } value;
};
struct CudaLaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  CudaLaunchAttribute* attributes;
  unsigned attribute_count;
};

struct CudaDriver {
#define HLO_CUDA_SYMBOL(name, parameters) int(*name) parameters = nullptr;
#include "backends/gpu/cuda/driver.def"

  int version = 0;   // 13000 for 13.0
  std::string path;  // the library as it was found

  // OK, or an error that names the call and what the driver says.
  absl::Status Check(int result, const char* call) const;
};

// The loaded and initialised driver; the same answer for the life of the process.
absl::StatusOr<const CudaDriver*> LoadCudaDriver();

// Loads a driver from one library; for tests.
absl::StatusOr<CudaDriver> LoadCudaDriverFrom(const std::string& library);

}  // namespace hlo::gpu

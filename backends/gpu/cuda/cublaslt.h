// backends/gpu/cuda/cublaslt.h
//
// NVIDIA's library of matrix products, loaded when it is first asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hlo::gpu {

// Numbers of the library's interface; abi_test.cc compares them with its header.
enum CublasLtNumbers : int {
  kCudaTypeF32 = 0,
  kCudaTypeF64 = 1,
  kCudaTypeF16 = 2,
  kCudaTypeS8 = 3,
  kCudaTypeS32 = 10,
  kCudaTypeBF16 = 14,
  kComputeF32 = 68,
  kComputeF64 = 70,
  kComputeS32 = 72,
  kComputeTF32 = 77,
  kProductTransposeA = 3,
  kProductTransposeB = 4,
  kLayoutBatchCount = 5,
  kLayoutBatchStride = 6,
  kPreferWorkspaceBytes = 1,
  kPreferReductions = 3,
  kPreferAlignmentA = 5,  // B, C and D follow
  kReduceInComputeType = 2,
};

// The answer of cublasLtMatmulAlgoGetHeuristic.
struct CublasLtHeuristic {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int state;  // 0: it can be used
  float waves;
  int reserved[4];
};

struct CublasLt {
#define HLO_CUBLASLT_SYMBOL(name, parameters) int(*name) parameters = nullptr;
#include "backends/gpu/cuda/cublaslt.def"

  size_t version = 0;  // 130100 is 13.1.0
  std::string path;    // the library as it was found

  // OK, or an error that names the call.
  absl::Status Check(int result, const char* call) const;
};

// The loaded library: of $HLO_CUBLASLT, else the first that find_library.h finds. NotFound when
// there is none; an empty $HLO_CUBLASLT means not to look.
absl::StatusOr<const CublasLt*> LoadCublasLt();

// Loads one library; for tests.
absl::StatusOr<CublasLt> LoadCublasLtFrom(const std::string& library);

}  // namespace hlo::gpu

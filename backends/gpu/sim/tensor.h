// backends/gpu/sim/tensor.h
//
// The operations on fragments of matrices that the 32 lanes of a warp do together: which lane holds
// which element is the PTX ISA's. Products are exact, a sum is rounded once (f32).
#pragma once

#include <array>
#include <cstdint>

namespace hlo::gpu {

enum class TensorOp : int32_t {
  kMmaBf16,          // 16 x 16 by 16 x 8 of bf16, sums in f32
  kMmaF16,           // the same of f16
  kMmaTf32,          // 16 x 8 by 8 x 8 of tf32, sums in f32
  kLoadMatrix,       // four 8 x 8 matrices of 16-bit elements from shared memory
  kLoadMatrixTrans,  // the same, transposed
};

// What a lane gives and gets. Products: words of a, b and c, then of the result. Loads: the address
// in two words, then the result.
struct TensorPayload {
  std::array<uint32_t, 10> in;
  std::array<uint32_t, 4> out;
};

// Computes `out` of all lanes.
void ResolveTensor(TensorOp op, const std::array<TensorPayload*, 32>& lanes);

// Whether the operation reads shared memory (16 bytes at the lane's address).
constexpr bool LoadsMatrix(TensorOp op) {
  return op == TensorOp::kLoadMatrix || op == TensorOp::kLoadMatrixTrans;
}

}  // namespace hlo::gpu

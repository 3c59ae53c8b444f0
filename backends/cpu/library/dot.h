// backends/cpu/library/dot.h
//
// Matrix products: out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], with any strides, so
// that transposed operands cost nothing to describe.
//
//   DotSpec spec;  spec.m = …;  spec.lhs_m = …;
//   ASSIGN_OR_RETURN(std::unique_ptr<DotKernel> dot, MakeDot(spec, host));
//   dot->Run({lhs, rhs, out, scratch}, pool);
//
// Meaning (as HLO's dot): operands are converted to the type of the result; floats up to 32 bits
// are multiplied and summed in f32 and rounded once at the end; f64 and complex in their own
// precision; integers wrap; pred is "or of ands". The order of summation is the same for any number
// of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cpu/library/host.h"
#include "backends/cpu/library/kernel_state.h"
#include "lib/support/thread_pool.h"
#include "lib/types/element_type.h"

namespace hlo::cpu {

// One batch dimension. Strides are in elements and may be zero (broadcast) for the operands.
struct DotBatch {
  int64_t size = 1;
  int64_t lhs = 0;
  int64_t rhs = 0;
  int64_t out = 0;
};

// A contracting dimension with its strides.
struct DotSum {
  int64_t size = 1;
  int64_t lhs = 0;
  int64_t rhs = 0;
};

struct DotSpec {
  ElementType lhs_type = ElementType::kF32;
  ElementType rhs_type = ElementType::kF32;
  ElementType out_type = ElementType::kF32;
  absl::InlinedVector<DotBatch, 2> batch;
  int64_t m = 1, n = 1, k = 1;
  // Distance in elements between neighbours along each dimension; may be zero for operands.
  int64_t lhs_m = 0, lhs_k = 0;
  int64_t rhs_k = 0, rhs_n = 0;
  int64_t out_m = 0, out_n = 0;
  // Contracting dimensions around that of `k`, outermost first, where no two strides describe all.
  absl::InlinedVector<DotSum, 1> outer_k;
  // Runs with one state may assume that `rhs` holds the same values whenever it has the same
  // address, and keep a packed copy.
  bool rhs_constant = false;
  // Whether denormal numbers count; else products may take those of bf16 for zero.
  bool keeps_denormals = false;
  // Size of the pool it will run on.
  int threads = 1;

  // A row-major product of [m, k] and [k, n], for tests and simple callers.
  static DotSpec RowMajor(ElementType type, int64_t m, int64_t n, int64_t k);
};

struct DotBuffers {
  const void* lhs = nullptr;
  const void* rhs = nullptr;
  void* out = nullptr;
  void* scratch = nullptr;       // scratch_bytes(), aligned to 64
  KernelState* state = nullptr;  // from MakeState; null: nothing is kept
};

class DotKernel {
 public:
  virtual ~DotKernel() = default;

  // Memory a run needs; its contents need not survive between runs.
  virtual int64_t scratch_bytes() const = 0;

  // Computes `buffers.out`. Requires pool.size() <= the `threads` of the spec.
  virtual void Run(const DotBuffers& buffers, ThreadPool& pool) const = 0;

  // For runs that follow each other (DotBuffers::state); null where the kernel keeps nothing.
  virtual absl::StatusOr<std::unique_ptr<KernelState>> MakeState() const {
    return std::unique_ptr<KernelState>();
  }

  // Which implementation this is, for dumps: "gemm", "gemv", "complex", "converted", "zero".
  virtual std::string_view engine() const = 0;
};

// Chooses an implementation for `spec` on `host`.
absl::StatusOr<std::unique_ptr<DotKernel>> MakeDot(const DotSpec& spec, const Host& host);

}  // namespace hlo::cpu

// backends/cpu/library/conv.h
//
// Convolutions of any rank, with any order of dimensions (all given as strides), as HLO means them:
// strides, padding (also negative), dilation of both operands, reversed kernels, feature groups and
// batch groups.
//
//   out[b, s, o] = sum over taps t and features z of lhs[b, p(s, t), z] * rhs[t, z, o]
//   p(s, t) = (s * stride + t * rhs_dilation - pad_low) / lhs_dilation, where that is whole and inside
//
// Numbers behave as in dot.h: one rounding at the end; integers wrap.
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

// One spatial dimension. Strides of operands and result are in elements.
struct ConvDim {
  int64_t in = 1;
  int64_t kernel = 1;
  int64_t out = 1;
  int64_t stride = 1;
  int64_t pad_low = 0;  // pads may be negative: elements cut off
  int64_t pad_high = 0;
  int64_t lhs_dilation = 1;
  int64_t rhs_dilation = 1;
  bool reversed = false;  // the kernel is read backwards
  int64_t lhs_stride = 0;
  int64_t rhs_stride = 0;
  int64_t out_stride = 0;
};

struct ConvSpec {
  ElementType lhs_type = ElementType::kF32;
  ElementType rhs_type = ElementType::kF32;
  ElementType out_type = ElementType::kF32;
  absl::InlinedVector<ConvDim, 3> spatial;
  int64_t batch = 1;         // of lhs
  int64_t in_features = 1;   // of lhs
  int64_t out_features = 1;  // of rhs and the result
  int64_t feature_groups = 1;
  int64_t batch_groups = 1;
  int64_t lhs_batch = 0, lhs_feature = 0;  // strides
  int64_t rhs_in = 0, rhs_out = 0;
  int64_t out_batch = 0, out_feature = 0;
  bool rhs_constant = false;  // as in DotSpec
  int threads = 1;            // size of the pool it will run on

  int64_t out_batch_size() const { return batch / batch_groups; }
};

struct ConvBuffers {
  const void* lhs = nullptr;
  const void* rhs = nullptr;
  void* out = nullptr;
  void* scratch = nullptr;       // scratch_bytes(), aligned to 64
  KernelState* state = nullptr;  // from MakeState
};

class ConvKernel {
 public:
  virtual ~ConvKernel() = default;
  virtual int64_t scratch_bytes() const = 0;
  virtual absl::Status Run(const ConvBuffers& buffers, ThreadPool& pool) const = 0;
  // For runs that follow each other (ConvBuffers::state); null where the kernel keeps nothing.
  virtual absl::StatusOr<std::unique_ptr<KernelState>> MakeState() const {
    return std::unique_ptr<KernelState>();
  }
  // "rows", "onednn", "implicit", "gemm", "zero".
  virtual std::string_view engine() const = 0;
};

// Chooses an implementation for `spec` on `host`. Complex convolutions are Unsupported.
absl::StatusOr<std::unique_ptr<ConvKernel>> MakeConv(const ConvSpec& spec, const Host& host);

// The implementations, for tests: MakeConv takes the first that says yes, from below.
absl::StatusOr<std::unique_ptr<ConvKernel>> MakeGemmConv(const ConvSpec& spec, const Host& host);
// Null where results are many per group, or not beside each other.
std::unique_ptr<ConvKernel> MakeRowConv(const ConvSpec& spec, const Host& host);
// Null where most of the work would be wasted.
std::unique_ptr<ConvKernel> MakeImplicitConv(const ConvSpec& spec, const Host& host);
// Null where oneDNN has no fast implementation.
absl::StatusOr<std::unique_ptr<ConvKernel>> MakeOneDnnConv(const ConvSpec& spec, const Host& host);

// The same without products of padding, where `conv` multiplies zeros in its place: another value
// only where the kernel is infinite or NaN. Costs a look at the corners where none of them is NaN.
std::unique_ptr<ConvKernel> WithoutPadding(std::unique_ptr<ConvKernel> conv, const ConvSpec& spec);

}  // namespace hlo::cpu

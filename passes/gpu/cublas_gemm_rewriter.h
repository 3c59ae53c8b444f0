// Lets cuBLAS multiply matrices, and do what follows the product as well.
//
//   d = f32[4,8] dot(a, b), …
//   m = f32[4,8] multiply(d, broadcast(3))
//   s = f32[4,8] add(m, c)
//     =>   g = (f32[4,8], s8[4194304]) custom-call(a, b, c), custom_call_target="__cublas$lt$matmul",
//                backend_config={…"alpha_real":3,"beta":1,…}
//          s = get-tuple-element(g), index=0
//
// Taken in, where only this reads the product: a constant factor (alpha); a matrix that is added
// (beta), over which the result is written where nobody else needs it; a vector that is added
// along the minor dimension (epilogue BIAS); a maximum with 0 (RELU); the approximation of GELU by
// tanh (GELU, and GELU_AUX where others read the product as well). What is added to a bitcast of
// the product, or to its first rows and columns, is bitcast or padded; a constant vector that only
// reshapes, transposes and bitcasts of its broadcast follow is written out. The functions are also
// taken of bitcasts and slices. What is added to a product converted to a wider type, at the end
// of a computation, makes the call yield that type, which is not rounded in between; this moves
// results by the rounding of the narrow type, so `allow_excess_precision=false` leaves it alone.
//
// Batch dimensions: one, or more than two, may lie anywhere but last and stay as they are; two
// become one, which transposes put side by side where they are not, whether or not a call follows.
//
// Options: `enable_cublaslt`: `__cublas$lt$matmul`, but for more than 65,535 batches, or before
// 8.0 more than 4,194,240 columns of c64; else `__cublas$gemm`, which has alpha alone, and beta
// only in place. `gemm_rewrite_size_threshold`: smaller products, (free dimensions of both
// sides)·(contracted dimension), stay dots where loops compute by their algorithm. `bias_mode`:
// `bias`, or `no_bias`, with which nothing is added. `compute_capability`: how much memory the
// library works in, and whether it multiplies f8 (from 8.9). `toolkit_version`: f8 from CUDA 12.0
// on, GELU of it from 12.4. `dtype`: `non_fp8`, or `fp8`, with which only products of f8 become
// calls, `__cublas$lt$matmul$f8`:
//
//   dot(multiply(convert(f8[…] x), broadcast(s)), multiply(convert(f8[…] y), broadcast(t)))
//     =>   custom-call(x, y, s, t)
//
// Each scale is a scalar; what only moves elements may follow it. Operands are padded to multiples
// of 16, and turned until the contracted dimension is minor (before 10.0). Then scales of the
// result are taken in, too, and its way back to f8 by a clamp, with the largest magnitude where
// that is computed. A scale that follows a maximum with 0 must be a constant above 0 (XLA takes
// any, which is wrong for others). Products of f8 that the library has not are done in f16, or in
// bf16 where they yield that.
//
// Requires: dots in the form of `dot_decomposer`, transposes folded; batch dimensions side by side
// in memory where there are more than two. Ensures: calls, given ones too, yield what the library
// works in.
// Leaves alone: what cuBLAS cannot: other types (f8e8m0fnu), several free or contracted dimensions,
// batch dimensions that are minor, dynamic shapes; what follows where control edges are, and where
// the result is f8; what runs asynchronously.
#pragma once

#include <string>

#include "passes/gpu/dnn_version.h"
#include "passes/pass.h"
#include "passes/util/option_ranges.h"
#include "passes/util/option_words.h"

namespace hlo {

struct CublasGemmRewriterOptions {
  bool enable_cublaslt = true;
  IntIn<0> gemm_rewrite_size_threshold = {100};
  bool allow_excess_precision = true;
  OneOf<"bias", "no_bias"> bias_mode;
  CudaCapability compute_capability;
  DnnVersion toolkit_version = {12, 4, 0};
  OneOf<"non_fp8", "fp8"> dtype;

  HLO_OPTIONS(CublasGemmRewriterOptions, enable_cublaslt, gemm_rewrite_size_threshold,
              allow_excess_precision, bias_mode, compute_capability, toolkit_version, dtype)
};

class CublasGemmRewriter final : public WithOptions<Pass, CublasGemmRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

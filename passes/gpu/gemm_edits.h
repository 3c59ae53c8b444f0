// The parts of cublas-gemm-rewriter, by subject. Each looks at one instruction, and leaves it alone
// where it is something else.
#pragma once

#include "passes/gpu/cublas_gemm_rewriter.h"
#include "passes/gpu/gemm_calls.h"
#include "passes/gpu/library_config.h"

namespace hlo {

using GemmCallConfig = LibraryConfig<GemmConfig>;

// Changes of one computation.
struct GemmEdits {
  Computation& computation;
  const CublasGemmRewriterOptions& options;
  PassContext& context;
  std::vector<Instruction*> with_aux = {};  // calls that yield two values
  bool changed = false;

  void Replace(Instruction* old, Instruction* with, uint32_t first_new, std::string_view as);
  // Whether a product is left to a loop.
  bool IsSmall(const Instruction& dot) const;
};

// `gemm`, or a copy of one, computes another value than before.
void SetConfig(Instruction* gemm, const GemmCallConfig& config);
GemmCallConfig ConfigOf(const Instruction& dot, Shape lhs, Shape rhs, const DotAttrs& attrs);

// Whether it computes in another type than that of an operand.
bool IsMixed(const Instruction& x);
// Whether only `reader` reads the product, and the library can do it after what it does.
Decision MayFollowInCall(const Instruction& reader, const Instruction& gemm,
                         const GemmCallConfig& config, bool after_bias);

// ---- gemm_of_f8.cc ----

// dot of f8  =>  custom-call with scales; where the library cannot, of f16
absl::Status RewriteF8Dot(Instruction* dot, GemmEdits& edits);
// multiply(gemm of f8, broadcast(scale)), or divide  =>  gemm with another scale
absl::Status TakeScale(Instruction* scaled, GemmEdits& edits);
// convert(clamp(gemm of f8, scaled))  =>  gemm that yields f8, and the largest magnitude as a
// second value where that is what others read
absl::Status TakeNarrowing(Instruction* convert, GemmEdits& edits);

// ---- gemm_bias.cc ----

// add(gemm, …)  =>  gemm with beta, or with BIAS
absl::Status TakeAddend(Instruction* add, GemmEdits& edits);

// ---- gemm_epilogues.cc ----

// multiply(gemm, broadcast(constant))  =>  gemm with alpha
absl::StatusOr<bool> TakeFactor(Instruction* multiply, GemmEdits& edits);
// maximum(gemm, broadcast(0))  =>  gemm with RELU
absl::Status TakeRelu(Instruction* maximum, GemmEdits& edits);
// gelu(gemm)  =>  gemm with GELU, which yields what others read of the gemm as a second value
absl::Status TakeGelu(Instruction* multiply, Instruction* value, const ProductElements& elements,
                      GemmEdits& edits);

}  // namespace hlo

// Lets cuSOLVER factor matrices.
//
//   l = f32[b,n,n] cholesky(a), lower=true
//     =>   c = (f32[b,n,n]{1,2,0}, f32[n*n], s32[b]) custom-call(a), custom_call_target="__cusolver$cholesky",
//                operand_layout_constraints={f32[b,n,n]{1,2,0}}, backend_config={"lower":true}
//          l = get-tuple-element(c), index=0
//
// Matrices are column-major, as in Fortran; the second result is what the library works in, the
// third says which matrices have no factor.
//
// Requires: nothing.  Ensures: no cholesky outside of fusions, but of dynamic shapes. Other element
// types than f32, f64, c64 and c128 are errors.
// How much the library works in only a GPU can say; without one it is `workspace` elements, n*n
// by default.
#pragma once

#include "passes/expander.h"
#include "passes/util/option_ranges.h"

namespace hlo {

struct CusolverRewriterOptions {
  IntIn<0, int64_t{1} << 40> workspace;  // elements; 0: as many as a matrix has

  HLO_OPTIONS(CusolverRewriterOptions, workspace)
};

class CusolverRewriter final : public WithOptions<ExpanderPass, CusolverRewriterOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kCholesky}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* cholesky, Rewriter& rewriter) override;
};

}  // namespace hlo

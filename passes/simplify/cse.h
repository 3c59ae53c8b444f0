// Computes equal instructions once.
//
//   a = f32[4] add(x, y)
//   b = f32[4] add(y, x)      =>   uses of b become uses of a
//
// Equal: same opcode, shape (layouts only with `layout_sensitive`), attributes, result accuracy,
// sharding, and backend config; called computations that are the same graph, with the same
// shardings (which XLA's pass overlooks in there); the same operands, in either order where the
// opcode commutes. Equal iotas count as the same operand. Equal constants are merged first, by
// their bits; repeated outputs of fusions are read from their first occurrence (`dce` drops the
// rest); operands of one instruction that are equal iotas become one.
//
// Requires: nothing.  Ensures: per computation, no two instructions with operands are equal.
// Leaves alone: side effects (rng among them), instructions with control edges (unless
// `ignore_control_dependencies`, which drops the edges of what goes) or marked `MUST_FUSE`,
// constants whose value was elided, instructions without operands except constants, partition-id,
// replica-id, and custom calls marked `_xla_cse_safe_zero_operand`. Near-linear: candidates meet in
// a hash table.
#pragma once

#include "passes/computation_pass.h"

namespace hlo {

struct CseOptions {
  bool layout_sensitive = false;
  bool ignore_control_dependencies = false;

  static auto Fields() {
    return std::tuple{
        Optional("layout_sensitive", &CseOptions::layout_sensitive),
        Optional("is_layout_sensitive", &CseOptions::layout_sensitive),  // as XLA calls it
        Optional("ignore_control_dependencies", &CseOptions::ignore_control_dependencies)};
  }
};

class Cse final : public WithOptions<ComputationPass, CseOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<SideEffects>();

 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo

// Computes wrong values, on purpose: to try out what finds and reduces miscompiles (hlo-reduce,
// --check-equivalence, bisecting).
//
//   r = f32[4] tanh(x)        =>   t = f32[4] tanh(x), r = f32[4] add(t, broadcast(1))
//
// Every array of the given opcode becomes one more than it should be; a truth value its opposite.
// With `operand`, only where an operand has that opcode; with `limit`, only the first so many.
// Each is a rewrite of its own, called `off-by-one`, for MayRewrite and --stats.
// Leaves alone: instructions of other opcodes, tuples, tokens.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct TestOnlyMiscompileOptions {
  std::string opcode = "multiply";
  std::string operand;
  int64_t limit = -1;

  HLO_OPTIONS(TestOnlyMiscompileOptions, opcode, operand, limit)
};

class TestOnlyMiscompile final : public WithOptions<Pass, TestOnlyMiscompileOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

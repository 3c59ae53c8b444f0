// Computes before a loop what is the same in all its iterations.
//
//   while (i, x, y) { x' = x + exp(y) }      =>   h = exp(y);  while (i, x, y, h) { x' = x + h }
//
// What is hoisted becomes an element of the state. Values that are cheap to make and large to carry
// (broadcast, iota, reshape, slice, transpose, tuple, constants, …) are hoisted only together with
// something that reads them. A loop without iterations computes what was hoisted all the same.
//
// Options: `hoist_constants` and `hoist_reshapes` hoist those on their own as well, `hoist_other`
// all the rest; with `hoist_size_inflation_ratio` r >= 0 nothing is hoisted that is more than r
// times as large as its operands.
//
// Requires: nothing.  Ensures: `tuple-simplifier` and `dce` have run if anything was hoisted.
// Leaves alone: loops marked `_xla_disable_loop_instr_hoisting`; loops that are known to run at
// most once; loops with domains, or with custom calls that move to host memory or change what a
// shard is; instructions with side effects, control edges, or on tokens. The wider loop has
// computations of its own, `wide.NAME`; bodies and conditions that others call, too, stay.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct WhileLoopInvariantCodeMotionOptions {
  bool hoist_constants = false;
  bool hoist_reshapes = false;
  bool hoist_other = true;
  double hoist_size_inflation_ratio = -1;  // negative: any

  static auto Fields() {
    using O = WhileLoopInvariantCodeMotionOptions;
    return std::tuple{Optional("hoist_constants", &O::hoist_constants),
                      Optional("hoist_reshapes", &O::hoist_reshapes),
                      Optional("hoist_other", &O::hoist_other),
                      Optional("hoist_size_inflation_ratio", &O::hoist_size_inflation_ratio)};
  }
};

class WhileLoopInvariantCodeMotion final : public Pass {
 public:
  using Options = WhileLoopInvariantCodeMotionOptions;
  explicit WhileLoopInvariantCodeMotion(Options options = {}) : options_(options) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo

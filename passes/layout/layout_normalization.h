// Puts the dimensions of arrays in the order in which they lie in memory.
//
//   y = f32[2,3]{0,1} negate(x)        =>   b = f32[3,2]{1,0} bitcast(x)
//                                           n = f32[3,2]{1,0} negate(b)
//                                           y = f32[2,3]{0,1} bitcast(n)
//
//   c = f32[2,3]{1,0} copy(x)          =>   c = f32[2,3]{1,0} transpose(b), dimensions={1,0}
//
// An operation becomes one of row-major arrays with the same bytes, its attributes name the
// dimensions by their new numbers, and a bitcast gives users that do not follow the array they
// know. So the order of memory is in shapes and dimensions, and a copy that moves elements is a
// transpose. Each operation has its rule in normalized_ops.cc; scatters whose windows come to stand
// out of order get transposed updates.
//
// Requires: layouts that fit (operands of the layout-preserving operations lie as their results).
// Ensures: what has a rule is row-major and reads row-major arrays; shapes of parameters and roots
// stay. Changes nothing when run again.
// Leaves alone: operations without a rule, among them reduce (reduction-layout-normalizer), dot,
// gather, sort and custom calls; dynamic arrays; reshapes that move data (reshape-decomposer);
// copies and transposes that change more than the order, such as the memory space; variadic
// reduce-windows; scatters with batching dimensions or several scatter dimensions
// (scatter_simplifier); bodies of fusions.
#pragma once

#include "passes/pass.h"

namespace hlo {

class LayoutNormalization final : public Pass {
 public:
  // Windows are summed up in the order of their dimensions.
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

// Gives each user a constant of its own.
//
//   a = add(x, c);  b = multiply(y, c)      =>   a = add(x, c);  b = multiply(y, c.1)
//
// So that shardings, layouts and fusions of one user do not bind the others. With
// `split_expressions`, broadcasts, iotas and elementwise operations of constants alone are copied,
// too, with all they are computed from.
//
// Requires: nothing.  Ensures: a constant has one user.
// Leaves alone: what has control edges, a sharding (somebody has said something of it), fusion
// bodies.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct HloConstantSplitterOptions {
  bool split_expressions = false;

  HLO_OPTIONS(HloConstantSplitterOptions, split_expressions)
};

class HloConstantSplitter final : public WithOptions<Pass, HloConstantSplitterOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

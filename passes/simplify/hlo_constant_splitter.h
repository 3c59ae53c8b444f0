// Gives each user a constant of its own.
//
//   a = add(x, c);  b = multiply(y, c)      =>   a = add(x, c);  b = multiply(y, c.1)
//
// So that shardings, layouts and fusions of one user do not bind the others: the copies have no
// sharding. With `split_expressions`, what is computed from constants and iotas alone by slices,
// broadcasts and elementwise operations is copied, too, for each user that is more than that, with
// all it is computed from, even where there is one user: what it is computed from may have others.
//
// Requires: nothing.  Ensures: a constant has one user at most.
// What was copied stays without users (dce).  Leaves alone: fusion bodies, where that is an error.
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

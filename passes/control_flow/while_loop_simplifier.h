// Makes loops carry and do less.
//
//   while (i, x, unused) …      =>   while (i, x) …
//   while (i = 0; i < 1; ++i)   =>   its body
//
// In this order, for each loop; after the first of 1 to 5 that does something the loop is left
// for the next run:
//   1. Elements that always are equal become one; those that pass through are read before the loop.
//   2. Tuples inside the state are flattened.
//   3. Elements that nothing needs go; those that only pass through are read before the loop.
//   4. Elements that are the same constant before and after each iteration become that constant.
//   5. With `simplify_compare_instrs`: comparisons of the counter with constants outside its range
//      become constants.
//   6. Loops with sends or receives are left as they are now.
//   7. Elements that pass through and start as a scalar constant are read as that constant.
//   8. Loops without iterations become their initial state, those with one iteration their body.
//   9. Loops with domains are left as they are now.
//  10. Of several scalars of one integer type that grow by constants only one is counted; the
//      others are computed from it.
// Then `dce` removes what is no longer needed.
//
// Requires: nothing.  Leaves alone: loops whose computations others call, too; loops with
// control edges (1, 3, 4, 8); loops with the attribute `xla_disable_while_loop_dce` or
// `xla_preserve_tuple_indices` that says true, yes or 1; loops marked
// `skip-simplify-while-loops_trip-count-one="true"` or `inlineable="false"`, and bodies with side
// effects (8). Where the
// golden results hold tuples that are taken apart again, ours have their elements. A backend
// config that names elements by index goes when the state changes:
// `while-loop-trip-count-annotator` writes it anew.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct WhileLoopSimplifierOptions {
  bool simplify_compare_instrs = false;

  HLO_OPTIONS(WhileLoopSimplifierOptions, simplify_compare_instrs)
};

class WhileLoopSimplifier final : public WithOptions<Pass, WhileLoopSimplifierOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

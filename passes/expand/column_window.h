// Windows over one dimension, as windows over columns.
#pragma once

#include <vector>

#include "passes/rewrite.h"

namespace hlo {

using Arrays = std::vector<Instruction*>;

Instruction* ReshapeTo(Instruction* x, Shape shape, Rewriter& rewriter);

// `shape` with its last dimension cut into rows of `length`: the new dimension is the major one,
// as XLA has it.
Shape CutLast(Shape shape, int64_t length);

// The results of reduce-window of `xs` with this window; over [n, 1] where they have one dimension.
Arrays ReduceWindowOver(Arrays xs, const Arrays& inits, Window window, Computation* combiner,
                        Rewriter& rewriter);

// Whether operands, results and the computation have the same types, and static shapes.
bool IsOfOneKind(const Instruction& reduce_window);

}  // namespace hlo

// Which dimensions of a dot's result are those of its operands, what a dot costs, and what
// the options of `algsimp` say of dots.
//
//   f32[2,3,5] dot(f32[2,3,7] a, f32[7,5,2] b), lhs_batch_dims={0}, lhs_contracting_dims={2},
//       rhs_batch_dims={2}, rhs_contracting_dims={0}
//   ResultDims: a {0, 1, -1}, b {-1, 2, 0};    OperandDims: a {0, 1, -1}, b {2, -1, 1}
#pragma once

#include "lib/ir/instruction.h"

namespace hlo::algsimp {

inline const DotAttrs& DimsOf(const Instruction* dot) { return dot->attrs<DotAttrs>(); }
// Whether some size of the operands or the result is known only when it runs.
bool HasDynamicSizes(const Instruction* dot);

struct DotDims {
  DimVec lhs, rhs;
};
// For each dimension of an operand the one of the result; -1 for contracting ones.
DotDims ResultDims(const DotAttrs& attrs, Shape lhs, Shape rhs);
// For each dimension of the result the one of the operand; -1 where the other one has it.
DotDims OperandDims(const DotAttrs& attrs, Shape lhs, Shape rhs);

// Dots whose sums are left open between devices: to be rewritten would lose that.
bool IsLeftUnreduced(const Instruction& dot);

// A parameter, or one after operations of one operand.
bool IsParameterLike(const Instruction* x);

// What rules about dots ask of the options. Rules are plain functions: the pass sets this for
// the time that it applies them, on its own thread.
struct DotChoices {
  double associative_reordering_threshold = 2.0;  // old flops by new flops
  double raise_slice_and_reduce_through_dot_threshold = 2.0;
  bool enable_move_dot_param_to_rhs = false;
};
const DotChoices& CurrentDotChoices();

class ScopedDotChoices {
 public:
  explicit ScopedDotChoices(const DotChoices& choices);
  ~ScopedDotChoices();
  ScopedDotChoices(const ScopedDotChoices&) = delete;
  ScopedDotChoices& operator=(const ScopedDotChoices&) = delete;

 private:
  DotChoices before_;
};

// Whether exchanging the operands of `dot` would undo enable_move_dot_param_to_rhs.
bool HasItsParameterRight(const Instruction& dot);

}  // namespace hlo::algsimp

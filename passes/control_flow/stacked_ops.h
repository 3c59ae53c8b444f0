// Operations of one iteration, done for all iterations at once: on arrays with one more dimension
// in front, `count` long, each of whose slices belongs to an iteration.
//
//   transpose(x), dimensions={1,0}     =>   transpose(xs), dimensions={0,2,1}
//   add(x, c), c a constant            =>   add(xs, broadcast(c))
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/builder.h"

namespace hlo {

class StackedOps {
 public:
  StackedOps(Computation* computation, int64_t count) : b_(computation), count_(count) {}
  const absl::Status& status() const { return b_.status(); }

  // `stacked` has the values of `value` in its slices.
  void SetStacked(const Instruction* value, Instruction* stacked) { stacked_[value] = stacked; }
  // `same` has the value of `value` in all iterations.
  void SetSame(const Instruction* value, Instruction* same) { same_[value] = same; }
  // Makes what stands for `op`, if nothing does; its operands are known.
  void Add(const Instruction& op);
  // The values of `value` in all iterations.
  Instruction* Stacked(const Instruction* value);

 private:
  bool IsStacked(const Instruction* value) const { return stacked_.contains(value); }
  Shape StackedShape(Shape shape) const;
  Instruction* SameOperand(const Instruction& op, int i) { return same_.at(op.operand(i)); }
  Instruction* Copy(const Instruction& op, Shape shape, const std::vector<Instruction*>& operands);
  // Operand `i` of an elementwise operation.
  Instruction* ElementwiseOperand(const Instruction& op, int i);
  std::vector<Instruction*> OperandsOf(const Instruction& op);
  AttrsPtr AttrsOf(const Instruction& op) const;

  Builder b_;
  int64_t count_;
  absl::flat_hash_map<const Instruction*, Instruction*> stacked_;
  absl::flat_hash_map<const Instruction*, Instruction*> same_;
};

}  // namespace hlo

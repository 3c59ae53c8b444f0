// Parameters, tuples, calls of computations, and what gives its operand on as it is.
#include <fmt/format.h>

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/support/status.h"
#include "passes/spmd/rules.h"

namespace hlo {
namespace {

// The shape that a device has of a value.
Shape DividedShape(Shape whole, const Placements& leaves, size_t& next) {
  if (!whole.IsTuple()) {
    const Placement* placement = leaves[next++];
    return whole.IsArray() ? placement->TileShape(whole) : whole;
  }
  std::vector<Shape> elements;
  for (const Shape element : whole.elements())
    elements.push_back(DividedShape(element, leaves, next));
  return Shape::Tuple(elements);
}

absl::StatusOr<Parts> DivideParameter(Partitioner& partitioner, const Instruction& old) {
  const Placements& leaves = partitioner.parameter(old.parameter_number());
  size_t next = 0;
  Instruction* value = partitioner.code().Parameter(
      old.parameter_number(), DividedShape(old.shape(), leaves, next), old.name());
  value->CopyExtrasFrom(old);
  value->SetAttrsPtr(old.attrs_ptr());
  Partitioner::ForgetWhole(value, old);
  return Parts{value, leaves};
}

absl::StatusOr<Parts> DivideTuple(Partitioner& partitioner, const Instruction& old) {
  std::vector<Instruction*> elements;
  Placements leaves;
  for (const Instruction* element : old.operands()) {
    const Parts& parts = partitioner.parts(element);
    elements.push_back(parts.value);
    leaves.insert(leaves.end(), parts.leaves.begin(), parts.leaves.end());
  }
  return Parts{partitioner.code().Tuple(elements), std::move(leaves)};
}

absl::StatusOr<Parts> DivideElement(Partitioner& partitioner, const Instruction& old) {
  const Instruction* tuple = old.operand(0);
  const Parts& parts = partitioner.parts(tuple);
  const int64_t index = old.tuple_index();
  const auto begin = parts.leaves.begin() + FirstLeaf(tuple->shape(), index);
  const auto count = old.shape().IsTuple() ? LeafCount(old.shape()) : 1;
  Instruction* value = parts.value->opcode() == Opcode::kTuple
                           ? parts.value->operand(static_cast<int>(index))
                           : partitioner.code().GetTupleElement(parts.value, index);
  return Parts{value, Placements(begin, begin + count)};
}

// The value under another name: as it is divided.
absl::StatusOr<Parts> PassOn(Partitioner& partitioner, const Instruction& old) {
  const Parts& parts = partitioner.parts(old.operand(0));
  std::vector<Instruction*> operands = {parts.value};
  for (int i = 1; i < old.operand_count(); ++i)
    operands.push_back(partitioner.parts(old.operand(i)).value);
  return Parts{partitioner.Clone(old, parts.value->shape(), std::move(operands)), parts.leaves};
}

// An array is copied where it is wanted.
absl::StatusOr<Parts> DivideCopy(Partitioner& partitioner, const Instruction& old) {
  return old.shape().IsArray() ? DivideElementwise(partitioner, old) : PassOn(partitioner, old);
}

// A domain of shardings is over; of others, it stays.
absl::StatusOr<Parts> DropDomain(Partitioner& partitioner, const Instruction& old) {
  return partitioner.parts(old.operand(0));
}

// ---- calls ----

absl::StatusOr<Parts> DivideWhile(Partitioner& partitioner, const Instruction& old) {
  ModulePartitioner& module = partitioner.module();
  const Placements state = partitioner.wanted();
  Instruction* init = partitioner.OperandAs(old, 0, state);
  ASSIGN_OR_RETURN(const auto condition,
                   module.Partition(*old.while_condition(), {state}, nullptr));
  ASSIGN_OR_RETURN(const auto body, module.Partition(*old.while_body(), {state}, &state));
  Instruction* loop = partitioner.Clone(old, init->shape(), {init});
  loop->SetCall(0, condition.computation);
  loop->SetCall(1, body.computation);
  return Parts{loop, state};
}

absl::StatusOr<Parts> DivideConditional(Partitioner& partitioner, const Instruction& old) {
  const Placements result = partitioner.wanted();
  std::vector<Instruction*> operands = {partitioner.OperandAs(old, 0, partitioner.Scalar())};
  std::vector<Computation*> branches;
  for (int i = 0; i < old.call_count(); ++i) {
    const Parts& parts = partitioner.parts(old.operand(i + 1));
    operands.push_back(parts.value);
    ASSIGN_OR_RETURN(const auto branch,
                     partitioner.module().Partition(*old.call(i), {parts.leaves}, &result));
    branches.push_back(branch.computation);
  }
  Instruction* conditional =
      partitioner.Clone(old, branches[0]->root()->shape(), std::move(operands));
  conditional->SetCalls(branches);
  return Parts{conditional, result};
}

absl::StatusOr<Parts> DivideCall(Partitioner& partitioner, const Instruction& old) {
  const Placements result = partitioner.wanted();
  std::vector<Instruction*> operands;
  std::vector<Placements> parameters;
  for (const Instruction* operand : old.operands()) {
    const Parts& parts = partitioner.parts(operand);
    operands.push_back(parts.value);
    parameters.push_back(parts.leaves);
  }
  ASSIGN_OR_RETURN(const auto callee,
                   partitioner.module().Partition(*old.to_apply(), parameters, &result));
  Instruction* call =
      partitioner.Clone(old, callee.computation->root()->shape(), std::move(operands));
  call->SetCall(0, callee.computation);
  return Parts{call, result};
}

constexpr SpmdRow kControlRows[] = {
    {Opcode::kParameter, DivideParameter},
    {Opcode::kTuple, DivideTuple},
    {Opcode::kGetTupleElement, DivideElement},
    {Opcode::kCopy, DivideCopy},
    {Opcode::kOptimizationBarrier, PassOn},
    {Opcode::kAddDependency, PassOn},
    {Opcode::kDomain, DropDomain},
    {Opcode::kWhile, DivideWhile},
    {Opcode::kConditional, DivideConditional},
    {Opcode::kCall, DivideCall},
};

}  // namespace

std::span<const SpmdRow> SpmdControlRows() { return kControlRows; }

}  // namespace hlo

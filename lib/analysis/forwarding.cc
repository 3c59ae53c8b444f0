#include "lib/analysis/forwarding.h"

#include "lib/analysis/alias.h"
#include "lib/analysis/leaves.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {
namespace {

using Sources = std::vector<LeafSource>;

void AppendAll(const Instruction& instruction, int operand, Sources& sources) {
  const int64_t count = LeafCount(instruction.operand(operand)->shape());
  for (int64_t leaf = 0; leaf < count; ++leaf) sources.push_back({operand, leaf});
}

// The leaves of element `element` of operand 0, up to as many as the result has; the rest is made.
Sources ElementOfOperand(const Instruction& instruction, int64_t element) {
  const Shape tuple = instruction.operand(0)->shape();
  Sources sources(static_cast<size_t>(LeafCount(instruction.shape())));
  if (!tuple.IsTuple() || element >= tuple.element_count_of_tuple()) return sources;
  const int64_t first = FirstLeaf(tuple, element);
  const int64_t count = LeafCount(tuple.element(static_cast<int>(element)));
  for (int64_t i = 0; i < count && i < std::ssize(sources); ++i)
    sources[static_cast<size_t>(i)] = {0, first + i};
  return sources;
}

// Element `element` of the result is the operands, all together; the rest is made.
Sources OperandsAsElement(const Instruction& instruction, int64_t element) {
  const Shape tuple = instruction.shape();
  Sources sources(static_cast<size_t>(LeafCount(tuple)));
  if (!tuple.IsTuple() || element >= tuple.element_count_of_tuple()) return sources;
  Sources operands;
  for (int i = 0; i < instruction.operand_count(); ++i) AppendAll(instruction, i, operands);
  if (std::ssize(operands) != LeafCount(tuple.element(static_cast<int>(element)))) {
    // More than what is sent: the first ones are it.
    operands.resize(static_cast<size_t>(LeafCount(tuple.element(static_cast<int>(element)))));
  }
  const auto first = static_cast<size_t>(FirstLeaf(tuple, element));
  for (size_t i = 0; i < operands.size(); ++i) sources[first + i] = operands[i];
  return sources;
}

// All leaves of operand 0, in order; none where the result has another number of them, as a bitcast
// without meaning may.
Sources Same(const Instruction& instruction) {
  Sources sources;
  AppendAll(instruction, 0, sources);
  if (std::ssize(sources) != LeafCount(instruction.shape())) sources.clear();
  return sources;
}

Sources OfCopyStart(const Instruction& start, bool dense) {
  Sources sources = OperandsAsElement(start, 1);
  if (dense && !sources.empty()) sources[0] = {0, 0};
  return sources;
}

}  // namespace

std::vector<LeafSource> ForwardedLeaves(const Instruction& instruction, bool dense) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kTuple) {
    Sources sources;
    for (int i = 0; i < instruction.operand_count(); ++i) AppendAll(instruction, i, sources);
    return sources;
  }
  if (opcode == Opcode::kGetTupleElement)
    return ElementOfOperand(instruction, instruction.tuple_index());
  if (opcode == Opcode::kCopyStart) return OfCopyStart(instruction, dense);
  if (opcode == Opcode::kAllGatherStart || opcode == Opcode::kCollectivePermuteStart ||
      opcode == Opcode::kSend)
    return OperandsAsElement(instruction, 0);
  if (kOperandsKeepingDones.Has(opcode)) return ElementOfOperand(instruction, 1);
  if (opcode == Opcode::kCopyDone || opcode == Opcode::kRecvDone)
    return ElementOfOperand(instruction, 0);
  if (opcode == Opcode::kAllReduceDone) return Same(instruction);
  if (dense ? IsAliasWhenDense(instruction) : IsAlias(instruction)) return Same(instruction);
  return {};
}

}  // namespace hlo

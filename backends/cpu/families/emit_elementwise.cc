// Emission of elementwise opcodes, constants and scalar computations.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/codegen/scalar_region.h"
#include "backends/cpu/families/fusion_emitter.h"
#include "lib/support/status.h"

namespace hlo::cpu {

Value FusionEmitter::EmitLiteral(const Literal& literal, int64_t linear) {
  std::array<uint64_t, 2> bits = {0, 0};
  const int bytes = ByteSize(literal.element_type());
  std::memcpy(bits.data(), literal.data() + linear * bytes, static_cast<size_t>(bytes));
  return b_.Constant(literal.element_type(), bits);
}

absl::StatusOr<Value> FusionEmitter::EmitConstant(const Instruction* instruction,
                                                  const Index& index) {
  const Literal& literal = instruction->literal();
  if (literal.is_elided())
    return Error(instruction->loc(), "the value of `{}` is elided", instruction->name());
  if (literal.element_count() == 1 || literal.IsUniform()) return EmitLiteral(literal, 0);
  const auto [it, is_new] = constant_buffers_.try_emplace(instruction, 0);
  if (is_new) {
    it->second = b_.AddConstantBuffer(literal.element_type(),
                                      {literal.data(), static_cast<size_t>(literal.byte_size())});
  }
  return LoadElement(it->second, Linear(index, literal.shape().dims()));
}

int FusionEmitter::ReduceDepth(const Instruction* instruction) {
  if (buffers_.contains(instruction)) return 0;
  if (const auto it = reduce_depths_.find(instruction); it != reduce_depths_.end())
    return it->second;
  int depth = 0;
  for (const Instruction* operand : instruction->operands())
    depth = std::max(depth, ReduceDepth(operand));
  if (instruction->opcode() == Opcode::kReduce) ++depth;
  reduce_depths_[instruction] = depth;
  return depth;
}

absl::StatusOr<Value> FusionEmitter::EmitElementwise(const Instruction* instruction,
                                                     const Index& index) {
  // Reductions first: on their way they keep rows of what other operands need.
  std::vector<int> order;
  for (int i = 0; i < instruction->operand_count(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return ReduceDepth(instruction->operand(a)) > ReduceDepth(instruction->operand(b));
  });
  Values operands(order.size(), tile::kNoValue);
  for (const int i : order) {
    // A scalar predicate or limit goes with every element.
    const Instruction* const operand = instruction->operand(i);
    const bool is_scalar = operand->shape().rank() == 0;
    ASSIGN_OR_RETURN(operands[static_cast<size_t>(i)], Emit(operand, is_scalar ? Index() : index));
  }
  return ApplyElementwise(*instruction, operands);
}

absl::StatusOr<Value> FusionEmitter::ApplyElementwise(const Instruction& instruction,
                                                      absl::Span<const Value> operands) {
  const Opcode opcode = instruction.opcode();
  const ElementType type = instruction.shape().element_type();
  if (opcode == Opcode::kCopy || opcode == Opcode::kOptimizationBarrier) return operands[0];
  if (opcode == Opcode::kConvert) return b_.Convert(operands[0], type);
  return b_.Element(opcode, type, operands, ElementAttrsOf(instruction));
}

absl::StatusOr<Values> FusionEmitter::EmitRegion(const Computation& computation,
                                                 absl::Span<const Value> arguments) {
  return ScalarRegion<FusionEmitter>(*this, computation, arguments).Results();
}

}  // namespace hlo::cpu

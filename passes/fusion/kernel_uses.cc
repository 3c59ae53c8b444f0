#include "passes/fusion/kernel_uses.h"

#include "passes/fusion/kernel_support.h"

namespace hlo {
namespace {

constexpr int64_t kSmallBytes = 1 << 15;  // arrays for which access patterns do not matter

// Whether operand dimensions are the leading ones of the result, but for those of one element: each
// element serves a contiguous run.
bool BroadcastsRows(const Instruction& broadcast) {
  const Shape shape = broadcast.shape();
  int next = 0;
  for (const int64_t dim : broadcast.attrs<BroadcastAttrs>().dimensions) {
    if (shape.dim(static_cast<int>(dim)) == 1) continue;
    while (next < dim && shape.dim(next) == 1) ++next;
    if (next++ != dim) return false;
  }
  return true;
}

}  // namespace

bool IsSimpleLoop(const Instruction& instruction) {
  if (!IsFusible(instruction) || !IsFusibleElementwise(instruction) || IsExpensive(instruction))
    return false;
  const Instruction* array = nullptr;
  for (const Instruction* operand : instruction.operands()) {
    const bool is_scalar = operand->shape().element_count() == 1 ||
                           (operand->opcode() == Opcode::kBroadcast &&
                            operand->operand(0)->shape().element_count() == 1);
    if (is_scalar || operand == array) continue;
    if (array != nullptr) return false;
    array = operand;
  }
  return array != nullptr && array->shape().byte_size() <= instruction.shape().byte_size();
}

bool UseAllowsFusion(const Instruction& instruction, const Instruction& user, int operand_index,
                     const Instruction& root, bool repeats_simple) {
  const bool small =
      instruction.shape().IsArray() && instruction.shape().byte_size() <= kSmallBytes / 8;
  // These read elements once, but not where a reduction has just made them.
  constexpr OpcodeSet kNotOfReductions = {
      Opcode::kReduce,  Opcode::kConcatenate,  Opcode::kPad,    Opcode::kSlice,
      Opcode::kReverse, Opcode::kDynamicSlice, Opcode::kGather, Opcode::kDynamicUpdateSlice};
  const Opcode reader = user.opcode();
  const bool reduces = instruction.opcode() == Opcode::kReduce;
  if (reader == Opcode::kBroadcast) {
    if (instruction.shape().element_count() == 1 && !reduces) return true;
    return BroadcastsRows(user) ||
           (!reduces && !IsExpensive(instruction) && (small || repeats_simple));
  }
  if (reader == Opcode::kBitcast || reader == Opcode::kReshape) {
    // What matters is who reads the reshaped value.
    return &user == &root || absl::c_all_of(user.uses(), [&](const Use& use) {
      return UseAllowsFusion(instruction, *use.user, use.operand_index, root, repeats_simple);
    });
  }
  if (reader == Opcode::kTranspose) {
    return !MovesMinorDimension(user) || (small && !IsExpensive(instruction)) || user.is_root() ||
           &user == &root;
  }
  if (kNotOfReductions.Has(reader)) {
    if (reduces) return false;
    // Indices are read once per slice; the operand only where it is gathered.
    if (reader == Opcode::kGather) return operand_index == 1 || !IsExpensive(instruction);
    return reader != Opcode::kDynamicUpdateSlice || operand_index != 0;
  }
  if (instruction.opcode() == Opcode::kTranspose && MovesMinorDimension(instruction)) {
    return instruction.shape().byte_size() <= kSmallBytes;
  }
  return true;
}

}  // namespace hlo

#include "passes/expand/dynamic_index_splitter.h"

namespace hlo {
namespace {

// Where the starts stand among the operands: after the array and, for an update, what is written.
int FirstStart(const Instruction& slice) { return slice.opcode() == Opcode::kDynamicSlice ? 1 : 2; }

}  // namespace

bool DynamicIndexSplitter::Matches(const Instruction& instruction) const {
  // The starts of buffers are scalars already, and what is written into one does not
  // take its place.
  if (!instruction.shape().IsArray()) return false;
  if (instruction.shape().rank() == 0) return true;
  const int first = FirstStart(instruction);
  return first < instruction.operand_count() && instruction.operand(first)->shape().rank() == 1;
}

absl::StatusOr<Instruction*> DynamicIndexSplitter::Expand(Instruction* slice, Rewriter& rewriter) {
  const int first = FirstStart(*slice);
  if (slice->shape().rank() == 0) return slice->operand(first - 1);
  Instruction* const vector = slice->operand(first);
  std::vector<Instruction*> operands = slice->operand_vector();
  operands.resize(static_cast<size_t>(first));
  for (int64_t d = 0; d < slice->shape().rank(); ++d)
    operands.push_back(rewriter.Reshape(rewriter.Slice(vector, {d}, {d + 1}), {}));
  return rewriter.OpWithShape(slice->opcode(), slice->shape(), operands, slice->attrs_ptr());
}

HLO_DEFINE_PASS(DynamicIndexSplitter)

}  // namespace hlo

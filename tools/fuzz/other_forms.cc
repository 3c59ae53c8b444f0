#include "tools/fuzz/other_forms.h"

#include <algorithm>
#include <numeric>

#include "lib/ir/builder.h"
#include "lib/ops/attrs.h"
#include "passes/pass_manager.h"
#include "tools/fuzz/rounding.h"

namespace hlo {
namespace {

bool Solves(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kTriangularSolve &&
         !instruction.operand(0)->shape().has_dynamic_dims() &&
         !instruction.operand(1)->shape().has_dynamic_dims();
}

// Gives a convolution the zeros that it sees.
absl::Status WriteOutPadding(Instruction* convolution) {
  Builder b(convolution->parent());
  ConvolutionAttrs attrs = convolution->attrs<ConvolutionAttrs>();
  Instruction* lhs = convolution->operand(0);
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(lhs->shape().rank()));
  for (size_t d = 0; d < attrs.dim_labels.input_spatial.size(); ++d) {
    WindowDim& dim = attrs.window.dims[d];
    padding.dims[static_cast<size_t>(attrs.dim_labels.input_spatial[d])] = {
        std::max<int64_t>(dim.pad_low, 0), std::max<int64_t>(dim.pad_high, 0),
        dim.base_dilation - 1};
    dim.pad_low = std::min<int64_t>(dim.pad_low, 0);
    dim.pad_high = std::min<int64_t>(dim.pad_high, 0);
    dim.base_dilation = 1;
  }
  Instruction* zero = b.ScalarConstant(lhs->shape().element_type(), 0);
  Instruction* padded = b.Pad(lhs, zero, padding);
  Instruction* same =
      b.OpWithShape(Opcode::kConvolution, convolution->shape(), {padded, convolution->operand(1)},
                    AttrsPtr::Make(std::move(attrs)));
  RETURN_IF_ERROR(b.status());
  convolution->parent()->Replace(convolution, same);
  return absl::OkStatus();
}

// Makes NaN of all that is solved by a matrix whose elements have no finite sum.
absl::Status NeedFiniteMatrix(Instruction* solve) {
  Builder b(solve->parent());
  Instruction* const a = solve->operand(0);
  const ElementType type = a->shape().element_type();
  const int64_t rank = a->shape().rank();
  Instruction* const sum = b.Reduce(a, b.ScalarConstant(type, 0), {rank - 2, rank - 1},
                                    ScalarComputation(solve->module(), Opcode::kAdd, type));
  std::vector<int64_t> batch(static_cast<size_t>(rank - 2));
  std::iota(batch.begin(), batch.end(), 0);
  Instruction* const rest =
      b.Broadcast(b.Subtract(sum, sum), solve->shape().dims(), batch);  // 0 or NaN
  Instruction* const solved =
      b.OpWithShape(solve->opcode(), solve->shape(), solve->operand_vector(), solve->attrs_ptr());
  Instruction* const result =
      b.Select(b.Compare(rest, rest, ComparisonDirection::kNe), rest, solved);
  RETURN_IF_ERROR(b.status());
  solve->parent()->Replace(solve, result);
  return absl::OkStatus();
}

}  // namespace

bool HasOtherForm(const Instruction& instruction) {
  return IsStatistics(instruction) || SeesPadding(instruction) || Solves(instruction);
}

absl::Status WriteOtherForms(Module& module) {
  PassContext context;
  RETURN_IF_ERROR(RunPipelineText("batchnorm_expander", module, context).status());
  const std::vector<Computation*> computations = module.computations();  // regions come in
  for (Computation* computation : computations) {
    std::vector<Instruction*> instructions;
    for (Instruction* instruction : computation->instructions())
      instructions.push_back(instruction);
    for (Instruction* instruction : instructions) {
      if (SeesPadding(*instruction))
        RETURN_IF_ERROR(WriteOutPadding(instruction));
      else if (Solves(*instruction))
        RETURN_IF_ERROR(NeedFiniteMatrix(instruction));
    }
  }
  return absl::OkStatus();
}

}  // namespace hlo

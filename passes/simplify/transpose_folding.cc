#include "passes/simplify/transpose_folding.h"

#include "lib/types/dim_lists.h"

namespace hlo {
namespace {

const DimVec& TransposeOrder(const Instruction& transpose) {
  return transpose.attrs<TransposeAttrs>().dimensions;
}

void MapThrough(const DimVec& order, DimVec& dims) {
  for (int64_t& dim : dims) dim = order[static_cast<size_t>(dim)];
}
void MapThrough(const DimVec& order, int64_t& dim) { dim = order[static_cast<size_t>(dim)]; }

// All batch dimensions, which the transpose does not move, one row and one column.
bool SwapsRowAndColumn(const DotAttrs& attrs, int side, const DimVec& order) {
  const DimVec& batch = side == 0 ? attrs.lhs_batch_dims : attrs.rhs_batch_dims;
  const DimVec& contracting = side == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims;
  return batch.size() + 2 == order.size() && contracting.size() == 1 &&
         absl::c_all_of(batch, [&](int64_t dim) { return order[static_cast<size_t>(dim)] == dim; });
}

// Whether what is neither batch nor summed keeps its order: so it stands in the result.
bool KeepsFreeDimensions(const DotAttrs& attrs, int side, const DimVec& order) {
  const DimVec& batch = side == 0 ? attrs.lhs_batch_dims : attrs.rhs_batch_dims;
  const DimVec& contracting = side == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims;
  DimVec free = FreeDims(static_cast<int>(order.size()), batch, contracting);
  MapThrough(order, free);
  return absl::c_is_sorted(free);
}

}  // namespace

bool TransposeFolding::Folds(const Instruction& instruction, int i) const {
  const Instruction& transpose = *instruction.operand(i);
  if (transpose.opcode() != Opcode::kTranspose || transpose.has_control_edges()) return false;
  if (instruction.opcode() == Opcode::kConvolution) return options_.convolutions;
  const DimVec& order = TransposeOrder(transpose);
  if (absl::c_is_sorted(order)) return false;
  if (!options_.dots || instruction.operand(0)->shape().rank() < 2 ||
      instruction.operand(1)->shape().rank() < 2)
    return false;
  const auto& attrs = instruction.attrs<DotAttrs>();
  return options_.any_transpose ? KeepsFreeDimensions(attrs, i, order)
                                : SwapsRowAndColumn(attrs, i, order);
}

bool TransposeFolding::Matches(const Instruction& instruction) const {
  return Folds(instruction, 0) || Folds(instruction, 1);
}

absl::StatusOr<Instruction*> TransposeFolding::Expand(Instruction* instruction,
                                                      Rewriter& rewriter) {
  std::vector<Instruction*> operands = instruction->operand_vector();
  AttrsPtr attrs = instruction->attrs_ptr();
  for (int i = 0; i < 2; ++i) {
    if (!Folds(*instruction, i)) continue;
    Instruction*& operand = operands[static_cast<size_t>(i)];
    const DimVec& order = TransposeOrder(*operand);
    if (instruction->opcode() == Opcode::kDot) {
      DotAttrs dot = attrs.Get<DotAttrs>();
      MapThrough(order, i == 0 ? dot.lhs_batch_dims : dot.rhs_batch_dims);
      MapThrough(order, i == 0 ? dot.lhs_contracting_dims : dot.rhs_contracting_dims);
      attrs = AttrsPtr::Make(std::move(dot));
    } else {
      ConvolutionAttrs convolution = attrs.Get<ConvolutionAttrs>();
      ConvDimNumbers& dims = convolution.dim_labels;
      MapThrough(order, i == 0 ? dims.input_batch : dims.kernel_input_feature);
      MapThrough(order, i == 0 ? dims.input_feature : dims.kernel_output_feature);
      MapThrough(order, i == 0 ? dims.input_spatial : dims.kernel_spatial);
      attrs = AttrsPtr::Make(std::move(convolution));
    }
    operand = operand->operand(0);
  }
  Instruction* folded =
      rewriter.OpWithShape(instruction->opcode(), instruction->shape(), operands, std::move(attrs));
  if (!instruction->backend_config().empty())
    folded->mutable_extras().backend_config = std::string(instruction->backend_config());
  return folded;
}

HLO_DEFINE_PASS(TransposeFolding)

}  // namespace hlo

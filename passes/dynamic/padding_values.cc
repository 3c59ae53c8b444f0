#include "passes/dynamic/padding_values.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/region.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {
namespace {

// What looks at elements one by one, moves them, or hands them on.
constexpr OpcodeSet kNeedNoPadding = {Opcode::kAllReduce,
                                      Opcode::kAsyncDone,
                                      Opcode::kAsyncStart,
                                      Opcode::kAsyncUpdate,
                                      Opcode::kBroadcast,
                                      Opcode::kCall,
                                      Opcode::kConcatenate,
                                      Opcode::kConditional,
                                      Opcode::kCustomCall,
                                      Opcode::kDomain,
                                      Opcode::kDynamicReshape,
                                      Opcode::kDynamicSlice,
                                      Opcode::kDynamicUpdateSlice,
                                      Opcode::kGather,
                                      Opcode::kGetDimensionSize,
                                      Opcode::kGetTupleElement,
                                      Opcode::kMap,
                                      Opcode::kOptimizationBarrier,
                                      Opcode::kReduceScatter,
                                      Opcode::kReshape,
                                      Opcode::kReverse,
                                      Opcode::kSetDimensionSize,
                                      Opcode::kSlice,
                                      Opcode::kSort,
                                      Opcode::kTranspose,
                                      Opcode::kTuple,
                                      Opcode::kWhile};

bool IsWindowOfOne(const Window& window, size_t i) {
  return i < window.dims.size() && window.dims[i].size == 1;
}

bool ConvolutionIgnores(const Instruction& convolution, int operand, int64_t dim) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& labels = attrs.dim_labels;
  if (operand == 1) return dim == labels.kernel_output_feature;
  if (dim == labels.input_batch) return true;
  const auto at = absl::c_find(labels.input_spatial, dim);
  return at != labels.input_spatial.end() &&
         IsWindowOfOne(attrs.window, static_cast<size_t>(at - labels.input_spatial.begin()));
}

// The initial value, but where combining it more often than once would show: what changes nothing.
Instruction* ReductionFiller(Builder& builder, const Instruction& reduction, int operand) {
  Instruction* init = reduction.operand(reduction.operand_count() / 2 + operand);
  const std::optional<RegionOperation> operation = OperationOf(*reduction.to_apply());
  if (!operation || IsIdempotent(operation->opcode) || IsIdentityOf(operation->opcode, *init))
    return init;
  const auto identity = IdentityOf(operation->opcode, init->shape().element_type());
  return identity ? builder.Constant(*identity) : init;
}

bool DotIgnores(const Instruction& dot, int operand, int64_t dim) {
  const auto& attrs = dot.attrs<DotAttrs>();
  return !absl::c_linear_search(
      operand == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims, dim);
}

}  // namespace

bool IgnoresAfterEnd(const Instruction& instruction, int operand, int64_t dim) {
  const Opcode opcode = instruction.opcode();
  const auto number = static_cast<size_t>(dim);
  if (opcode == Opcode::kConvolution) return ConvolutionIgnores(instruction, operand, dim);
  if (opcode == Opcode::kDot) return DotIgnores(instruction, operand, dim);
  if (opcode == Opcode::kReduce)
    return !absl::c_linear_search(instruction.attrs<ReduceAttrs>().dimensions, dim);
  if (opcode == Opcode::kReduceWindow)
    return IsWindowOfOne(instruction.attrs<ReduceWindowAttrs>().window, number);
  return opcode == Opcode::kSelectAndScatter &&
         IsWindowOfOne(instruction.attrs<SelectAndScatterAttrs>().window, number);
}

absl::StatusOr<Instruction*> NeverSelected(Builder& builder, const Instruction& instruction) {
  const Computation& select = *instruction.call(0);
  const Instruction& root = *select.root();
  const bool prefers_greater = root.opcode() == Opcode::kCompare && select.parameter_count() == 2 &&
                               root.attrs<CompareAttrs>().direction == ComparisonDirection::kGe &&
                               root.operand(0) == select.parameter(0) &&
                               root.operand(1) == select.parameter(1);
  if (!prefers_greater) {
    return Unsupported(instruction.loc(),
                       "`{}` is dynamic and selects by `{}`, which is not `a >= b`",
                       instruction.name(), select.name());
  }
  return builder.Constant(Literal::MinValue(instruction.operand(0)->shape().element_type()));
}

absl::StatusOr<Instruction*> PaddingValue(Builder& builder, const Instruction& instruction,
                                          int operand) {
  const Opcode opcode = instruction.opcode();
  if (IsElementwise(opcode) || kNeedNoPadding.Has(opcode)) return nullptr;
  const ElementType type = instruction.operand(operand)->shape().element_type();
  if (kReduceOps.Has(opcode)) return ReductionFiller(builder, instruction, operand);
  if (kMatrixProducts.Has(opcode)) return builder.ScalarConstant(type, 0);
  if (opcode == Opcode::kPad) return instruction.operand(1);
  if (opcode == Opcode::kScatter) {
    // Places after the end are those of no element.
    const bool is_indices = operand == instruction.operand_count() / 2;
    return is_indices ? builder.Constant(Literal::MaxValue(type)) : nullptr;
  }
  if (opcode == Opcode::kSelectAndScatter)
    return operand == 1 ? instruction.operand(2) : NeverSelected(builder, instruction);
  return Unsupported(instruction.loc(), "`{}` has no meaning for dynamic dimensions yet",
                     instruction.opcode_text());
}

}  // namespace hlo

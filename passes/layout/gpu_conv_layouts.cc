#include "passes/layout/gpu_conv_layouts.h"

#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "lib/eval/library_targets.h"
#include "lib/ops/attrs.h"

namespace hlo {
namespace {

using Strength = LayoutConstraints::Strength;

constexpr CudaCapability kVolta{7, 0};
constexpr CudaCapability kHopper{9, 0};

// The value of a call; what comes after it is memory that the library works in.
Shape ValueOf(const Instruction& call) {
  return call.shape().IsTuple() ? call.shape().element(0) : call.shape();
}

bool HasFeaturesLast(const Instruction& convolution, const ConvDimNumbers& dims,
                     const GpuLayoutOptions& options) {
  const Shape input = convolution.operand(0)->shape();
  const ElementType type = input.element_type();
  const size_t places = dims.input_spatial.size();
  // Integers: features in groups of four or 32 have a dimension of their own.
  if (IsInteger(type)) return !(type == ElementType::kS8 && places == 2 && input.rank() == 5);
  if (IsFloat(type) && BitWidth(type) == 8) return true;
  if (options.force_conv_nchw) return false;
  if (options.force_conv_nhwc) return true;
  if (options.compute_capability >= kHopper) return type != ElementType::kF64;
  return (type == ElementType::kF16 || type == ElementType::kBF16) &&
         options.compute_capability >= kVolta && ValueOf(convolution).rank() == 4;
}

// An array whose dimensions are, the major one first: `first`; then places and features in one of
// the two orders; then those that have no role. None if it has not all of these: nobody checks the
// labels of a call.
std::optional<Shape> Lying(Shape array, int64_t first, int64_t feature, const DimVec& places,
                           bool features_last) {
  DimVec major_to_minor = {first};
  if (!features_last) major_to_minor.push_back(feature);
  major_to_minor.insert(major_to_minor.end(), places.begin(), places.end());
  if (features_last) major_to_minor.push_back(feature);
  for (int64_t d = 0; d < array.rank(); ++d) {
    if (!absl::c_linear_search(major_to_minor, d)) major_to_minor.push_back(d);
  }
  if (static_cast<int>(major_to_minor.size()) != array.rank()) return std::nullopt;
  return InOrder(array, DimOrder(major_to_minor.rbegin(), major_to_minor.rend()));
}

// Which array of the forward convolution each is.
enum class Role { kInput, kKernel, kOutput };
struct Kind {
  std::string_view target;  // or its beginning
  Role lhs, rhs, result;
};
// Also with a graph after it: `__cudnn$convForwardGraph`.
constexpr Kind kForward = {kConvForward, Role::kInput, Role::kKernel, Role::kOutput};
constexpr Kind kCalls[] = {
    kForward,
    {kConvBackwardInput, Role::kOutput, Role::kKernel, Role::kInput},
    {kConvBackwardFilter, Role::kInput, Role::kOutput, Role::kKernel},
    {kConvBiasActivation, Role::kInput, Role::kKernel, Role::kOutput},
};

// Null where there is nothing to say. The labels of a gradient are those of its own loops.
const Kind* KindOf(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kConvolution) {
    const ConvolutionKind kind = instruction.attrs<ConvolutionAttrs>().convolution_kind;
    return kind == ConvolutionKind::kUnset || kind == ConvolutionKind::kFprop ? &kForward : nullptr;
  }
  if (instruction.opcode() != Opcode::kCustomCall) return nullptr;
  const CustomCallAttrs& attrs = instruction.attrs<CustomCallAttrs>();
  if (!attrs.dim_labels || instruction.operand_count() < 2) return nullptr;
  if (instruction.shape().IsTuple() && instruction.shape().element_count_of_tuple() == 0)
    return nullptr;
  const auto* const at = absl::c_find_if(kCalls, [&](const Kind& kind) {
    return std::string_view(attrs.custom_call_target).starts_with(kind.target);
  });
  return at == std::end(kCalls) ? nullptr : at;
}

std::optional<Shape> LyingAs(Role role, Shape array, const ConvDimNumbers& dims, bool last) {
  if (!array.IsArray()) return std::nullopt;
  switch (role) {
    case Role::kInput:
      return Lying(array, dims.input_batch, dims.input_feature, dims.input_spatial, last);
    case Role::kKernel:
      return Lying(array, dims.kernel_output_feature, dims.kernel_input_feature,
                   dims.kernel_spatial, last);
    case Role::kOutput:
      return Lying(array, dims.output_batch, dims.output_feature, dims.output_spatial, last);
  }
  return std::nullopt;
}

// The shape of an instruction whose value has the shape `value`.
Shape WithValue(Shape shape, Shape value) {
  if (!shape.IsTuple()) return value;
  std::vector<Shape> elements(shape.elements().begin(), shape.elements().end());
  elements[0] = value;
  return Shape::Tuple(elements);
}

}  // namespace

void AddConvolutionLayouts(const Instruction& instruction, const GpuLayoutOptions& options,
                           LayoutConstraints& constraints) {
  const Kind* const kind = KindOf(instruction);
  if (kind == nullptr) return;
  const ConvDimNumbers& dims = instruction.opcode() == Opcode::kConvolution
                                   ? instruction.attrs<ConvolutionAttrs>().dim_labels
                                   : *instruction.attrs<CustomCallAttrs>().dim_labels;
  const Shape value = ValueOf(instruction);
  const bool last = HasFeaturesLast(instruction, dims, options);
  const auto set_operand = [&](int i, Role role) {
    const auto shape = LyingAs(role, instruction.operand(i)->shape(), dims, last);
    if (shape) constraints.SetOperand(instruction, i, *shape, Strength::kMandatory);
  };
  set_operand(0, kind->lhs);
  set_operand(1, kind->rhs);
  // What a call adds to the result, element by element; a bias has one dimension.
  const bool adds = instruction.opcode() == Opcode::kCustomCall;
  for (int i = 2; adds && i < instruction.operand_count(); ++i) {
    const Shape added = instruction.operand(i)->shape();
    if (added.IsArray() && added.rank() == value.rank()) set_operand(i, kind->result);
  }
  if (const auto result = LyingAs(kind->result, value, dims, last))
    constraints.SetResult(instruction, WithValue(instruction.shape(), *result),
                          Strength::kMandatory);
}

}  // namespace hlo

#include "passes/gpu/cudnn_pad_for_convolutions.h"

#include <algorithm>
#include <optional>

#include "lib/support/round.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/matrix_products.h"

namespace hlo {
namespace {

constexpr double kVolta = 7.0, kTuring = 7.5;
constexpr int64_t kTensorCoreMultiple = 8;
constexpr double kMostGrowth = 1.35, kMostGrowthOfIntegers = 2;

// Shapes that operands and result 0 are to have.
struct Sizes {
  std::vector<Shape> operands;
  Shape result;
};

Sizes SizesOf(const Instruction& call) { return {call.operand_shapes(), ValueShape(call)}; }

bool IsCall(const Instruction& call, std::string_view target) {
  return call.attrs<CustomCallAttrs>().custom_call_target == target;
}

void PadDim(Shape& shape, int64_t dim, int64_t size) {
  shape = shape.WithDim(static_cast<int>(dim), size);
}

// ---- f16: tensor cores ----

// Input, kernel and output of the forward convolution, of whichever of them a call computes.
struct Roles {
  Shape* input;
  Shape* kernel;
  Shape* output;
};
Roles RolesOf(const Instruction& call, Sizes& sizes) {
  Shape *const lhs = sizes.operands.data(), *const rhs = lhs + 1;
  if (IsCall(call, kConvBackwardInput)) return {&sizes.result, rhs, lhs};
  if (IsCall(call, kConvBackwardFilter)) return {lhs, &sizes.result, rhs};
  return {lhs, rhs, &sizes.result};
}

std::optional<Sizes> ForTensorCores(const Instruction& call) {
  const auto& attrs = call.attrs<CustomCallAttrs>();
  if (ValueShape(call).element_type() != ElementType::kF16 || attrs.feature_group_count != 1 ||
      attrs.batch_group_count != 1 || IsCall(call, kConvBiasActivation))
    return std::nullopt;
  const ConvDimNumbers& dims = *attrs.dim_labels;
  Sizes sizes = SizesOf(call);
  const Roles roles = RolesOf(call, sizes);
  const int64_t inputs = roles.input->dim(static_cast<int>(dims.input_feature));
  const int64_t outputs = roles.output->dim(static_cast<int>(dims.output_feature));
  const bool is_image = inputs == 3 && (outputs == 32 || outputs == 64);
  const int64_t padded = is_image ? 4 : RoundUp(inputs, kTensorCoreMultiple);
  PadDim(*roles.input, dims.input_feature, padded);
  PadDim(*roles.kernel, dims.kernel_input_feature, padded);
  if (!is_image) {
    const int64_t padded_outputs = RoundUp(outputs, kTensorCoreMultiple);
    PadDim(*roles.output, dims.output_feature, padded_outputs);
    PadDim(*roles.kernel, dims.kernel_output_feature, padded_outputs);
  }
  return sizes;
}

// ---- s8 ----

bool IsIntegerConv(const Instruction& call, int64_t multiple) {
  const auto& attrs = call.attrs<CustomCallAttrs>();
  const Shape input = call.operand(0)->shape(), result = ValueShape(call);
  if (!IsCall(call, kConvForward) && !IsCall(call, kConvBiasActivation)) return false;
  if (input.element_type() != ElementType::kS8 ||
      call.operand(1)->shape().element_type() != ElementType::kS8 || input.rank() != 4 ||
      attrs.window->dims.size() != 2 || attrs.feature_group_count != 1)
    return false;
  if (absl::c_any_of(attrs.window->dims, [](const WindowDim& dim) {
        return dim.base_dilation != 1 || dim.window_dilation != 1;
      }))
    return false;
  if (multiple != 32) return true;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = input.dim(static_cast<int>(attrs.dim_labels->input_spatial[i]));
    if (size <= attrs.window->dims[i].size - 1) return false;
  }
  return IsInteger(result.element_type());
}

Sizes ForIntegers(const Instruction& call, int64_t multiple) {
  const ConvDimNumbers& dims = *call.attrs<CustomCallAttrs>().dim_labels;
  Sizes sizes = SizesOf(call);
  const auto pad = [multiple](Shape& shape, int64_t dim) {
    PadDim(shape, dim, RoundUp(shape.dim(static_cast<int>(dim)), multiple));
  };
  pad(sizes.operands[0], dims.input_feature);
  pad(sizes.operands[1], dims.kernel_input_feature);
  pad(sizes.operands[1], dims.kernel_output_feature);
  pad(sizes.result, dims.output_feature);
  if (sizes.operands.size() > 2) pad(sizes.operands[2], 0);
  if (sizes.operands.size() > 3) pad(sizes.operands[3], dims.output_feature);
  return sizes;
}

// ---- both ----

bool Grows(Shape from, Shape to, double least) {
  return static_cast<double>(to.byte_size()) >= least * static_cast<double>(from.byte_size());
}

// None where nothing changes, or too much.
std::optional<Sizes> Accepted(const Instruction& call, std::optional<Sizes> sizes,
                              double most_growth) {
  if (!sizes) return std::nullopt;
  const Sizes old = SizesOf(call);
  if (old.result == sizes->result && old.operands == sizes->operands) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (Grows(old.operands[i], sizes->operands[i], most_growth)) return std::nullopt;
  }
  return Grows(old.result, sizes->result, most_growth) ? std::nullopt : sizes;
}

std::optional<Sizes> PaddedSizes(const Instruction& call, double capability) {
  for (const int64_t multiple : {32, 4}) {
    if ((multiple == 32 && capability < kTuring) || !IsIntegerConv(call, multiple)) continue;
    if (auto sizes = Accepted(call, ForIntegers(call, multiple), kMostGrowthOfIntegers))
      return sizes;
  }
  if (capability < kVolta) return std::nullopt;
  return Accepted(call, ForTensorCores(call), kMostGrowth);
}

Instruction* Padded(Instruction* x, Shape to, Rewriter& b) {
  if (x->shape() == to) return x;
  PaddingConfig padding;
  for (int d = 0; d < to.rank(); ++d) padding.dims.push_back({0, to.dim(d) - x->shape().dim(d), 0});
  return b.Pad(x, b.ScalarConstant(x->shape().element_type(), 0), padding);
}

bool IsConvolution(const Instruction& call) {
  const LibraryCall* const entry = FindLibraryCall(call);
  const auto& attrs = call.attrs<CustomCallAttrs>();
  return entry != nullptr && attrs.window && attrs.dim_labels && call.shape().IsTuple() &&
         call.operand_count() >= 2 && CheckLibraryCall(*entry, call).ok();
}

}  // namespace

bool CudnnPadForConvolutions::Matches(const Instruction& call) const {
  const absl::StatusOr<double> capability = ComputeCapability(options_.compute_capability);
  // A number that is none is for Expand to say.
  return IsConvolution(call) && (!capability.ok() || PaddedSizes(call, *capability));
}

absl::StatusOr<Instruction*> CudnnPadForConvolutions::Expand(Instruction* call,
                                                             Rewriter& rewriter) {
  ASSIGN_OR_RETURN(const double capability, ComputeCapability(options_.compute_capability));
  const Sizes sizes = *PaddedSizes(*call, capability);
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < sizes.operands.size(); ++i)
    operands.push_back(Padded(call->operand(static_cast<int>(i)), sizes.operands[i], rewriter));
  const Shape old = ValueShape(*call);
  Instruction* const padded =
      call->parent()->AddClone(*call, call->shape().WithElement(0, sizes.result), operands);
  if (sizes.result == old) return padded;
  const DimVec starts(static_cast<size_t>(old.rank()), 0);
  std::vector<Instruction*> values = {
      rewriter.Slice(rewriter.GetTupleElement(padded, 0), starts, old.dims())};
  for (int i = 1; i < call->shape().element_count_of_tuple(); ++i)
    values.push_back(rewriter.GetTupleElement(padded, i));
  return rewriter.Tuple(values);
}

HLO_DEFINE_PASS(CudnnPadForConvolutions)

}  // namespace hlo

#include "passes/gpu/cudnn_pad_for_convolutions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "lib/support/contains.h"
#include "lib/support/round.h"
#include "passes/gpu/library_calls.h"

namespace hlo {
namespace {

constexpr CudaCapability kVolta = {7, 0};
constexpr int64_t kTensorCoreMultiple = 8;
// Exclusive for integers.
constexpr double kMostGrowth = 1.35, kMostGrowthOfIntegers = 2;

// Integers that an instruction takes at a time, the widest first.
struct IntegerMultiple {
  int64_t features;
  CudaCapability least;
};
constexpr IntegerMultiple kIntegerMultiples[] = {{32, {7, 5}}, {4, {6, 1}}};

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

// ---- integers ----

// Features may lie in vectors, in a last dimension that no label names (NCHW_VECT_C): its size, or
// 1 without. 0: it is no such array.
int64_t VectorOf(Shape shape, int64_t first, int64_t second, const DimVec& spatial) {
  const auto is_named = [&](int64_t d) {
    return d == first || d == second || Contains(spatial, d);
  };
  const int named = static_cast<int>(spatial.size()) + 2;
  if (shape.rank() != named && shape.rank() != named + 1) return 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!is_named(d)) return shape.dim(d);
  }
  return 1;
}

struct Vectors {
  int64_t input;
  int64_t kernel;
  int64_t result;
  // Whether this many features are whole vectors.
  bool Divide(int64_t features) const {
    return absl::c_all_of(std::array{input, kernel, result},
                          [features](int64_t size) { return size > 0 && features % size == 0; });
  }
};
Vectors VectorsOf(const Instruction& call) {
  const ConvDimNumbers& dims = *call.attrs<CustomCallAttrs>().dim_labels;
  return {
      VectorOf(call.operand(0)->shape(), dims.input_batch, dims.input_feature, dims.input_spatial),
      VectorOf(call.operand(1)->shape(), dims.kernel_input_feature, dims.kernel_output_feature,
               dims.kernel_spatial),
      VectorOf(ValueShape(call), dims.output_batch, dims.output_feature, dims.output_spatial)};
}

bool IsIntegerConv(const Instruction& call, int64_t multiple) {
  const auto& attrs = call.attrs<CustomCallAttrs>();
  const Shape input = call.operand(0)->shape();
  if (!IsCall(call, kConvForward) && !IsCall(call, kConvBiasActivation)) return false;
  if (!IsInteger(input.element_type()) || !IsInteger(call.operand(1)->shape().element_type()) ||
      attrs.window->dims.size() != 2 || attrs.dim_labels->input_spatial.size() != 2 ||
      attrs.feature_group_count != 1 || !VectorsOf(call).Divide(multiple))
    return false;
  if (absl::c_any_of(attrs.window->dims, [](const WindowDim& dim) {
        return dim.base_dilation != 1 || dim.window_dilation != 1;
      }))
    return false;
  if (multiple != kIntegerMultiples[0].features) return true;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = input.dim(static_cast<int>(attrs.dim_labels->input_spatial[i]));
    if (size <= attrs.window->dims[i].size - 1) return false;
  }
  return IsInteger(ValueShape(call).element_type());
}

Sizes ForIntegers(const Instruction& call, int64_t multiple) {
  const ConvDimNumbers& dims = *call.attrs<CustomCallAttrs>().dim_labels;
  const Vectors vectors = VectorsOf(call);
  Sizes sizes = SizesOf(call);
  const auto pad = [multiple](Shape& shape, int64_t dim, int64_t vector = 1) {
    PadDim(shape, dim, RoundUp(shape.dim(static_cast<int>(dim)), multiple / vector));
  };
  pad(sizes.operands[0], dims.input_feature, vectors.input);
  pad(sizes.operands[1], dims.kernel_input_feature, vectors.kernel);
  pad(sizes.operands[1], dims.kernel_output_feature);
  pad(sizes.result, dims.output_feature, vectors.result);
  if (sizes.operands.size() > 2) pad(sizes.operands[2], 0);
  if (sizes.operands.size() > 3) pad(sizes.operands[3], dims.output_feature, vectors.result);
  return sizes;
}

// ---- both ----

bool GrowsTooMuch(Shape from, Shape to, double most) {
  const double grown = static_cast<double>(to.byte_size());
  const double limit = most * static_cast<double>(from.byte_size());
  return most == kMostGrowthOfIntegers ? grown >= limit : grown > limit;
}

// None where nothing changes, or the result or one of the first `operands` operands grows so much.
std::optional<Sizes> Accepted(const Instruction& call, const Sizes& sizes, size_t operands,
                              double most_growth) {
  const Sizes old = SizesOf(call);
  if (old.result == sizes.result && old.operands == sizes.operands) return std::nullopt;
  for (size_t i = 0; i < operands; ++i) {
    if (GrowsTooMuch(old.operands[i], sizes.operands[i], most_growth)) return std::nullopt;
  }
  if (GrowsTooMuch(old.result, sizes.result, most_growth)) return std::nullopt;
  return sizes;
}

std::optional<Sizes> PaddedSizes(const Instruction& call, CudaCapability capability) {
  for (const IntegerMultiple& row : kIntegerMultiples) {
    if (capability < row.least || !IsIntegerConv(call, row.features)) continue;
    // A kernel is small beside what it slides over: it may grow as it has to.
    if (auto sizes = Accepted(call, ForIntegers(call, row.features), 1, kMostGrowthOfIntegers))
      return sizes;
  }
  if (capability < kVolta) return std::nullopt;
  const std::optional<Sizes> sizes = ForTensorCores(call);
  return sizes ? Accepted(call, *sizes, 2, kMostGrowth) : std::nullopt;
}

Instruction* Padded(Instruction* x, Shape to, Rewriter& b) {
  if (x->shape() == to) return x;
  PaddingConfig padding;
  for (int d = 0; d < to.rank(); ++d) padding.dims.push_back({0, to.dim(d) - x->shape().dim(d), 0});
  Instruction* const padded = b.Pad(x, b.ScalarConstant(x->shape().element_type(), 0), padding);
  padded->set_metadata(x->metadata());
  return padded;
}

// Whether it is an array with dimensions of these numbers.
bool HasDims(Shape shape, int64_t first, int64_t second, const DimVec& spatial) {
  return shape.IsArray() && first < shape.rank() && second < shape.rank() &&
         absl::c_all_of(spatial, [shape](int64_t d) { return d < shape.rank(); });
}

bool IsConvolution(const Instruction& call) {
  const LibraryCall* const entry = FindLibraryCall(call);
  const auto& attrs = call.attrs<CustomCallAttrs>();
  if (entry == nullptr || !attrs.window || !attrs.dim_labels || !call.shape().IsTuple() ||
      call.operand_count() < 2 || !CheckLibraryCall(*entry, call).ok())
    return false;
  const ConvDimNumbers& dims = *attrs.dim_labels;
  const bool has_side_input = call.operand_count() > 3;
  return HasDims(call.operand(0)->shape(), dims.input_batch, dims.input_feature,
                 dims.input_spatial) &&
         HasDims(call.operand(1)->shape(), dims.kernel_input_feature, dims.kernel_output_feature,
                 dims.kernel_spatial) &&
         HasDims(ValueShape(call), dims.output_batch, dims.output_feature, dims.output_spatial) &&
         (call.operand_count() < 3 || HasDims(call.operand(2)->shape(), 0, 0, {})) &&
         (!has_side_input || SameDimensions(call.operand(3)->shape(), ValueShape(call)));
}

}  // namespace

bool CudnnPadForConvolutions::Matches(const Instruction& call) const {
  return IsConvolution(call) && PaddedSizes(call, options_.compute_capability);
}

absl::StatusOr<Instruction*> CudnnPadForConvolutions::Expand(Instruction* call,
                                                             Rewriter& rewriter) {
  const Sizes sizes = *PaddedSizes(*call, options_.compute_capability);
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < sizes.operands.size(); ++i)
    operands.push_back(Padded(call->operand(static_cast<int>(i)), sizes.operands[i], rewriter));
  const Shape old = ValueShape(*call);
  Instruction* const padded =
      call->parent()->AddClone(*call, call->shape().WithElement(0, sizes.result), operands);
  if (sizes.result == old) return padded;
  call->module().MoveName(*call, padded);
  const DimVec starts(static_cast<size_t>(old.rank()), 0);
  std::vector<Instruction*> values = {
      rewriter.Slice(rewriter.GetTupleElement(padded, 0), starts, old.dims())};
  for (int i = 1; i < call->shape().element_count_of_tuple(); ++i) {
    // Nobody reads what the call has worked in: XLA writes a constant of nothing there.
    const Shape element = call->shape().element(i);
    const bool is_nothing = element.IsArray() && element.IsZeroSized();
    values.push_back(is_nothing ? rewriter.Constant(Literal(element.WithoutDynamic()))
                                : rewriter.GetTupleElement(padded, i));
  }
  return rewriter.Tuple(values);
}

HLO_DEFINE_PASS(CudnnPadForConvolutions)

}  // namespace hlo

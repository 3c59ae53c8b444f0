// What convolutions of cuDNN mean. Their window and dimension labels are those of the forward
// convolution (input, filter) -> output, whatever of the three a call computes.
#include <algorithm>
#include <map>
#include <utility>

#include "lib/support/diagnostic.h"
#include "passes/gpu/conv_graph.h"
#include "passes/gpu/f8_products.h"
#include "passes/gpu/f8_results.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

struct Parts {
  ConvConfig config;
  ConvolutionAttrs attrs;
};

// `has_graph`: what follows is a graph.
absl::StatusOr<Parts> PartsOf(const Instruction& call, bool has_graph = false) {
  const auto& attrs = call.attrs<CustomCallAttrs>();
  if (!attrs.window || !attrs.dim_labels)
    return Error(call.loc(), "`{}` has no window or no dim_labels", call.name());
  ASSIGN_OR_RETURN(const LibraryConfig<ConvConfig> library, ReadConfig<ConvConfig>(call));
  const ConvConfig& config = library.config;
  if (config.reordered_int8_nchw_vect.value_or(false) ||
      (!has_graph && !config.serialized_graph.value_or("").empty()))
    return Unsupported(call.loc(), "`{}` is about reordered filters or a graph", call.name());
  Parts parts = {config, {}};
  parts.attrs.window = *attrs.window;
  parts.attrs.dim_labels = *attrs.dim_labels;
  parts.attrs.feature_group_count = attrs.feature_group_count;
  parts.attrs.batch_group_count = attrs.batch_group_count;
  parts.attrs.operand_precision = attrs.operand_precision;
  return parts;
}

absl::Status CheckSpatial(const Instruction& call, const Parts& parts) {
  const ConvDimNumbers& dims = parts.attrs.dim_labels;
  const size_t spatial = parts.attrs.window.dims.size();
  const int rank = static_cast<int>(spatial) + 2;
  const bool fits = dims.input_spatial.size() == spatial && dims.kernel_spatial.size() == spatial &&
                    dims.output_spatial.size() == spatial && ValueShape(call).rank() == rank &&
                    call.operand(0)->shape().rank() == rank &&
                    call.operand(1)->shape().rank() == rank;
  return fits ? absl::OkStatus()
              : Error(call.loc(), "the window of `{}` has {} dimensions, its arrays others",
                      call.name(), spatial);
}

absl::StatusOr<Parts> PartsOfGradient(const Instruction& call) {
  ASSIGN_OR_RETURN(Parts parts, PartsOf(call));
  RETURN_IF_ERROR(CheckSpatial(call, parts));
  if (absl::c_any_of(parts.attrs.window.dims,
                     [](const WindowDim& dim) { return dim.base_dilation != 1 || dim.reversal; }))
    return Unsupported(call.loc(), "`{}` is a gradient of a dilated or reversed convolution",
                       call.name());
  return parts;
}

Instruction* Times(Instruction* x, double factor, Rewriter& b) {
  return factor == 1 ? x : b.Multiply(x, b.ConstantLike(x, factor));
}

absl::StatusOr<Instruction*> Activated(const Instruction& call, const ConvConfig& config,
                                       Instruction* x, Rewriter& b) {
  Instruction* const zero = b.ZeroLike(x);
  const auto where_positive = [&](Instruction* otherwise) {
    return b.Select(b.Compare(x, zero, ComparisonDirection::kGt), x, otherwise);
  };
  switch (config.activation_mode) {
    case ConvActivation::kNone: return x;
    case ConvActivation::kSigmoid: return b.Logistic(x);
    case ConvActivation::kRelu: return b.Maximum(x, zero);
    case ConvActivation::kRelu6: return b.Clamp(zero, x, b.ConstantLike(x, 6));
    case ConvActivation::kTanh: return b.Tanh(x);
    case ConvActivation::kElu: return where_positive(b.Expm1(x));
    case ConvActivation::kLeakyRelu: return where_positive(Times(x, config.leakyrelu_alpha, b));
    case ConvActivation::kReluX:
    case ConvActivation::kBandPass: break;
  }
  return Unsupported(call.loc(),
                     "activation_mode {} of `{}` has a bound that no field of its config says",
                     Text(config.activation_mode), call.name());
}

bool IsNarrow(ElementType type) {
  return (IsFloat(type) && BitWidth(type) < 32) || (IsInteger(type) && BitWidth(type) < 32);
}

// What products are summed in: integers never wrap, and what follows sees sums that were not
// rounded to a narrow type.
ElementType SumType(const Instruction& lhs, const Instruction& rhs, ElementType result,
                    bool is_plain) {
  if (IsInteger(lhs.shape().element_type()) && IsInteger(rhs.shape().element_type()) &&
      (IsFloat(result) || IsNarrow(result)))
    return ElementType::kS32;
  return IsNarrow(result) && (!is_plain || IsInteger(result)) ? ElementType::kF32 : result;
}

// activation(scale·sums + side_scale·side + bias), computed in f32, or f64 where they are.
absl::StatusOr<Instruction*> Finished(const Instruction& call, const Parts& parts, Instruction* x,
                                      Rewriter& b) {
  const ElementType type =
      x->shape().element_type() == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32;
  const auto wide = [&](Instruction* y) {
    return y->shape().element_type() == type ? y : b.Convert(y, type);
  };
  x = Times(wide(x), parts.config.conv_result_scale, b);
  if (call.operand_count() > 3)
    x = b.Add(x, Times(wide(call.operand(3)), parts.config.side_input_scale, b));
  if (call.operand_count() > 2)
    x = b.Add(x, b.Broadcast(wide(call.operand(2)), x->shape().dims(),
                             {parts.attrs.dim_labels.output_feature}));
  return Activated(call, parts.config, x, b);
}

// As the narrow integer `type`, of which cuDNN yields the nearest end for what is beyond.
Instruction* Saturated(Instruction* x, ElementType type, Rewriter& b) {
  const int64_t range = int64_t{1} << (BitWidth(type) - (IsSigned(type) ? 1 : 0));
  const double least = IsSigned(type) ? -static_cast<double>(range) : 0;
  Instruction* const clamped =
      b.Clamp(b.ConstantLike(x, least), x, b.ConstantLike(x, static_cast<double>(range - 1)));
  return b.Convert(clamped, type);
}

absl::StatusOr<std::vector<Instruction*>> ConvolutionValues(const Instruction& call,
                                                            const Parts& parts, Instruction* lhs,
                                                            Instruction* rhs, Rewriter& b) {
  const Shape value = ValueShape(call);
  const ElementType result = value.element_type();
  const bool is_plain = parts.config.conv_result_scale == 1 && call.operand_count() == 2 &&
                        parts.config.activation_mode == ConvActivation::kNone;
  const ElementType sums = SumType(*lhs, *rhs, result, is_plain);
  Instruction* x = DeclaredOp(Opcode::kConvolution, value.WithElementType(sums), {lhs, rhs},
                              AttrsPtr::Make(ConvolutionAttrs(parts.attrs)), b);
  RETURN_IF_ERROR(b.status());
  if (!is_plain) {
    ASSIGN_OR_RETURN(x, Finished(call, parts, x, b));
  }
  if (x->shape().element_type() != result && IsInteger(result) && IsNarrow(result))
    x = Saturated(x, result, b);
  return std::vector{x};
}

}  // namespace

absl::StatusOr<std::vector<Instruction*>> MeaningOfForward(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const Parts parts, PartsOf(call));
  RETURN_IF_ERROR(CheckSpatial(call, parts));
  return ConvolutionValues(call, parts, call.operand(0), call.operand(1), b);
}

// In f32; what is yielded in a narrower type is rounded before it is read, to f8 without
// overflow.
absl::StatusOr<std::vector<Instruction*>> MeaningOfForwardGraph(const Instruction& call,
                                                                Rewriter& b) {
  ASSIGN_OR_RETURN(const Parts parts, PartsOf(call, /*has_graph=*/true));
  RETURN_IF_ERROR(CheckSpatial(call, parts));
  ASSIGN_OR_RETURN(const ConvGraph graph, ConvGraphOf(call, parts.config));
  const Shape wide = ValueShape(call).WithElementType(ElementType::kF32);
  const auto in_f32 = [&b](Instruction* x) {
    return x->shape().element_type() == ElementType::kF32 ? x : b.Convert(x, ElementType::kF32);
  };
  std::map<int64_t, Instruction*> made;  // in f32
  std::vector<Instruction*> values(1);
  int next = 2;
  for (const ConvGraphOp& op : graph) {
    std::vector<Instruction*> read;
    for (const int64_t number : op.reads) read.push_back(made.at(number));
    Instruction* operand = ReadsOperand(op.step) ? in_f32(call.operand(next++)) : nullptr;
    if (operand != nullptr && operand->shape().rank() == 0 && op.step != ConvGraphStep::kAdd)
      operand = b.Broadcast(operand, wide.dims(), {});
    Instruction* x = nullptr;
    switch (op.step) {
      case ConvGraphStep::kConv:
        x = DeclaredOp(Opcode::kConvolution, wide, {call.operand(0), call.operand(1)},
                       AttrsPtr::Make(ConvolutionAttrs(parts.attrs)), b);
        break;
      case ConvGraphStep::kAdd: x = b.Add(read[0], operand); break;
      case ConvGraphStep::kScale: x = b.Multiply(read[0], operand); break;
      case ConvGraphStep::kInvScale: x = b.Divide(read[0], operand); break;
      case ConvGraphStep::kRelu: x = b.Maximum(read[0], b.ZeroLike(read[0])); break;
      case ConvGraphStep::kElu:
        x = b.Select(b.Compare(read[0], b.ZeroLike(read[0]), ComparisonDirection::kGt), read[0],
                     b.Expm1(read[0]));
        break;
      case ConvGraphStep::kMin: x = b.Minimum(read[0], operand); break;
      case ConvGraphStep::kMax: x = b.Maximum(read[0], read[1]); break;
      case ConvGraphStep::kAmax: {
        DimVec all;
        for (int64_t d = 0; d < wide.rank(); ++d) all.push_back(d);
        x = b.Reduce(b.Abs(read[0]), b.ScalarConstant(ElementType::kF32, 0), all,
                     ScalarComputation(call.module(), Opcode::kMaximum, ElementType::kF32));
        break;
      }
    }
    RETURN_IF_ERROR(b.status());
    Instruction* narrow = x;
    if (IsF8(op.type)) {
      const double most = LargestF8(op.type);
      narrow = b.Convert(b.Clamp(b.ConstantLike(x, -most), x, b.ConstantLike(x, most)), op.type);
    } else if (op.type != ElementType::kF32) {
      narrow = b.Convert(x, op.type);
    }
    if (op.step == ConvGraphStep::kAmax) {
      values.push_back(narrow);
      continue;
    }
    values[0] = narrow;
    made[op.number] = in_f32(narrow);
  }
  return values;
}

// (gradient of the output, filter) -> gradient of the input: strides become holes between the
// gradients, over which the filter goes backwards.
absl::StatusOr<std::vector<Instruction*>> MeaningOfBackwardInput(const Instruction& call,
                                                                 Rewriter& b) {
  ASSIGN_OR_RETURN(Parts parts, PartsOfGradient(call));
  if (parts.attrs.feature_group_count != 1 || parts.attrs.batch_group_count != 1)
    return Unsupported(call.loc(), "`{}` is a gradient of a convolution in groups", call.name());
  ConvDimNumbers& dims = parts.attrs.dim_labels;
  std::swap(dims.input_batch, dims.output_batch);
  std::swap(dims.input_feature, dims.output_feature);
  std::swap(dims.input_spatial, dims.output_spatial);
  std::swap(dims.kernel_input_feature, dims.kernel_output_feature);
  const Shape gradients = call.operand(0)->shape(), result = ValueShape(call);
  for (size_t i = 0; i < parts.attrs.window.dims.size(); ++i) {
    WindowDim& dim = parts.attrs.window.dims[i];
    dim.base_dilation = std::exchange(dim.stride, 1);
    dim.pad_low = dim.DilatedWindow() - 1 - dim.pad_low;
    const int64_t out = result.dim(static_cast<int>(dims.output_spatial[i]));
    const int64_t in = gradients.dim(static_cast<int>(dims.input_spatial[i]));
    dim.pad_high = out - 1 + dim.DilatedWindow() - dim.DilatedBase(in) - dim.pad_low;
  }
  Instruction* const filter = b.Reverse(call.operand(1), dims.kernel_spatial);
  return ConvolutionValues(call, parts, call.operand(0), filter, b);
}

// (input, gradient of the output) -> gradient of the filter: the gradients are the window, features
// are summed over the batch.
absl::StatusOr<std::vector<Instruction*>> MeaningOfBackwardFilter(const Instruction& call,
                                                                  Rewriter& b) {
  ASSIGN_OR_RETURN(Parts parts, PartsOfGradient(call));
  const ConvDimNumbers forward = parts.attrs.dim_labels;
  ConvDimNumbers& dims = parts.attrs.dim_labels;
  dims.input_batch = forward.input_feature;
  dims.input_feature = forward.input_batch;
  dims.kernel_input_feature = forward.output_batch;
  dims.kernel_output_feature = forward.output_feature;
  dims.kernel_spatial = forward.output_spatial;
  dims.output_batch = forward.kernel_input_feature;
  dims.output_feature = forward.kernel_output_feature;
  dims.output_spatial = forward.kernel_spatial;
  std::swap(parts.attrs.feature_group_count, parts.attrs.batch_group_count);
  const Shape input = call.operand(0)->shape(), gradients = call.operand(1)->shape();
  for (size_t i = 0; i < parts.attrs.window.dims.size(); ++i) {
    WindowDim& dim = parts.attrs.window.dims[i];
    dim.size = gradients.dim(static_cast<int>(dims.kernel_spatial[i]));
    std::swap(dim.stride, dim.window_dilation);
    const int64_t out = ValueShape(call).dim(static_cast<int>(dims.output_spatial[i]));
    const int64_t in = input.dim(static_cast<int>(dims.input_spatial[i]));
    dim.pad_high = (out - 1) * dim.stride + dim.DilatedWindow() - in - dim.pad_low;
  }
  return ConvolutionValues(call, parts, call.operand(0), call.operand(1), b);
}

}  // namespace hlo

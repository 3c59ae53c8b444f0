#include "passes/dynamic/dynamic_calls.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "passes/dynamic/padding_values.h"
#include "passes/util/start_vectors.h"

namespace hlo {
namespace {

const CustomCallAttrs& AttrsOfCall(const Instruction& call) {
  return call.attrs<CustomCallAttrs>();
}

DynamicWindow WindowOfCall(Builder& builder, const Instruction& call, Instruction* size,
                           const WindowDim& window) {
  return AttrsOfCall(call).padding_type == PaddingType::kSame ? SameWindow(builder, size, window)
                                                              : ValidWindow(builder, size, window);
}

absl::Status MissesAttribute(const Instruction& call, std::string_view attribute) {
  return Error(call.loc(), "custom call `{}` needs `{}`", AttrsOfCall(call).custom_call_target,
               attribute);
}

// Whether these are the dimensions of an array.
bool LabelsFit(Shape shape, int64_t first, int64_t second, const DimVec& spatial, size_t count) {
  DimVec all = spatial;
  all.push_back(first);
  all.push_back(second);
  return shape.IsArray() && spatial.size() == count && IsPermutation(all, shape.rank());
}

absl::Status CheckConvolutionCall(const Instruction& call, int operands) {
  if (!AttrsOfCall(call).window) return MissesAttribute(call, "window");
  if (!AttrsOfCall(call).dim_labels) return MissesAttribute(call, "dim_labels");
  if (call.operand_count() != operands || !call.shape().IsArray())
    return Error(call.loc(), "custom call `{}` takes {} operands and yields an array",
                 AttrsOfCall(call).custom_call_target, operands);
  const ConvDimNumbers& labels = *AttrsOfCall(call).dim_labels;
  const size_t spatial = AttrsOfCall(call).window->dims.size();
  const bool fits = LabelsFit(call.operand(operands - 2)->shape(), labels.input_batch,
                              labels.input_feature, labels.input_spatial, spatial) &&
                    LabelsFit(call.operand(operands - 1)->shape(), labels.kernel_input_feature,
                              labels.kernel_output_feature, labels.kernel_spatial, spatial) &&
                    LabelsFit(call.shape(), labels.output_batch, labels.output_feature,
                              labels.output_spatial, spatial);
  if (fits) return absl::OkStatus();
  return Error(call.loc(),
               "`window` and `dim_labels` of custom call `{}` are not those of its arrays",
               AttrsOfCall(call).custom_call_target);
}

absl::Status CheckWindowCall(const Instruction& call, int operands, int calls) {
  if (!AttrsOfCall(call).window) return MissesAttribute(call, "window");
  if (call.call_count() != calls) return MissesAttribute(call, "called_computations");
  if (call.operand_count() != operands || !call.shape().IsArray())
    return Unsupported(call.loc(), "custom call `{}` takes {} operands and yields an array",
                       AttrsOfCall(call).custom_call_target, operands);
  const Shape x = call.operand(0)->shape();
  if (x.IsArray() && x.rank() == call.shape().rank() &&
      static_cast<size_t>(x.rank()) == AttrsOfCall(call).window->dims.size())
    return absl::OkStatus();
  return Error(call.loc(), "`window` of custom call `{}` is not that of its arrays",
               AttrsOfCall(call).custom_call_target);
}

// ---- padding that is known at run time ----

// Writes the padding of some dimensions of `window` out:
//
//   p = pad(x, filler), padding=F_(low+high)_(dilation-1)      F: as long as the dilated window
//   x' = dynamic-slice(p, F - before)                          as long as x with its static padding
//
// `before[i]`: what window dimension `i` has in front of the array, which is dimension `dims[i]`;
// null: it stays in the window.
Instruction* WithRuntimePadding(Builder& b, Instruction* x, Instruction* filler,
                                const std::vector<Instruction*>& before, const DimVec& dims,
                                Window& window) {
  const Shape shape = x->shape().WithoutDynamic();
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(shape.rank()));
  std::vector<Instruction*> starts(static_cast<size_t>(shape.rank()), nullptr);
  DimVec sizes(shape.dims().begin(), shape.dims().end());
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == nullptr) continue;
    const auto dim = static_cast<size_t>(dims[i]);
    WindowDim& w = window.dims[i];
    padding.dims[dim] = {w.DilatedWindow(), w.pad_low + w.pad_high, w.base_dilation - 1};
    starts[dim] = b.Subtract(SizeConstant(b, w.DilatedWindow()), before[i]);
    sizes[dim] = w.pad_low + w.pad_high + w.DilatedBase(sizes[dim]);
    w.pad_low = w.pad_high = 0;
    w.base_dilation = 1;
  }
  if (absl::c_all_of(starts, [](Instruction* start) { return start == nullptr; })) return x;
  for (Instruction*& start : starts) {
    if (start == nullptr) start = SizeConstant(b, 0);
  }
  return b.DynamicSlice(b.Pad(x, filler, std::move(padding)), starts, sizes);
}

Instruction* MaskedIfDynamic(Builder& b, const DynamicSizes& sizes, const Instruction* original,
                             Instruction* x, int64_t dim, Instruction* filler) {
  Instruction* size = sizes.Get(original, dim);
  return size == nullptr ? x : MaskedArray(b, x, dim, size, filler);
}

absl::StatusOr<Instruction*> ConvolutionOfCall(Builder& b, const Instruction& call,
                                               Instruction* lhs, Instruction* rhs, Window window) {
  const CustomCallAttrs& from = AttrsOfCall(call);
  ConvolutionAttrs attrs;
  attrs.window = std::move(window);
  attrs.dim_labels = *from.dim_labels;
  attrs.feature_group_count = from.feature_group_count;
  attrs.batch_group_count = from.batch_group_count;
  attrs.operand_precision = from.operand_precision;
  Instruction* const result =
      b.Op(Opcode::kConvolution, {lhs, rhs}, AttrsPtr::Make(std::move(attrs)));
  RETURN_IF_ERROR(b.status());
  const Shape declared = call.shape().WithoutDynamic();
  if (result->shape().dims() != declared.dims()) {
    return Error(call.loc(), "`{}` is declared `{}`, but its convolution gives `{}`", call.name(),
                 call.shape(), result->shape());
  }
  result->set_shape(declared);
  return result;
}

// ---- DynamicConvolutionForward(input, kernel) ----

absl::Status InferConvolutionForward(SizeInference& in, Instruction* call) {
  RETURN_IF_ERROR(CheckConvolutionCall(*call, 2));
  const ConvDimNumbers& labels = *AttrsOfCall(*call).dim_labels;
  Builder b = BuilderFor(*call);
  for (const OperandSize& known : in.OperandSizes(*call)) {
    if (known.operand == 1 && known.dim == labels.kernel_input_feature) continue;
    if (known.operand == 0 && known.dim == labels.input_feature) continue;
    const auto at = absl::c_find(labels.input_spatial, known.dim);
    const auto i = static_cast<size_t>(at - labels.input_spatial.begin());
    if (known.operand == 0 && known.dim == labels.input_batch) {
      in.Set(call, 0, labels.output_batch, known.size);
    } else if (known.operand == 0 && at != labels.input_spatial.end()) {
      const WindowDim& window = AttrsOfCall(*call).window->dims[i];
      if (window.base_dilation != 1) {
        return Unsupported(
            call->loc(), "custom call `{}` has a dilated input, dimension {} of `{}`",
            AttrsOfCall(*call).custom_call_target, known.dim, call->operand(0)->name());
      }
      in.Set(call, 0, labels.output_spatial[i],
             WindowOfCall(b, *call, known.size, window).output_size);
    } else {
      return Unsupported(call->loc(), "dimension {} of `{}` may not be dynamic", known.dim,
                         call->operand(known.operand)->name());
    }
  }
  return b.status();
}

absl::StatusOr<Instruction*> ExpandConvolutionForward(Instruction* call,
                                                      const DynamicSizes& sizes) {
  const ConvDimNumbers& labels = *AttrsOfCall(*call).dim_labels;
  Window window = *AttrsOfCall(*call).window;
  Builder b = BuilderFor(*call);
  Instruction* original = call->operand(0);
  Instruction* input = original;
  Instruction* zero = b.ScalarConstant(input->shape().element_type(), 0);
  const bool is_same = AttrsOfCall(*call).padding_type == PaddingType::kSame;
  std::vector<Instruction*> before(labels.input_spatial.size(), nullptr);
  for (size_t i = 0; i < before.size(); ++i) {
    Instruction* size = sizes.Get(original, labels.input_spatial[i]);
    if (size == nullptr) continue;
    input = MaskedArray(b, input, labels.input_spatial[i], size, zero);
    if (is_same) before[i] = SameWindow(b, size, window.dims[i]).padding_before;
  }
  input = MaskedIfDynamic(b, sizes, original, input, labels.input_feature, zero);
  input = WithRuntimePadding(b, input, zero, before, labels.input_spatial, window);
  Instruction* kernel = MaskedIfDynamic(b, sizes, call->operand(1), call->operand(1),
                                        labels.kernel_input_feature, zero);
  ASSIGN_OR_RETURN(Instruction* const result,
                   ConvolutionOfCall(b, *call, input, kernel, std::move(window)));
  RETURN_IF_ERROR(b.status());
  return result;
}

// ---- DynamicConvolutionInputGrad(sizes of the input, gradient, kernel) ----

absl::Status InferConvolutionInputGrad(SizeInference& in, Instruction* call) {
  RETURN_IF_ERROR(CheckConvolutionCall(*call, 3));
  const Shape vector = call->operand(0)->shape();
  if (!Compatible(vector, Shape::Array(ElementType::kS32, {call->shape().rank()})))
    return Error(call->loc(), "`{}` needs a size for each of {} dimensions, found `{}`",
                 call->name(), call->shape().rank(), vector);
  Builder b = BuilderFor(*call);
  const Shape shape = call->shape();
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape.is_dynamic(dim)) in.Set(call, 0, dim, ElementOfVector(b, call->operand(0), dim));
  }
  return b.status();
}

absl::StatusOr<Instruction*> ExpandConvolutionInputGrad(Instruction* call,
                                                        const DynamicSizes& sizes) {
  const ConvDimNumbers& labels = *AttrsOfCall(*call).dim_labels;
  Window window = *AttrsOfCall(*call).window;
  Builder b = BuilderFor(*call);
  Instruction* original = call->operand(1);
  Instruction* gradient = original;
  Instruction* zero = b.ScalarConstant(gradient->shape().element_type(), 0);
  std::vector<Instruction*> before(labels.input_spatial.size(), nullptr);
  for (size_t i = 0; i < before.size(); ++i) {
    Instruction* size = sizes.Get(original, labels.input_spatial[i]);
    if (size == nullptr) continue;
    gradient = MaskedArray(b, gradient, labels.input_spatial[i], size, zero);
    if (AttrsOfCall(*call).padding_type != PaddingType::kSame) continue;
    // The window of the convolution whose gradient this is: its stride is the dilation here.
    WindowDim forward;
    forward.size = window.dims[i].size;
    forward.window_dilation = window.dims[i].window_dilation;
    forward.stride = window.dims[i].base_dilation;
    Instruction* input_size = ElementOfVector(b, call->operand(0), labels.output_spatial[i]);
    Instruction* all = SizeConstant(b, forward.DilatedWindow() - 1);
    before[i] = b.Subtract(all, SameWindow(b, input_size, forward).padding_before);
  }
  gradient = MaskedIfDynamic(b, sizes, original, gradient, labels.input_feature, zero);
  gradient = WithRuntimePadding(b, gradient, zero, before, labels.input_spatial, window);
  ASSIGN_OR_RETURN(Instruction* const result,
                   ConvolutionOfCall(b, *call, gradient, call->operand(2), std::move(window)));
  RETURN_IF_ERROR(b.status());
  return result;
}

// ---- DynamicConvolutionKernelGrad(input, gradient) ----

absl::Status InferConvolutionKernelGrad(SizeInference&, Instruction* call) {
  return CheckConvolutionCall(*call, 2);  // kernels are static
}

absl::StatusOr<Instruction*> ExpandConvolutionKernelGrad(Instruction* call,
                                                         const DynamicSizes& sizes) {
  const ConvDimNumbers& labels = *AttrsOfCall(*call).dim_labels;
  Window window = *AttrsOfCall(*call).window;
  Builder b = BuilderFor(*call);
  Instruction *lhs = call->operand(0), *rhs = call->operand(1);
  Instruction* zero = b.ScalarConstant(lhs->shape().element_type(), 0);
  std::vector<Instruction*> before(labels.input_spatial.size(), nullptr);
  for (size_t i = 0; i < before.size(); ++i) {
    Instruction* input_size = sizes.Get(call->operand(0), labels.input_spatial[i]);
    Instruction* gradient_size = sizes.Get(call->operand(1), labels.kernel_spatial[i]);
    if (input_size == nullptr && gradient_size == nullptr) continue;
    if (input_size == nullptr || gradient_size == nullptr) {
      return Unsupported(call->loc(),
                         "spatial dimension {} is dynamic in one of the operands of `{}` only", i,
                         call->name());
    }
    lhs = MaskedArray(b, lhs, labels.input_spatial[i], input_size, zero);
    rhs = MaskedArray(b, rhs, labels.kernel_spatial[i], gradient_size, zero);
    if (AttrsOfCall(*call).padding_type != PaddingType::kSame) continue;
    // The kernel is the result here: strides and dilations change places.
    WindowDim forward;
    forward.size = call->shape().dim(static_cast<int>(labels.output_spatial[i]));
    forward.window_dilation = window.dims[i].stride;
    forward.stride = window.dims[i].window_dilation;
    before[i] = SameWindow(b, input_size, forward).padding_before;
  }
  lhs = MaskedIfDynamic(b, sizes, call->operand(0), lhs, labels.input_feature, zero);
  rhs = MaskedIfDynamic(b, sizes, call->operand(1), rhs, labels.kernel_input_feature, zero);
  lhs = WithRuntimePadding(b, lhs, zero, before, labels.input_spatial, window);
  ASSIGN_OR_RETURN(Instruction* const result,
                   ConvolutionOfCall(b, *call, lhs, rhs, std::move(window)));
  RETURN_IF_ERROR(b.status());
  return result;
}

// ---- DynamicReduceWindowSamePadding(x, init) ----

bool IsPlainWindow(const WindowDim& window) { return window == WindowDim{}; }

DimVec AllDims(Shape shape) {
  DimVec dims;
  for (int dim = 0; dim < shape.rank(); ++dim) dims.push_back(dim);
  return dims;
}

absl::Status InferReduceWindowSame(SizeInference& in, Instruction* call) {
  RETURN_IF_ERROR(CheckWindowCall(*call, 2, 1));
  Builder b = BuilderFor(*call);
  for (const OperandSize& known : in.OperandSizes(*call)) {
    const WindowDim& window = AttrsOfCall(*call).window->dims[static_cast<size_t>(known.dim)];
    in.Set(call, 0, known.dim,
           IsPlainWindow(window) ? known.size : SameWindow(b, known.size, window).output_size);
  }
  return b.status();
}

absl::StatusOr<Instruction*> ExpandReduceWindowSame(Instruction* call, const DynamicSizes& sizes) {
  Builder b = BuilderFor(*call);
  Window window = *AttrsOfCall(*call).window;
  Instruction* x = call->operand(0);
  Instruction* init = call->operand(1);
  std::vector<Instruction*> before(window.dims.size(), nullptr);
  for (size_t i = 0; i < before.size(); ++i) {
    Instruction* size = sizes.Get(call->operand(0), static_cast<int64_t>(i));
    if (size == nullptr || IsPlainWindow(window.dims[i])) continue;
    x = MaskedArray(b, x, static_cast<int64_t>(i), size, init);
    before[i] = SameWindow(b, size, window.dims[i]).padding_before;
  }
  x = WithRuntimePadding(b, x, init, before, AllDims(x->shape()), window);
  Instruction* result = b.Op(Opcode::kReduceWindow, {x, init},
                             AttrsPtr::Make(ReduceWindowAttrs{window}), {call->call(0)});
  RETURN_IF_ERROR(b.status());
  if (!SameDimensions(result->shape(), call->shape())) {
    return Error(call->loc(), "`{}` is declared `{}`, but its windows make `{}`", call->name(),
                 call->shape(), result->shape());
  }
  return result;
}

// ---- DynamicSelectAndScatterSamePadding(x, source, init) ----

absl::Status InferSelectAndScatterSame(SizeInference& in, Instruction* call) {
  RETURN_IF_ERROR(CheckWindowCall(*call, 3, 2));
  return InferSelectAndScatter(in, call);
}

absl::StatusOr<Instruction*> ExpandSelectAndScatterSame(Instruction* call,
                                                        const DynamicSizes& sizes) {
  Builder b = BuilderFor(*call);
  Window window = *AttrsOfCall(*call).window;
  Instruction *x = call->operand(0), *source = call->operand(1), *init = call->operand(2);
  ASSIGN_OR_RETURN(Instruction* const least, NeverSelected(b, *call));
  const Shape shape = call->shape().WithoutDynamic();
  PaddingConfig room;
  room.dims.resize(window.dims.size());
  std::vector<Instruction*> before(window.dims.size(), nullptr);
  std::vector<Instruction*> starts;
  for (size_t i = 0; i < before.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    Instruction* size = sizes.Get(call->operand(0), dim);
    if (size != nullptr && !IsPlainWindow(window.dims[i])) {
      x = MaskedArray(b, x, dim, size, least);
      source = MaskedIfDynamic(b, sizes, call->operand(1), source, dim, init);
      before[i] = SameWindow(b, size, window.dims[i]).padding_before;
      room.dims[i].high = window.dims[i].DilatedWindow();
    }
    starts.push_back(before[i] == nullptr ? SizeConstant(b, 0) : before[i]);
  }
  x = WithRuntimePadding(b, x, least, before, AllDims(shape), window);
  Instruction* scattered =
      b.OpWithShape(Opcode::kSelectAndScatter, x->shape().WithoutDynamic(), {x, source, init},
                    AttrsPtr::Make(SelectAndScatterAttrs{window}), call->calls());
  // What was scattered to the padding is cut off again.
  scattered = b.DynamicSlice(b.Pad(scattered, init, std::move(room)), starts, shape.dims());
  RETURN_IF_ERROR(b.status());
  return scattered;
}

constexpr DynamicCallRules kDynamicCalls[] = {
    {"DynamicConvolutionForward", InferConvolutionForward, ExpandConvolutionForward},
    {"DynamicConvolutionInputGrad", InferConvolutionInputGrad, ExpandConvolutionInputGrad},
    {"DynamicConvolutionKernelGrad", InferConvolutionKernelGrad, ExpandConvolutionKernelGrad},
    {"DynamicReduceWindowSamePadding", InferReduceWindowSame, ExpandReduceWindowSame},
    {"DynamicSelectAndScatterSamePadding", InferSelectAndScatterSame, ExpandSelectAndScatterSame},
};

}  // namespace

const DynamicCallRules* DynamicCallRulesFor(std::string_view target) {
  for (const DynamicCallRules& rules : kDynamicCalls) {
    if (rules.target == target) return &rules;
  }
  return nullptr;
}

}  // namespace hlo

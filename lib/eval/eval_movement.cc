// Opcodes that move elements unchanged. Each is a strided copy.
#include "lib/eval/eval_internal.h"
#include "lib/eval/strided.h"
#include "lib/support/round.h"

namespace hlo {
namespace {

int BytesOf(const Literal& literal) { return ByteSize(literal.element_type()); }

// Start indices of dynamic-slice and dynamic-update-slice: scalars from operand `first` on, or one
// vector.
DimVec ClampedStarts(const EvalContext& c, int first, absl::Span<const int64_t> dims,
                     absl::Span<const int64_t> sizes) {
  DimVec starts(dims.size());
  const bool is_vector = c.operand_count() == first + 1 && c.operand(first).shape().rank() == 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t raw = is_vector ? ScalarIndex(c.operand(first), static_cast<int64_t>(d))
                                  : ScalarIndex(c.operand(first + static_cast<int>(d)));
    starts[d] = std::max<int64_t>(0, std::min(raw, dims[d] - sizes[d]));
  }
  return starts;
}

}  // namespace

DimVec CommonCorner(absl::Span<const int64_t> sizes, absl::Span<const int64_t> dims) {
  DimVec common(sizes.begin(), sizes.end());
  for (size_t d = 0; d < common.size(); ++d) common[d] = std::min(common[d], dims[d]);
  return common;
}

EvalResult EvalBroadcast(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const auto& dimensions = c.attrs<BroadcastAttrs>().dimensions;
  DimVec dims(c.instruction.shape().dims().begin(), c.instruction.shape().dims().end());
  StridedCopy copy;
  copy.from_strides.assign(dims.size(), 0);
  const DimVec strides = RowMajorStrides(operand.shape().dims());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const size_t d = static_cast<size_t>(dimensions[i]);
    const int64_t size = operand.shape().dim(static_cast<int>(i));
    // Modules from StableHLO may stretch dimensions of size one.
    copy.from_strides[d] = size == 1 ? 0 : strides[i];
    if (size != 1 || c.instruction.shape().is_dynamic(static_cast<int>(d))) dims[d] = size;
  }
  Literal result(c.ResultShape(dims));
  copy.dims = dims;
  copy.to_strides = RowMajorStrides(dims);
  RunStridedCopy(copy, BytesOf(operand), operand.data(), result.mutable_data());
  return result;
}

EvalResult EvalReshape(EvalContext& c) {
  Literal operand = c.Take(0);
  const Shape shape = c.instruction.shape();
  const Shape declared = c.instruction.operand(0)->shape();
  if (operand.element_count() == shape.element_count())
    return operand.Reshaped(shape.WithoutDynamic());
  // A dynamic dimension: its size follows from the number of elements.
  DimVec dims(shape.dims().begin(), shape.dims().end());
  int64_t dynamic = c.attrs<ReshapeAttrs>().inferred_dimension.value_or(-1);
  for (int d = 0; d < shape.rank() && dynamic < 0; ++d) {
    if (shape.is_dynamic(d)) dynamic = d;
  }
  int64_t others = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (static_cast<int64_t>(d) != dynamic) others *= dims[d];
  }
  if (dynamic < 0 || others == 0 || operand.element_count() % others != 0) {
    return Unsupported(c.loc(),
                       "`reshape` from `{}` (now `{}`) to `{}`: the run-time size does not fit",
                       declared, operand.shape(), shape);
  }
  dims[static_cast<size_t>(dynamic)] = operand.element_count() / others;
  return operand.Reshaped(c.ResultShape(dims));
}

EvalResult EvalTranspose(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const auto& permutation = c.attrs<TransposeAttrs>().dimensions;
  const DimVec dims = Permute(operand.shape().dims(), permutation);
  Literal result(c.ResultShape(dims));
  const StridedCopy copy{dims, Permute(RowMajorStrides(operand.shape().dims()), permutation),
                         RowMajorStrides(dims)};
  RunStridedCopy(copy, BytesOf(operand), operand.data(), result.mutable_data());
  return result;
}

EvalResult EvalReverse(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const DimVec dims = Dims(operand);
  Literal result(c.ResultShape(dims));
  StridedCopy copy{dims, RowMajorStrides(dims), RowMajorStrides(dims)};
  int64_t first = 0;
  for (int64_t d : c.attrs<ReverseAttrs>().dimensions) {
    first += (dims[static_cast<size_t>(d)] - 1) * copy.from_strides[static_cast<size_t>(d)];
    copy.from_strides[static_cast<size_t>(d)] *= -1;
  }
  if (operand.element_count() > 0) {
    RunStridedCopy(copy, BytesOf(operand), ElementPtr(operand, first), result.mutable_data());
  }
  return result;
}

EvalResult EvalSlice(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const SliceRanges& ranges = c.attrs<SliceAttrs>().slice;
  const DimVec strides = RowMajorStrides(operand.shape().dims());
  StridedCopy copy;
  int64_t first = 0;
  for (size_t d = 0; d < ranges.size(); ++d) {
    // A dynamic dimension may be smaller than the slice says.
    const int64_t limit = std::min(ranges[d].limit, operand.shape().dim(static_cast<int>(d)));
    const int64_t span = std::max<int64_t>(0, limit - ranges[d].start);
    copy.dims.push_back((span + ranges[d].stride - 1) / ranges[d].stride);
    copy.from_strides.push_back(strides[d] * ranges[d].stride);
    first += ranges[d].start * strides[d];
  }
  copy.to_strides = RowMajorStrides(copy.dims);
  Literal result(c.ResultShape(copy.dims));
  if (result.element_count() > 0) {
    RunStridedCopy(copy, BytesOf(operand), ElementPtr(operand, first), result.mutable_data());
  }
  return result;
}

EvalResult EvalPad(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const PaddingConfig& padding = c.attrs<PadAttrs>().padding;
  const int rank = operand.shape().rank();
  DimVec dims;
  // Of a dynamic dimension more may be cut off than there is.
  for (int d = 0; d < rank; ++d)
    dims.push_back(std::max<int64_t>(padding[d].PaddedSize(operand.shape().dim(d)), 0));
  Literal result(c.ResultShape(dims));
  FillElements(c.operand(1).data(), BytesOf(operand), result.mutable_data(),
               result.element_count());
  const DimVec from = RowMajorStrides(operand.shape().dims()), to = RowMajorStrides(dims);
  StridedCopy copy;
  int64_t first_from = 0, first_to = 0;
  for (int d = 0; d < rank; ++d) {
    // The elements i whose place low + i·step lies inside.
    const int64_t step = padding[d].interior + 1, low = padding[d].low;
    const int64_t begin = low >= 0 ? 0 : CeilDiv(-low, step);
    const int64_t end =
        std::min(operand.shape().dim(d), dims[static_cast<size_t>(d)] - low <= 0
                                             ? int64_t{0}
                                             : (dims[static_cast<size_t>(d)] - low - 1) / step + 1);
    const size_t s = static_cast<size_t>(d);
    copy.dims.push_back(std::max<int64_t>(0, end - begin));
    copy.from_strides.push_back(from[s]);
    copy.to_strides.push_back(to[s] * step);
    first_from += begin * from[s];
    first_to += (low + begin * step) * to[s];
  }
  if (Product(copy.dims) > 0) {
    RunStridedCopy(copy, BytesOf(operand), ElementPtr(operand, first_from),
                   result.mutable_data() + first_to * BytesOf(operand));
  }
  return result;
}

EvalResult EvalConcatenate(EvalContext& c) {
  const size_t dimension = static_cast<size_t>(c.attrs<ConcatenateAttrs>().dimensions.value);
  DimVec dims = Dims(c.operand(0));
  dims[dimension] = 0;
  for (const Literal& operand : c.operands)
    dims[dimension] += operand.shape().dim(static_cast<int>(dimension));
  Literal result(c.ResultShape(dims));
  const DimVec strides = RowMajorStrides(dims);
  int64_t at = 0;
  for (const Literal& operand : c.operands) {
    const StridedCopy copy{Dims(operand), RowMajorStrides(operand.shape().dims()), strides};
    if (operand.element_count() > 0) {
      RunStridedCopy(copy, BytesOf(operand), operand.data(),
                     result.mutable_data() + at * strides[dimension] * BytesOf(operand));
    }
    at += operand.shape().dim(static_cast<int>(dimension));
  }
  return result;
}

EvalResult EvalDynamicSlice(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const DimVec sizes =
      CommonCorner(c.attrs<DynamicSliceAttrs>().dynamic_slice_sizes, operand.shape().dims());
  const DimVec starts = ClampedStarts(c, 1, operand.shape().dims(), sizes);
  Literal result(c.ResultShape(sizes));
  const DimVec strides = RowMajorStrides(operand.shape().dims());
  if (result.element_count() > 0) {
    RunStridedCopy({sizes, strides, RowMajorStrides(sizes)}, BytesOf(operand),
                   ElementPtr(operand, Offset(starts, strides)), result.mutable_data());
  }
  return result;
}

// The dimensions that the text says, or those of the value where it says none.
static DimVec Bounds(const Instruction& declared, const Literal& value) {
  const Shape shape = declared.shape().IsBuffer() ? declared.shape().element(0) : declared.shape();
  DimVec bounds(shape.dims().begin(), shape.dims().end());
  for (size_t d = 0; d < bounds.size(); ++d) {
    if (bounds[d] == Shape::kUnbounded) bounds[d] = value.shape().dim(static_cast<int>(d));
  }
  return bounds;
}

// Where an update goes does not depend on how much of it there is.
EvalResult EvalDynamicUpdateSlice(EvalContext& c) {
  Literal result = c.Take(0);
  const Literal& update = c.operand(1);
  const DimVec starts = ClampedStarts(c, 2, Bounds(*c.instruction.operand(0), result),
                                      Bounds(*c.instruction.operand(1), update));
  DimVec sizes = Dims(update);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t room = result.shape().dim(static_cast<int>(d)) - starts[d];
    sizes[d] = std::clamp<int64_t>(room, 0, sizes[d]);
  }
  const DimVec strides = RowMajorStrides(result.shape().dims());
  if (Product(sizes) > 0) {
    RunStridedCopy({sizes, RowMajorStrides(update.shape().dims()), strides}, BytesOf(update),
                   update.data(),
                   result.mutable_data() + Offset(starts, strides) * BytesOf(update));
  }
  return result;
}

}  // namespace hlo

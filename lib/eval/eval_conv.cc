// convolution: operands in the canonical order [batch, spatial…, features] and [spatial…, input
// features, output features]; structured sparse ones are written out first. Each result element
// sums over window positions in row-major order, then over input features; positions in the padding
// are skipped, so they are no products with zero.
#include <cstring>

#include "lib/eval/contraction.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/strided.h"
#include "lib/ops/convolution_kind.h"

namespace hlo {
namespace {

Literal Canonical(const Literal& operand, ElementType type, const DimVec& order) {
  const Literal values = AsFactor(operand, type);
  const DimVec dims = Permute(values.shape().dims(), order);
  Literal ordered(Shape::Array(values.element_type(), dims));
  RunStridedCopy(
      {dims, Permute(RowMajorStrides(values.shape().dims()), order), RowMajorStrides(dims)},
      ByteSize(values.element_type()), values.data(), ordered.mutable_data());
  return ordered;
}

// One convolution in canonical order.
struct Convolution {
  Window window;
  DimVec lhs_dims, rhs_dims, out_dims;
  int64_t feature_groups, batch_groups;
  ElementType type;

  int64_t spatial() const { return static_cast<int64_t>(window.dims.size()); }

  // Adds the window position `position` of result element (n, at), if it exists, to the row of
  // sums.
  void AddPosition(int64_t n, const DimVec& at, const DimVec& position, const uint8_t* lhs,
                   const uint8_t* rhs, uint8_t* sums) const {
    const int bytes = ByteSize(type);
    int64_t input = 0, kernel = 0;
    for (size_t d = 0; d < window.dims.size(); ++d) {
      const WindowDim& w = window.dims[d];
      const int64_t place = at[d] * w.stride + position[d] * w.window_dilation - w.pad_low;
      if (place < 0 || place % w.base_dilation != 0 || place / w.base_dilation >= lhs_dims[d + 1])
        return;
      input = input * lhs_dims[d + 1] + place / w.base_dilation;
      kernel = kernel * rhs_dims[d] + (w.reversal ? w.size - 1 - position[d] : position[d]);
    }
    int64_t places = 1;
    for (size_t d = 0; d < window.dims.size(); ++d) places *= lhs_dims[d + 1];
    const int64_t features = lhs_dims.back(), inputs = rhs_dims[rhs_dims.size() - 2],
                  outputs = rhs_dims.back();
    const int64_t groups = std::max(feature_groups, batch_groups), width = outputs / groups;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t batch = batch_groups > 1 ? g * out_dims[0] + n : n;
      const int64_t first_feature = feature_groups > 1 ? g * inputs : 0;
      const uint8_t* row = lhs + ((batch * places + input) * features + first_feature) * bytes;
      for (int64_t z = 0; z < inputs; ++z) {
        MultiplyAdd(type, row + z * bytes,
                    rhs + ((kernel * inputs + z) * outputs + g * width) * bytes, width,
                    sums + g * width * bytes);
      }
    }
  }
};

// `values` keeps one of every `m` elements along a dimension; `places` says which. Gives all of
// them.
EvalResult Dense(const EvalContext& c, const Literal& values, const Literal& places,
                 const TensorSparsity& sparsity) {
  if (sparsity.n != 1 || sparsity.stride != 1) {
    return Error(c.loc(),
                 "sparsity {}x{} with stride {} has no meaning here, only 1xN with stride 1",
                 sparsity.n, sparsity.m, sparsity.stride);
  }
  if (places.shape().dims() != values.shape().dims() || !IsInteger(places.element_type())) {
    return Error(c.loc(), "sparse values `{}` need integers of their dimensions, found `{}`",
                 values.shape(), places.shape());
  }
  const size_t d = static_cast<size_t>(sparsity.dimension);
  DimVec dims = Dims(values);
  int64_t inner = 1;  // elements from one index of the dimension to the next
  for (size_t i = d + 1; i < dims.size(); ++i) inner *= dims[i];
  dims[d] *= sparsity.m;
  Literal dense(Shape::Array(values.element_type(), dims));
  const auto bytes = static_cast<size_t>(ByteSize(values.element_type()));
  uint8_t* out = dense.mutable_data();
  for (int64_t i = 0; i < values.element_count(); ++i) {
    const int64_t place = ScalarIndex(places, i);
    if (place < 0 || place >= sparsity.m) {
      return Error(c.loc(), "the place of a sparse value is {}, expected one in [0, {})", place,
                   sparsity.m);
    }
    // i = block * inner + rest; its group of m starts at block * m.
    const int64_t at = (i / inner * sparsity.m + place) * inner + i % inner;
    std::memcpy(out + static_cast<size_t>(at) * bytes, ElementPtr(values, i), bytes);
  }
  return dense;
}

absl::Status WriteOutSparse(EvalContext& c, const SparsityConfig& config) {
  const std::optional<TensorSparsity>* const sides[] = {&config.lhs, &config.rhs};
  for (size_t side = 0; side < 2; ++side) {
    const std::optional<TensorSparsity>& sparsity = *sides[side];
    if (!sparsity.has_value()) continue;
    ASSIGN_OR_RETURN(
        c.operands[side],
        Dense(c, c.operands[side], c.operand(static_cast<int>(sparsity->index)), *sparsity));
  }
  return absl::OkStatus();
}

}  // namespace

EvalResult EvalConvolution(EvalContext& c) {
  const ConvolutionAttrs& attrs = c.attrs<ConvolutionAttrs>();
  RETURN_IF_ERROR(WriteOutSparse(c, attrs.sparsity_config));
  const ConvDimNumbers& dn = attrs.dim_labels;
  const ElementType result_type = c.instruction.shape().element_type();
  const ElementType type = ProductType(c.operand(0).shape().element_type(),
                                       c.operand(1).shape().element_type(), result_type);
  DimVec lhs_order = {dn.input_batch}, rhs_order, out_order = {dn.output_batch};
  lhs_order.insert(lhs_order.end(), dn.input_spatial.begin(), dn.input_spatial.end());
  lhs_order.push_back(dn.input_feature);
  rhs_order.insert(rhs_order.end(), dn.kernel_spatial.begin(), dn.kernel_spatial.end());
  rhs_order.push_back(dn.kernel_input_feature);
  rhs_order.push_back(dn.kernel_output_feature);
  out_order.insert(out_order.end(), dn.output_spatial.begin(), dn.output_spatial.end());
  out_order.push_back(dn.output_feature);
  const Literal lhs = Canonical(c.operand(0), type, lhs_order);
  const Literal rhs = Canonical(c.operand(1), type, rhs_order);

  Convolution conv{
      attrs.window,    Dims(lhs), Dims(rhs), {}, attrs.feature_group_count, attrs.batch_group_count,
      MatMulType(type)};
  conv.window.dims.resize(dn.input_spatial.size());
  for (WindowDim& dim : conv.window.dims) dim.reversal = ReadsReversed(attrs, dim);
  conv.out_dims.push_back(conv.lhs_dims[0] / attrs.batch_group_count);
  DimVec window_dims, spatial_dims;
  for (size_t d = 0; d < conv.window.dims.size(); ++d) {
    spatial_dims.push_back(conv.window.dims[d].OutputSize(conv.lhs_dims[d + 1]));
    window_dims.push_back(conv.window.dims[d].size);
    conv.out_dims.push_back(spatial_dims.back());
  }
  conv.out_dims.push_back(conv.rhs_dims.back());
  Literal sums(Shape::Array(conv.type, conv.out_dims));
  RETURN_IF_ERROR(c.evaluator.Spend(sums.element_count() * Product(window_dims) *
                                    conv.rhs_dims[conv.rhs_dims.size() - 2]));

  const int64_t row_bytes = conv.out_dims.back() * ByteSize(conv.type);
  uint8_t* row = sums.mutable_data();
  if (sums.element_count() > 0) {
    for (int64_t n = 0; n < conv.out_dims[0]; ++n) {
      DimVec at(spatial_dims.size(), 0);
      do {
        DimVec position(window_dims.size(), 0);
        do {
          conv.AddPosition(n, at, position, lhs.data(), rhs.data(), row);
        } while (NextIndex(absl::MakeSpan(position), window_dims));
        row += row_bytes;
      } while (NextIndex(absl::MakeSpan(at), spatial_dims));
    }
  }
  const Literal values = ConvertLiteral(ConvertLiteral(sums, type), result_type);
  const DimVec back = InversePermutation(out_order);
  const DimVec dims = Permute(conv.out_dims, back);
  Literal result(c.ResultShape(dims));
  RunStridedCopy({dims, Permute(RowMajorStrides(conv.out_dims), back), RowMajorStrides(dims)},
                 ByteSize(result_type), values.data(), result.mutable_data());
  return result;
}

}  // namespace hlo

// The shape rule of convolution. `convolution_kind` says what the convolution is for, not what its
// shape is.
#include "lib/ops/shape_helpers.h"
#include "lib/support/saturate.h"

namespace hlo {
namespace {

// The logical size of a dimension that structured sparsity stores compressed: n of m values are
// kept.
int64_t DenseSize(const std::optional<TensorSparsity>& sparsity, int64_t dimension,
                  int64_t stored) {
  if (!sparsity.has_value() || sparsity->dimension != dimension || sparsity->n == 0 ||
      stored == Shape::kUnbounded)
    return stored;
  return SaturatingMul(stored / sparsity->n, sparsity->m);
}

absl::Status CheckRoles(const ShapeArgs& args, std::string_view what, int64_t a, int64_t b,
                        const DimVec& spatial, int64_t rank) {
  DimVec all = spatial;
  all.push_back(a);
  all.push_back(b);
  if (IsPermutation(all, rank)) return absl::OkStatus();
  return args.Error("`dim_labels` give {} {} dimensions, expected each of [0, {}) once", what,
                    all.size(), rank);
}

absl::Status CheckLabels(const ShapeArgs& args, const ConvDimNumbers& labels) {
  RETURN_IF_ERROR(args.CheckArray(0));
  const int rank = args.operand(0).rank();
  if (rank < 2)
    return args.Error("`{}` has shape `{}`, expected rank 2 or more", args.name(0),
                      args.operand(0));
  RETURN_IF_ERROR(args.CheckRank(1, rank));
  RETURN_IF_ERROR(CheckRoles(args, "lhs", labels.input_batch, labels.input_feature,
                             labels.input_spatial, rank));
  RETURN_IF_ERROR(CheckRoles(args, "rhs", labels.kernel_input_feature, labels.kernel_output_feature,
                             labels.kernel_spatial, rank));
  return CheckRoles(args, "output", labels.output_batch, labels.output_feature,
                    labels.output_spatial, rank);
}

absl::Status CheckWindow(const ShapeArgs& args, const ConvolutionAttrs& attrs) {
  const auto& dims = attrs.window.dims;
  const DimVec& spatial = attrs.dim_labels.kernel_spatial;
  if (dims.size() != spatial.size()) {
    return args.Error("`window` has {} dimensions, but `dim_labels` has {} spatial ones",
                      dims.size(), spatial.size());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const WindowDim& w = dims[i];
    if (w.size < 1 || w.stride < 1 || w.base_dilation < 1 || w.window_dilation < 1) {
      return args.Error(
          "window dimension {} has size {}, stride {}, dilations {} and {}; all must be at least 1",
          i, w.size, w.stride, w.base_dilation, w.window_dilation);
    }
    const int64_t kernel = args.operand(1).dim(static_cast<int>(spatial[i]));
    if (!SameSize(kernel, w.size)) {
      return args.Error("window dimension {} has size {}, but dimension {} of `rhs` is {}", i,
                        w.size, spatial[i], kernel);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const ShapeArgs& args, const ConvolutionAttrs& attrs, int64_t in_features,
                         int64_t batch, int64_t kernel_in, int64_t kernel_out) {
  const int64_t groups = attrs.feature_group_count;
  const int64_t batch_groups = attrs.batch_group_count;
  if (groups < 1 || batch_groups < 1 || (groups > 1 && batch_groups > 1)) {
    return args.Error(
        "`feature_group_count` is {} and `batch_group_count` {}; both must be positive and one of "
        "them 1",
        groups, batch_groups);
  }
  if (in_features != Shape::kUnbounded && kernel_in != Shape::kUnbounded &&
      in_features != SaturatingMul(kernel_in, groups)) {
    return args.Error(
        "the feature dimension of `lhs` is {}, expected {}: {} groups of the {} input features of "
        "`rhs`",
        in_features, SaturatingMul(kernel_in, groups), groups, kernel_in);
  }
  if (kernel_out != Shape::kUnbounded &&
      (kernel_out % groups != 0 || kernel_out % batch_groups != 0)) {
    return args.Error("`rhs` has {} output features, which {} groups do not divide", kernel_out,
                      groups > 1 ? groups : batch_groups);
  }
  if (batch != Shape::kUnbounded && batch % batch_groups != 0) {
    return args.Error("the batch dimension of `lhs` is {}, which {} batch groups do not divide",
                      batch, batch_groups);
  }
  return absl::OkStatus();
}

absl::Status CheckSparsity(const ShapeArgs& args, const SparsityConfig& config) {
  int described = 0;
  for (const auto* side : {&config.lhs, &config.rhs}) {
    if (!side->has_value()) continue;
    ++described;
    if ((*side)->index < 2 || (*side)->index >= args.operand_count()) {
      return args.Error("`sparsity_config` names operand {} of {}, expected one after `rhs`",
                        (*side)->index, args.operand_count());
    }
  }
  if (args.operand_count() - 2 == described) return absl::OkStatus();
  return args.Error("found {} operands after `rhs`, but `sparsity_config` describes {}",
                    args.operand_count() - 2, described);
}

}  // namespace

absl::StatusOr<Shape> ConvolutionShape(const ShapeArgs& args) {
  const ConvolutionAttrs& attrs = args.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& labels = attrs.dim_labels;
  RETURN_IF_ERROR(CheckLabels(args, labels));
  RETURN_IF_ERROR(CheckWindow(args, attrs));
  RETURN_IF_ERROR(CheckSparsity(args, attrs.sparsity_config));
  const Shape lhs = args.operand(0);
  const Shape rhs = args.operand(1);
  const auto lhs_dim = [&](int64_t d) {
    return DenseSize(attrs.sparsity_config.lhs, d, lhs.dim(static_cast<int>(d)));
  };
  const auto rhs_dim = [&](int64_t d) {
    return DenseSize(attrs.sparsity_config.rhs, d, rhs.dim(static_cast<int>(d)));
  };
  const int64_t batch = lhs_dim(labels.input_batch);
  const int64_t features = rhs_dim(labels.kernel_output_feature);
  RETURN_IF_ERROR(CheckGroups(args, attrs, lhs_dim(labels.input_feature), batch,
                              rhs_dim(labels.kernel_input_feature), features));
  const ElementType type = ContractionType(args);

  DimVec sizes(lhs.rank());
  absl::InlinedVector<bool, 6> dynamic(lhs.rank());
  sizes[labels.output_batch] = batch == Shape::kUnbounded ? batch : batch / attrs.batch_group_count;
  dynamic[labels.output_batch] = lhs.is_dynamic(static_cast<int>(labels.input_batch));
  sizes[labels.output_feature] = features;
  dynamic[labels.output_feature] = rhs.is_dynamic(static_cast<int>(labels.kernel_output_feature));
  for (size_t i = 0; i < labels.input_spatial.size(); ++i) {
    const int64_t from = labels.input_spatial[i];
    const int64_t to = labels.output_spatial[i];
    const int64_t size = lhs_dim(from);
    sizes[to] = size == Shape::kUnbounded ? size : attrs.window.dims[i].OutputSize(size);
    dynamic[to] = lhs.is_dynamic(static_cast<int>(from));
  }
  DimList dims;
  for (int d = 0; d < lhs.rank(); ++d) dims.Add(sizes[d], dynamic[d]);
  return dims.ToShape(type);
}

}  // namespace hlo

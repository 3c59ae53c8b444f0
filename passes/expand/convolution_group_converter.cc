#include "passes/expand/convolution_group_converter.h"

namespace hlo {
namespace {

class GroupedConvolution {
 public:
  GroupedConvolution(Instruction* conv, Rewriter& b)
      : conv_(conv),
        b_(b),
        attrs_(conv->attrs<ConvolutionAttrs>()),
        dims_(attrs_.dim_labels),
        x_(conv->operand(0)),
        kernel_(conv->operand(1)) {}

  // Zeros for the input features of other groups.
  Instruction* WithExpandedFilter() {
    const int64_t groups = attrs_.feature_group_count;
    attrs_.feature_group_count = 1;
    DimVec sizes(kernel_->shape().dims().begin(), kernel_->shape().dims().end());
    DimVec places, narrow;
    for (int64_t dim = 0; dim < kernel_->shape().rank(); ++dim) {
      if (dim == dims_.kernel_input_feature) continue;
      places.push_back(dim);
      narrow.push_back(sizes[static_cast<size_t>(dim)]);
    }
    sizes[static_cast<size_t>(dims_.kernel_input_feature)] = groups;
    Instruction* mask =
        SameGroup(sizes, dims_.kernel_input_feature, dims_.kernel_output_feature, groups);
    Instruction* wide = b_.Broadcast(b_.Reshape(kernel_, narrow), sizes, places);
    return Convolve(conv_->shape(), x_, b_.Select(mask, wide, Zeros(wide->shape())));
  }

  // The outputs of a group as a spatial dimension that a window of as many points runs over.
  Instruction* WithOutputsInSpace() {
    const int64_t groups = attrs_.feature_group_count;
    const int64_t outputs = Size(kernel_, dims_.kernel_output_feature) / groups;
    kernel_ = Split(kernel_, dims_.kernel_output_feature, groups);
    DimVec sizes(x_->shape().dims().begin(), x_->shape().dims().end());
    sizes.push_back(1);
    x_ = b_.Reshape(x_, sizes);
    const int64_t result_feature = dims_.output_feature;
    Shift(dims_.kernel_spatial, dims_.kernel_input_feature, dims_.kernel_output_feature,
          dims_.kernel_output_feature);
    dims_.kernel_spatial.push_back(dims_.kernel_output_feature + 1);
    dims_.input_spatial.push_back(x_->shape().rank() - 1);
    Shift(dims_.output_spatial, dims_.output_batch, dims_.output_feature, result_feature);
    dims_.output_spatial.push_back(result_feature + 1);
    WindowDim window;
    window.size = outputs;
    window.pad_low = window.pad_high = outputs - 1;
    window.reversal = true;
    attrs_.window.dims.push_back(window);
    return Merged(Convolve(SplitShape(conv_->shape(), result_feature, groups), x_, kernel_));
  }

  // Feature groups as a spatial dimension: a dilated window meets one group of the
  // input at each place.
  Instruction* WithFeatureGroupsInSpace() {
    const int64_t groups = attrs_.feature_group_count;
    attrs_.feature_group_count = 1;
    x_ = Split(x_, dims_.input_feature, groups);
    dims_.input_spatial = ShiftedFor(dims_.input_feature, dims_.input_spatial, dims_.input_batch);
    dims_.input_spatial.push_back(dims_.input_feature++);
    return WithKernelGroupsInSpace(groups);
  }

  Instruction* WithBatchGroupsInSpace() {
    const int64_t groups = attrs_.batch_group_count;
    attrs_.batch_group_count = 1;
    x_ = Split(x_, dims_.input_batch, groups);
    dims_.input_spatial = ShiftedFor(dims_.input_batch, dims_.input_spatial, dims_.input_feature);
    dims_.input_spatial.push_back(dims_.input_batch++);
    return WithKernelGroupsInSpace(groups);
  }

  // One sample and one output feature per group: all pairs, of which those of a group
  // are summed up.
  Instruction* WithMaskedOutput() {
    const int64_t groups = attrs_.batch_group_count;
    attrs_.batch_group_count = 1;
    DimVec sizes(conv_->shape().dims().begin(), conv_->shape().dims().end());
    sizes[static_cast<size_t>(dims_.output_batch)] *= groups;
    Instruction* mask = SameGroup(sizes, dims_.output_batch, dims_.output_feature, groups);
    Instruction* all = Convolve(conv_->shape().WithDimensions(sizes), x_, kernel_);
    Instruction* own = b_.Select(mask, all, Zeros(all->shape()));
    const ElementType type = conv_->shape().element_type();
    ElementType sum_type = type;
    if (IsFloat(type) && BitWidth(type) < 32) sum_type = ElementType::kF32;
    if (sum_type != type) own = b_.Convert(own, sum_type);
    ReduceWindowAttrs attrs;
    attrs.window.dims.resize(sizes.size());
    WindowDim& window = attrs.window.dims[static_cast<size_t>(dims_.output_batch)];
    window.size = window.stride = groups;
    Instruction* sum = b_.Op(Opcode::kReduceWindow, {own, b_.Constant(Literal::Zero(sum_type))},
                             AttrsPtr::Make(std::move(attrs)),
                             {ScalarComputation(b_.module(), Opcode::kAdd, sum_type)});
    return b_.Convert(sum, type);
  }

 private:
  static int64_t Size(const Instruction* x, int64_t dim) {
    return x->shape().dim(static_cast<int>(dim));
  }

  Instruction* Zeros(Shape shape) {
    return b_.Broadcast(b_.Constant(Literal::Zero(shape.element_type())), shape.dims(), {});
  }

  // Whether the numbers along `a` and `b` of an array of these sizes are of the same of
  // `groups` groups.
  Instruction* SameGroup(const DimVec& sizes, int64_t a, int64_t b, int64_t groups) {
    const auto numbers = [&](int64_t dim) {
      const int64_t size = sizes[static_cast<size_t>(dim)];
      Literal ids(Shape::Array(ElementType::kS32, std::vector<int64_t>{size}));
      for (int64_t i = 0; i < size; ++i) ids.SetInt(i, i / (size / groups));
      return b_.Broadcast(b_.Constant(std::move(ids)), sizes, {dim});
    };
    Instruction* lhs = numbers(a);
    return b_.Compare(lhs, numbers(b), ComparisonDirection::kEq);
  }

  static Shape SplitShape(Shape shape, int64_t dim, int64_t groups) {
    DimVec sizes(shape.dims().begin(), shape.dims().end());
    const int64_t size = sizes[static_cast<size_t>(dim)];
    sizes[static_cast<size_t>(dim)] = size / groups;
    sizes.insert(sizes.begin() + dim, groups);
    return shape.WithDimensions(sizes);
  }
  // [.., n, ..]  =>  [.., groups, n / groups, ..]
  Instruction* Split(Instruction* x, int64_t dim, int64_t groups) {
    return b_.Reshape(x, SplitShape(x->shape(), dim, groups).dims());
  }

  // Numbers of dimensions when one more stands before or after `at`.
  static DimVec ShiftedFor(int64_t at, DimVec dims, int64_t& other) {
    for (int64_t& dim : dims) dim += dim > at ? 1 : 0;
    other += other > at ? 1 : 0;
    return dims;
  }
  static void Shift(DimVec& dims, int64_t& a, int64_t& b, int64_t at) {
    for (int64_t& dim : dims) dim += dim > at ? 1 : 0;
    a += a > at ? 1 : 0;
    b += b > at ? 1 : 0;
  }

  Instruction* WithKernelGroupsInSpace(int64_t groups) {
    kernel_ = Split(kernel_, dims_.kernel_output_feature, groups);
    dims_.kernel_spatial =
        ShiftedFor(dims_.kernel_output_feature, dims_.kernel_spatial, dims_.kernel_input_feature);
    dims_.kernel_spatial.push_back(dims_.kernel_output_feature++);
    const int64_t result_feature = dims_.output_feature;
    dims_.output_spatial = ShiftedFor(result_feature, dims_.output_spatial, dims_.output_batch);
    dims_.output_spatial.push_back(dims_.output_feature++);
    WindowDim window;
    window.size = groups;
    window.stride = groups - 1;
    window.base_dilation = groups;
    attrs_.window.dims.push_back(window);
    return Merged(Convolve(SplitShape(conv_->shape(), result_feature, groups), x_, kernel_));
  }

  Instruction* Merged(Instruction* x) { return b_.Reshape(x, conv_->shape().dims()); }

  Instruction* Convolve(Shape shape, Instruction* x, Instruction* kernel) {
    Instruction* result =
        b_.OpWithShape(Opcode::kConvolution, shape, {x, kernel}, AttrsPtr::Make(attrs_));
    PassOnWork(*conv_, result);
    return result;
  }

  Instruction* conv_;
  Rewriter& b_;
  ConvolutionAttrs attrs_;
  ConvDimNumbers& dims_;
  Instruction* x_;
  Instruction* kernel_;
};

}  // namespace

bool ConvolutionGroupConverter::Matches(const Instruction& instruction) const {
  if (instruction.operand_count() != 2 || instruction.shape().has_dynamic_dims() ||
      instruction.operand(0)->shape().has_dynamic_dims() ||
      instruction.operand(1)->shape().has_dynamic_dims())
    return false;
  if (options_.skip_types.Has(instruction.shape().element_type())) return false;
  const auto& attrs = instruction.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& dims = attrs.dim_labels;
  const Shape kernel = instruction.operand(1)->shape();
  const int64_t outputs = kernel.dim(static_cast<int>(dims.kernel_output_feature));
  if (options_.convert_batch_groups_only) {
    const int64_t groups = attrs.batch_group_count;
    if (groups == 1) return false;
    const int64_t batch = instruction.operand(0)->shape().dim(static_cast<int>(dims.input_batch));
    return outputs != groups || batch != groups || !options_.is_cost_viable ||
           options_.filter_expansion;
  }
  if (attrs.feature_group_count == 1) return false;
  return options_.filter_expansion ||
         kernel.dim(static_cast<int>(dims.kernel_input_feature)) != 1 ||
         outputs != attrs.feature_group_count;
}

absl::StatusOr<Instruction*> ConvolutionGroupConverter::Expand(Instruction* conv,
                                                               Rewriter& rewriter) {
  const auto& attrs = conv->attrs<ConvolutionAttrs>();
  const ConvDimNumbers& dims = attrs.dim_labels;
  const Shape kernel = conv->operand(1)->shape();
  GroupedConvolution grouped(conv, rewriter);
  if (options_.convert_batch_groups_only) {
    const bool one_each =
        kernel.dim(static_cast<int>(dims.kernel_output_feature)) == attrs.batch_group_count &&
        conv->operand(0)->shape().dim(static_cast<int>(dims.input_batch)) ==
            attrs.batch_group_count;
    return one_each ? grouped.WithMaskedOutput() : grouped.WithBatchGroupsInSpace();
  }
  if (kernel.dim(static_cast<int>(dims.kernel_input_feature)) != 1)
    return grouped.WithFeatureGroupsInSpace();
  return options_.filter_expansion || !options_.is_cost_viable ? grouped.WithExpandedFilter()
                                                               : grouped.WithOutputsInSpace();
}

HLO_DEFINE_PASS(ConvolutionGroupConverter)

}  // namespace hlo

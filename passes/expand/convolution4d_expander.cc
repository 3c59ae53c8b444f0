#include "passes/expand/convolution4d_expander.h"

namespace hlo {
namespace {

int64_t SizeAt(const Instruction& x, int64_t dimension) {
  return x.shape().dim(static_cast<int>(dimension));
}

bool IsTrivial(const Instruction& conv, size_t spatial) {
  const auto& attrs = conv.attrs<ConvolutionAttrs>();
  const WindowDim& window = attrs.window.dims[spatial];
  const ConvDimNumbers& labels = attrs.dim_labels;
  return window.pad_low == 0 && window.pad_high == 0 &&
         SizeAt(*conv.operand(0), labels.input_spatial[spatial]) == 1 &&
         SizeAt(*conv.operand(1), labels.kernel_spatial[spatial]) == 1 &&
         SizeAt(conv, labels.output_spatial[spatial]) == 1;
}

// Dimensions of one array of which some go.
class FewerDimensions {
 public:
  FewerDimensions(Shape shape, DimVec& spatial, const std::vector<bool>& goes) {
    DimVec gone;
    DimVec left;
    for (size_t i = 0; i < goes.size(); ++i) (goes[i] ? gone : left).push_back(spatial[i]);
    int64_t next = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      const bool stays = !absl::c_linear_search(gone, d);
      place_.push_back(stays ? next++ : -1);
      if (stays) sizes_.push_back(shape.dim(d));
    }
    for (int64_t& d : left) Move(d);
    spatial = left;
  }
  void Move(int64_t& dimension) const { dimension = place_[static_cast<size_t>(dimension)]; }
  const std::vector<int64_t>& sizes() const { return sizes_; }

 private:
  DimVec place_;
  std::vector<int64_t> sizes_;
};

}  // namespace

bool Convolution4dExpander::Matches(const Instruction& instruction) const {
  const auto& attrs = instruction.attrs<ConvolutionAttrs>();
  if (attrs.window.dims.size() != 4 || attrs.dim_labels.input_spatial.size() != 4 ||
      instruction.operand_count() != 2 || instruction.shape().has_dynamic_dims() ||
      instruction.operand(0)->shape().has_dynamic_dims() ||
      instruction.operand(1)->shape().has_dynamic_dims())
    return false;
  for (size_t i = 0; i < 4; ++i) {
    if (IsTrivial(instruction, i)) return true;
  }
  return false;
}

absl::StatusOr<Instruction*> Convolution4dExpander::Expand(Instruction* conv, Rewriter& rewriter) {
  ConvolutionAttrs attrs = conv->attrs<ConvolutionAttrs>();
  std::vector<bool> goes;
  std::vector<WindowDim> window;
  for (size_t i = 0; i < attrs.window.dims.size(); ++i) {
    goes.push_back(IsTrivial(*conv, i));
    if (!goes[i]) window.push_back(attrs.window.dims[i]);
  }
  attrs.window.dims = std::move(window);
  ConvDimNumbers& labels = attrs.dim_labels;
  const FewerDimensions input(conv->operand(0)->shape(), labels.input_spatial, goes);
  input.Move(labels.input_batch);
  input.Move(labels.input_feature);
  const FewerDimensions kernel(conv->operand(1)->shape(), labels.kernel_spatial, goes);
  kernel.Move(labels.kernel_input_feature);
  kernel.Move(labels.kernel_output_feature);
  const FewerDimensions output(conv->shape(), labels.output_spatial, goes);
  output.Move(labels.output_batch);
  output.Move(labels.output_feature);
  Instruction* smaller = rewriter.OpWithShape(
      Opcode::kConvolution, Shape::Array(conv->shape().element_type(), output.sizes()),
      {rewriter.Reshape(conv->operand(0), input.sizes()),
       rewriter.Reshape(conv->operand(1), kernel.sizes())},
      AttrsPtr::Make(std::move(attrs)));
  PassOnWork(*conv, smaller);
  return rewriter.Reshape(smaller, conv->shape().dims());
}

HLO_DEFINE_PASS(Convolution4dExpander)

}  // namespace hlo

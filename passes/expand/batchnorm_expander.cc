#include "passes/expand/batchnorm_expander.h"

namespace hlo {
namespace {

// One batch normalisation; all values have the element type of its first operand.
class BatchNorm {
 public:
  BatchNorm(Instruction* op, Rewriter& b)
      : op_(op), b_(b), x_(op->operand(0)), feature_(op->attrs<BatchNormAttrs>().feature_index) {
    for (int64_t i = 0; i < x_->shape().rank(); ++i) {
      if (i != feature_) others_.push_back(i);
    }
  }

  Instruction* Training() {
    zero_ = b_.ScalarConstant(type(), 0);
    Instruction* sum = Sum(x_);
    Instruction* sum_of_squares = Sum(b_.Multiply(x_, x_));
    Instruction* count = Count();
    Instruction* mean = b_.Divide(sum, Everywhere(count, sum));
    Instruction* mean_of_squares = b_.Divide(sum_of_squares, Everywhere(count, sum));
    Instruction* variance = b_.Subtract(mean_of_squares, b_.Multiply(mean, mean));
    Instruction* centered = b_.Subtract(x_, PerFeature(mean));
    Instruction* factor = b_.Rsqrt(b_.Add(PerFeature(variance), Everywhere(Epsilon(), x_)));
    Instruction* scaled = b_.Multiply(b_.Multiply(centered, factor), PerFeature(op_->operand(1)));
    return b_.Tuple({b_.Add(scaled, PerFeature(op_->operand(2))), mean, variance});
  }

  Instruction* Inference() {
    Instruction* scale = op_->operand(1);
    Instruction* factor = b_.Multiply(
        scale, b_.Rsqrt(b_.Add(op_->operand(4), Everywhere(Epsilon(), op_->operand(4)))));
    Instruction* shift = b_.Subtract(op_->operand(2), b_.Multiply(op_->operand(3), factor));
    return b_.Add(b_.Multiply(x_, PerFeature(factor)), PerFeature(shift));
  }

  Instruction* Grad() {
    zero_ = b_.ScalarConstant(type(), 0);
    Instruction* variance = op_->operand(3);
    Instruction* grad = op_->operand(4);
    Instruction* epsilon = Epsilon();
    Instruction* wide_epsilon = Everywhere(epsilon, x_);
    Instruction* wide_variance = PerFeature(variance);
    Instruction* wide_factor = b_.Rsqrt(b_.Add(wide_variance, wide_epsilon));
    Instruction* factor = b_.Rsqrt(b_.Add(variance, Everywhere(epsilon, variance)));
    Instruction* centered = b_.Subtract(x_, PerFeature(op_->operand(2)));
    Instruction* sum_centered = Sum(b_.Multiply(grad, centered));
    Instruction* sum_grad = Sum(grad);
    Instruction* count = Count();
    Instruction* scale =
        b_.Divide(b_.Multiply(PerFeature(op_->operand(1)), wide_factor), Everywhere(count, x_));
    Instruction* term = b_.Divide(b_.Multiply(PerFeature(sum_centered), centered),
                                  b_.Add(wide_variance, wide_epsilon));
    Instruction* inner = b_.Subtract(
        b_.Subtract(b_.Multiply(grad, Everywhere(count, x_)), PerFeature(sum_grad)), term);
    return b_.Tuple({b_.Multiply(scale, inner), b_.Multiply(sum_centered, factor), sum_grad});
  }

 private:
  ElementType type() const { return x_->shape().element_type(); }

  Instruction* Epsilon() {
    return b_.ScalarConstant(type(), static_cast<double>(op_->attrs<BatchNormAttrs>().epsilon));
  }
  Instruction* Everywhere(Instruction* scalar, const Instruction* like) {
    return b_.OpWithShape(Opcode::kBroadcast, like->shape().WithElementType(type()), {scalar},
                          AttrsPtr::Make(BroadcastAttrs{}));
  }
  Instruction* PerFeature(Instruction* vector) {
    return b_.OpWithShape(Opcode::kBroadcast, x_->shape().WithElementType(type()), {vector},
                          AttrsPtr::Make(BroadcastAttrs{{feature_}}));
  }
  Instruction* Sum(Instruction* x) {
    return b_.Reduce(x, zero_, others_, ScalarComputation(b_.module(), Opcode::kAdd, type()));
  }
  // How many elements each sum has.
  Instruction* Count() {
    Instruction* count = b_.ScalarConstant(ElementType::kS32, 1);
    for (int64_t dim : others_) {
      Instruction* size =
          b_.Op(Opcode::kGetDimensionSize, {x_}, AttrsPtr::Make(DimensionAttrs{BracedDim{dim}}));
      count = b_.Multiply(size, count);
    }
    return b_.Convert(count, type());
  }

  Instruction* op_;
  Rewriter& b_;
  Instruction* x_;
  int64_t feature_;
  DimVec others_;
  Instruction* zero_ = nullptr;
};

Instruction* ExpandAsItIs(Instruction* op, Rewriter& rewriter) {
  BatchNorm norm(op, rewriter);
  if (op->opcode() == Opcode::kBatchNormTraining) return norm.Training();
  if (op->opcode() == Opcode::kBatchNormInference) return norm.Inference();
  return norm.Grad();
}

// Types of 8 bits and fewer hold neither the counts nor the sums: the same in f32,
// rounded at the end.
Instruction* ExpandInF32(Instruction* op, Rewriter& rewriter) {
  const ElementType narrow = op->operand(0)->shape().element_type();
  std::vector<Instruction*> operands;
  for (Instruction* operand : op->operands())
    operands.push_back(rewriter.Convert(operand, ElementType::kF32));
  Instruction* wide = rewriter.Op(op->opcode(), operands, op->attrs_ptr());
  if (!rewriter.status().ok()) return op;
  Instruction* result = ExpandAsItIs(wide, rewriter);
  rewriter.computation()->Remove(wide);
  if (result->opcode() != Opcode::kTuple) return rewriter.Convert(result, narrow);
  std::vector<Instruction*> elements;
  for (Instruction* element : result->operands())
    elements.push_back(rewriter.Convert(element, narrow));
  return rewriter.Tuple(elements);
}

constexpr int kNarrowBits = 8;

// The device that all leaves are on, if there is one.
std::optional<int64_t> UniqueDevice(const Sharding& sharding) {
  std::optional<int64_t> device;
  for (const Sharding::Leaf& leaf : sharding.leaves) {
    const auto* tiled = std::get_if<TiledSharding>(&leaf);
    if (tiled == nullptr || tiled->kind != TiledSharding::Kind::kMaximal ||
        (device && *device != tiled->maximal_device))
      return std::nullopt;
    device = tiled->maximal_device;
  }
  return device;
}

// Whether it is made of the epsilon alone, which XLA leaves open for inference.
bool IsEpsilon(const Instruction& made) {
  return made.IsConstant() ||
         (made.opcode() == Opcode::kBroadcast && made.operand(0)->IsConstant());
}

// What was made for `op`: data is divided as its first result, all else is on each device, or on
// the one where `op` is.
void Divide(const Instruction& op, const Instruction* result, uint32_t first_new) {
  if (op.sharding() == nullptr) return;
  const Sharding& sharding = *op.sharding();
  const Sharding of_data = Sharding::Of(sharding.leaves.front());
  const std::optional<int64_t> device = UniqueDevice(sharding);
  const Sharding of_rest = device ? Sharding::Maximal(*device) : Sharding::Replicated();
  for (Instruction* made : op.parent()->instructions()) {
    if (made->id() < first_new) continue;
    if (op.opcode() == Opcode::kBatchNormInference && IsEpsilon(*made)) continue;
    const bool is_data =
        made->shape().IsArray() && made->shape().dims() == op.operand(0)->shape().dims();
    made->set_sharding(made == result ? sharding : is_data ? of_data : of_rest);
  }
}

}  // namespace

bool BatchnormExpander::Matches(const Instruction& instruction) const {
  return (instruction.opcode() == Opcode::kBatchNormTraining && options_.rewrite_training_op) ||
         (instruction.opcode() == Opcode::kBatchNormInference && options_.rewrite_inference_op) ||
         (instruction.opcode() == Opcode::kBatchNormGrad && options_.rewrite_grad_op);
}

absl::StatusOr<Instruction*> BatchnormExpander::Expand(Instruction* instruction,
                                                       Rewriter& rewriter) {
  const bool is_narrow = BitWidth(instruction->operand(0)->shape().element_type()) <= kNarrowBits;
  const uint32_t first_new = rewriter.module().id_limit();
  Instruction* result =
      is_narrow ? ExpandInF32(instruction, rewriter) : ExpandAsItIs(instruction, rewriter);
  Divide(*instruction, result, first_new);
  return result;
}

HLO_DEFINE_PASS(BatchnormExpander)

}  // namespace hlo

// What normalisations of layers by cuDNN mean. The input is [rows, features…]; scale and bias have
// one number for each feature, and all dimensions but the first are normalised together.
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

// Sums, means and what is made of them, in f32 or f64.
class LayerNorm {
 public:
  LayerNorm(const Instruction& call, Rewriter& b)
      : b_(b),
        type_(call.operand(0)->shape().element_type() == ElementType::kF64 ? ElementType::kF64
                                                                           : ElementType::kF32),
        x_(Wide(call.operand(0))) {
    for (int d = 1; d < x_->shape().rank(); ++d) {
      features_.push_back(d);
      count_ *= static_cast<double>(x_->shape().dim(d));
    }
  }

  Instruction* Wide(Instruction* x) {
    return x->shape().element_type() == type_ ? x : b_.Convert(x, type_);
  }
  Instruction* input() const { return x_; }

  // [rows]
  Instruction* Mean(Instruction* x) {
    Instruction* const sum = Sum(x, features_);
    return b_.Divide(sum, b_.ConstantLike(sum, count_));
  }
  Instruction* OverRows(Instruction* x) { return Sum(x, {0}); }
  Instruction* EachRow(Instruction* row) { return b_.Broadcast(row, x_->shape().dims(), {0}); }
  // Of [1, features…].
  Instruction* EachFeature(Instruction* x) {
    const DimVec sizes(x_->shape().dims().begin() + 1, x_->shape().dims().end());
    return b_.Broadcast(b_.Reshape(Wide(x), sizes), x_->shape().dims(), features_);
  }
  // [rows] of [rows, 1…]
  Instruction* Rows(Instruction* x) { return b_.Reshape(Wide(x), {x_->shape().dim(0)}); }

 private:
  Instruction* Sum(Instruction* x, const DimVec& dims) {
    return b_.Reduce(x, b_.ScalarConstant(type_, 0), dims,
                     ScalarComputation(b_.module(), Opcode::kAdd, type_));
  }

  Rewriter& b_;
  ElementType type_;
  Instruction* x_;
  DimVec features_;
  double count_ = 1;
};

// (x, scale, bias) -> y, and in training the mean and 1/sqrt(variance + epsilon) of each row
std::vector<Instruction*> Forward(const Instruction& call, const NormConfig& config, Rewriter& b) {
  LayerNorm norm(call, b);
  Instruction* const mean = norm.Mean(norm.input());
  Instruction* const centred = b.Subtract(norm.input(), norm.EachRow(mean));
  Instruction* const variance = norm.Mean(b.Multiply(centred, centred));
  Instruction* const factor = b.Rsqrt(b.Add(variance, b.ConstantLike(variance, config.epsilon)));
  Instruction* const scaled =
      b.Multiply(b.Multiply(centred, norm.EachRow(factor)), norm.EachFeature(call.operand(1)));
  Instruction* const y = b.Add(scaled, norm.EachFeature(call.operand(2)));
  if (config.kind == NormKind::kInference) return {y};
  const auto column = [&](Instruction* x) { return b.Reshape(x, ValueShape(call, 1).dims()); };
  return {y, column(mean), column(factor)};
}

// (x, scale, gradient of y, mean, factor) -> gradients of x, scale, bias
std::vector<Instruction*> Backward(const Instruction& call, Rewriter& b) {
  LayerNorm norm(call, b);
  Instruction* const factor = norm.EachRow(norm.Rows(call.operand(4)));
  Instruction* const dy = norm.Wide(call.operand(2));
  Instruction* const normal =
      b.Multiply(b.Subtract(norm.input(), norm.EachRow(norm.Rows(call.operand(3)))), factor);
  Instruction* const dnormal = b.Multiply(dy, norm.EachFeature(call.operand(1)));
  Instruction* const along = norm.EachRow(norm.Mean(b.Multiply(dnormal, normal)));
  Instruction* const centred = b.Subtract(dnormal, norm.EachRow(norm.Mean(dnormal)));
  Instruction* const dx = b.Multiply(b.Subtract(centred, b.Multiply(normal, along)), factor);
  return {dx, b.Reshape(norm.OverRows(b.Multiply(dy, normal)), ValueShape(call, 1).dims()),
          b.Reshape(norm.OverRows(dy), ValueShape(call, 2).dims())};
}

// As many elements as there are rows or features.
absl::Status CheckSizes(const Instruction& call, int operand, int64_t count) {
  const Shape shape = call.operand(operand)->shape();
  if (shape.IsArray() && shape.element_count() == count) return absl::OkStatus();
  return Error(call.loc(), "operand {} of `{}` has {} elements, found `{}`", operand, call.name(),
               count, shape);
}

}  // namespace

absl::StatusOr<std::vector<Instruction*>> MeaningOfNorm(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const LibraryConfig<NormConfig> library, ReadConfig<NormConfig>(call));
  const NormConfig& config = library.config;
  const bool is_backward = config.kind == NormKind::kBackward;
  const Shape x = call.operand(0)->shape();
  const int values = config.kind == NormKind::kInference ? 1 : 3;
  const int results = call.shape().IsTuple() ? call.shape().element_count_of_tuple() : 1;
  if (!x.IsArray() || x.rank() < 2 || x.IsZeroSized() || x.has_dynamic_dims())
    return Error(call.loc(), "`{}` normalises the features of rows, not `{}`", call.name(), x);
  if (call.operand_count() != (is_backward ? 5 : 3) || results < values)
    return Error(call.loc(), "`{}` of kind {} takes {} operands and yields {} values", call.name(),
                 Text(config.kind), is_backward ? 5 : 3, values);
  const int64_t rows = x.dim(0), features = x.element_count() / rows;
  RETURN_IF_ERROR(CheckSizes(call, 1, features));
  RETURN_IF_ERROR(CheckSizes(call, 2, is_backward ? x.element_count() : features));
  for (int i = 3; i < call.operand_count(); ++i) RETURN_IF_ERROR(CheckSizes(call, i, rows));
  if (is_backward && !SameDimensions(call.operand(2)->shape(), x))
    return Error(call.loc(), "the gradient of `{}` is `{}`, not like `{}`", call.name(),
                 call.operand(2)->shape(), x);
  for (int i = 1; i < values; ++i) {
    if (ValueShape(call, i).element_count() != (is_backward ? features : rows))
      return Error(call.loc(), "value {} of `{}` is `{}`, of other sizes than its operands", i,
                   call.name(), ValueShape(call, i));
  }
  return is_backward ? Backward(call, b) : Forward(call, config, b);
}

}  // namespace hlo

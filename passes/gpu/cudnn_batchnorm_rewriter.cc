#include "passes/gpu/cudnn_batchnorm_rewriter.h"

#include <algorithm>

#include "passes/gpu/library_calls.h"

namespace hlo {
namespace {

constexpr float kLeastEpsilon = 1e-5F;  // CUDNN_BN_MIN_EPSILON, as a float is printed

bool IsFromF16(const Instruction& x) {
  return x.opcode() == Opcode::kConvert &&
         x.operand(0)->shape().element_type() == ElementType::kF16;
}

// Whether all that reads `x` makes it f16.
bool IsReadAsF16(const Instruction& x) {
  return !x.is_root() && absl::c_all_of(x.uses(), [](const Use& use) {
    return use.user->opcode() == Opcode::kConvert &&
           use.user->shape().element_type() == ElementType::kF16;
  });
}

// The same of what a normalisation yields first.
bool IsResultReadAsF16(const Instruction& norm) {
  if (norm.shape().IsArray()) return IsReadAsF16(norm);
  return !norm.is_root() && absl::c_all_of(norm.uses(), [](const Use& use) {
    return use.user->opcode() == Opcode::kGetTupleElement &&
           (use.user->tuple_index() != 0 || IsReadAsF16(*use.user));
  });
}

// A normalisation that becomes a call.
class Norm {
 public:
  Norm(Instruction* norm, Rewriter& b)
      : norm_(norm),
        b_(b),
        operands_(norm->operand_vector()),
        is_f16_(IsFromF16(*norm->operand(0)) && IsResultReadAsF16(*norm)) {
    const auto& attrs = norm->attrs<BatchNormAttrs>();
    epsilon_ = b.ScalarConstant(ElementType::kF32, static_cast<double>(attrs.epsilon));
    feature_ = b.ScalarConstant(ElementType::kS64, static_cast<double>(attrs.feature_index));
  }

  Instruction* Inference() {
    Narrow(0);
    return Widened(Call(kBatchNormInferenceCall, InType(norm_->shape())));
  }

  Instruction* Training() {
    Narrow(0);
    const Shape shape = norm_->shape(), statistics = shape.element(1);
    Instruction* const call = Call(
        kBatchNormTrainingCall, Shape::Tuple({InType(shape.element(0)), statistics, statistics}));
    Instruction* const inverse = b_.GetTupleElement(call, 2);
    Instruction* const variance =
        b_.Subtract(b_.Power(inverse, b_.ConstantLike(inverse, -2)), EpsilonLike(inverse));
    return b_.Tuple({Widened(b_.GetTupleElement(call, 0)), b_.GetTupleElement(call, 1), variance});
  }

  Instruction* Grad() {
    Instruction* const variance = operands_[3];
    operands_[3] = b_.Rsqrt(b_.Add(variance, EpsilonLike(variance)));
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (IsFromF16(*operands_[i]) &&
          SameDimensions(operands_[i]->shape(), norm_->operand(0)->shape()))
        Narrow(i);
    }
    const Shape shape = norm_->shape();
    Instruction* const call =
        Call(kBatchNormGradCall,
             Shape::Tuple({InType(shape.element(0)), shape.element(1), shape.element(2)}));
    return b_.Tuple({Widened(b_.GetTupleElement(call, 0)), b_.GetTupleElement(call, 1),
                     b_.GetTupleElement(call, 2)});
  }

 private:
  // `algsimp` folds the two conversions.
  void Narrow(size_t i) {
    if (is_f16_) operands_[i] = b_.Convert(operands_[i], ElementType::kF16);
  }
  Instruction* Widened(Instruction* x) { return is_f16_ ? b_.Convert(x, ElementType::kF32) : x; }
  Shape InType(Shape shape) const {
    return is_f16_ ? shape.WithElementType(ElementType::kF16) : shape;
  }
  Instruction* EpsilonLike(const Instruction* x) {
    return b_.Broadcast(epsilon_, x->shape().dims(), {});
  }

  Instruction* Call(std::string_view target, Shape shape) {
    operands_.push_back(epsilon_);
    operands_.push_back(feature_);
    CustomCallAttrs attrs;
    attrs.custom_call_target = std::string(target);
    return b_.OpWithShape(Opcode::kCustomCall, shape, operands_, AttrsPtr::Make(std::move(attrs)));
  }

  Instruction* norm_;
  Rewriter& b_;
  std::vector<Instruction*> operands_;
  bool is_f16_;
  Instruction* epsilon_;
  Instruction* feature_;
};

}  // namespace

bool CudnnBatchnormRewriter::Matches(const Instruction& norm) const {
  const Shape x = norm.operand(0)->shape();
  return x.element_type() == ElementType::kF32 && x.element_count() > 0 && !x.has_dynamic_dims() &&
         norm.attrs<BatchNormAttrs>().epsilon >= kLeastEpsilon;
}

absl::StatusOr<Instruction*> CudnnBatchnormRewriter::Expand(Instruction* norm, Rewriter& rewriter) {
  Norm call(norm, rewriter);
  if (norm->opcode() == Opcode::kBatchNormInference) return call.Inference();
  return norm->opcode() == Opcode::kBatchNormTraining ? call.Training() : call.Grad();
}

HLO_DEFINE_PASS(CudnnBatchnormRewriter)

}  // namespace hlo

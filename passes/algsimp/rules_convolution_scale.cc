// Rules that move factors and summands around convolutions.
#include <algorithm>

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// The scalar constant that `x` broadcasts; null for anything else.
Instruction* BroadcastScalar(Instruction* x) {
  if (x->opcode() != Opcode::kBroadcast || !x->operand(0)->IsConstant() ||
      !x->operand(0)->shape().IsScalar() || x->operand(0)->literal().is_elided())
    return nullptr;
  return x->operand(0);
}

// Which operand of `x * broadcast(c)` is x; -1 if it is no such product.
int ScaledOperand(const Instruction* multiply) {
  if (multiply->opcode() != Opcode::kMultiply) return -1;
  for (int side = 0; side < 2; ++side) {
    if (BroadcastScalar(multiply->operand(1 - side)) != nullptr) return side;
  }
  return -1;
}

double FactorOf(const Instruction* multiply) {
  return BroadcastScalar(multiply->operand(1 - ScaledOperand(multiply)))->literal().GetDouble();
}

// x * factor; one factor for both, where x has one that nobody else reads.
Instruction* Scaled(Rewriter& rewriter, Instruction* x, double factor) {
  const int side = ScaledOperand(x);
  if (side >= 0 && x->has_one_user()) {
    factor *= FactorOf(x);
    x = x->operand(side);
  }
  return rewriter.Multiply(x, SplatOf(rewriter, x->shape().element_type(), factor, x));
}

// Whether a factor may pass: f(x * c) == f(x) * c.
bool LetsFactorsPass(const Instruction* x) {
  return x->opcode() == Opcode::kMultiply || x->opcode() == Opcode::kTranspose ||
         x->opcode() == Opcode::kReshape;
}

Instruction* WithOperands(Rewriter& rewriter, const Instruction* like,
                          const std::vector<Instruction*>& operands) {
  return rewriter.OpWithShape(like->opcode(), like->shape(), operands, like->attrs_ptr());
}

// Whether `x`, read once, holds a factor that can be taken out.
bool HoldsFactor(const Instruction* x) {
  if (!x->has_one_user() || !LetsFactorsPass(x)) return false;
  if (ScaledOperand(x) >= 0) return true;
  return absl::c_any_of(x->operands(), HoldsFactor);
}

// `x` without its factors, which `factor` is multiplied by.
Instruction* WithoutFactors(Rewriter& rewriter, Instruction* x, double& factor) {
  if (!HoldsFactor(x)) return x;
  if (const int side = ScaledOperand(x); side >= 0) {
    factor *= FactorOf(x);
    return WithoutFactors(rewriter, x->operand(side), factor);
  }
  std::vector<Instruction*> operands;
  for (Instruction* operand : x->operands())
    operands.push_back(WithoutFactors(rewriter, operand, factor));
  return WithOperands(rewriter, x, operands);
}

bool IsOfScaledType(const Instruction* conv) {
  const ElementType type = conv->shape().element_type();
  return (type == ElementType::kF32 || type == ElementType::kBF16) &&
         !conv->shape().has_dynamic_dims() && conv->operand_count() == 2;
}

// Where multiplying takes least: 0 and 1 for the operands, 2 for the result.
int SmallestOf(const Instruction* conv) {
  const int64_t result = conv->shape().element_count();
  const int64_t lhs = conv->operand(0)->shape().element_count();
  const int64_t rhs = conv->operand(1)->shape().element_count();
  if (result <= std::min(lhs, rhs)) return 2;
  return lhs <= rhs ? 0 : 1;
}

int64_t ElementsAt(const Instruction* conv, int place) {
  return place == 2 ? conv->shape().element_count() : conv->operand(place)->shape().element_count();
}

// convolution(x * c, k)  =>  convolution(x, k * c) or convolution(x, k) * c, where x is larger
Instruction* ConvOfScaled(Instruction* conv, Rewriter& rewriter) {
  if (!IsOfScaledType(conv)) return nullptr;
  const int target = SmallestOf(conv);
  std::vector<Instruction*> operands = conv->operand_vector();
  double factor = 1;
  bool found = false;
  for (int side = 0; side < 2; ++side) {
    Instruction*& operand = operands[static_cast<size_t>(side)];
    if (side == target || ElementsAt(conv, target) >= ElementsAt(conv, side) ||
        !HoldsFactor(operand))
      continue;
    operand = WithoutFactors(rewriter, operand, factor);
    found = true;
  }
  if (!found) return nullptr;
  if (target == 2) return Scaled(rewriter, WithOperands(rewriter, conv, operands), factor);
  Instruction*& smallest = operands[static_cast<size_t>(target)];
  smallest = Scaled(rewriter, smallest, factor);
  return WithOperands(rewriter, conv, operands);
}

// The convolution that `x` is made of by what factors pass; null if there is none. Each of them is
// read once.
Instruction* ConvBefore(Instruction* x) {
  if (x->use_count() != 1) return nullptr;
  if (x->opcode() == Opcode::kConvolution) return x;
  if (!LetsFactorsPass(x)) return nullptr;
  for (Instruction* operand : x->operands()) {
    if (Instruction* conv = ConvBefore(operand)) return conv;
  }
  return nullptr;
}

Instruction* Replaced(Rewriter& rewriter, Instruction* x, const Instruction* old,
                      Instruction* replacement) {
  if (x == old) return replacement;
  if (!LetsFactorsPass(x) || ConvBefore(x) != old) return x;
  std::vector<Instruction*> operands;
  for (Instruction* operand : x->operands())
    operands.push_back(Replaced(rewriter, operand, old, replacement));
  return WithOperands(rewriter, x, operands);
}

// convolution(x, k) * c  =>  convolution(x * c, k), where x is smaller than the result
Instruction* ScaledConv(Instruction* multiply, Rewriter& rewriter) {
  const int side = ScaledOperand(multiply);
  if (side < 0) return nullptr;
  Instruction* conv = ConvBefore(multiply->operand(side));
  if (conv == nullptr || !IsOfScaledType(conv)) return nullptr;
  const int target = SmallestOf(conv);
  if (target == 2 || ElementsAt(conv, target) >= ElementsAt(conv, 2)) return nullptr;
  std::vector<Instruction*> operands = conv->operand_vector();
  Instruction*& smallest = operands[static_cast<size_t>(target)];
  smallest = Scaled(rewriter, smallest, FactorOf(multiply));
  return Replaced(rewriter, multiply->operand(side), conv, WithOperands(rewriter, conv, operands));
}

// (convolution(x, k) + b) * broadcast(c), a factor for each output feature, with constant k and c
//     =>  convolution(x, k * broadcast(c)) + b * broadcast(c)
Instruction* ScaledBiasedConv(Instruction* multiply, Rewriter& rewriter) {
  for (int side = 0; side < 2; ++side) {
    Instruction* add = multiply->operand(side);
    Instruction* factors = multiply->operand(1 - side);
    if (add->opcode() != Opcode::kAdd || factors->opcode() != Opcode::kBroadcast ||
        !factors->has_one_user() || !factors->operand(0)->IsConstant() ||
        factors->operand(0)->shape().rank() != 1)
      continue;
    for (int k = 0; k < 2; ++k) {
      Instruction* conv = add->operand(k);
      Instruction* bias = add->operand(1 - k);
      if (conv->opcode() != Opcode::kConvolution || conv->operand_count() != 2 ||
          !conv->operand(1)->IsConstant() || !conv->has_one_user() || !bias->has_one_user())
        continue;
      const ConvDimNumbers& dims = conv->attrs<ConvolutionAttrs>().dim_labels;
      Instruction* kernel = conv->operand(1);
      if (factors->attrs<BroadcastAttrs>().dimensions != DimVec{dims.output_feature} ||
          kernel->shape().element_type() != conv->shape().element_type() ||
          kernel->shape().has_dynamic_dims() || conv->shape().has_dynamic_dims())
        continue;
      Instruction* wide = rewriter.Broadcast(factors->operand(0), kernel->shape().dims(),
                                             {dims.kernel_output_feature});
      Instruction* scaled =
          WithOperands(rewriter, conv, {conv->operand(0), rewriter.Multiply(kernel, wide)});
      return rewriter.Add(scaled, rewriter.Multiply(bias, factors));
    }
  }
  return nullptr;
}

// convolution(x, k) + broadcast(c) + broadcast(d)  =>  broadcast(c + d) + convolution(x, k), for
//     constants along the same dimensions
Instruction* TwiceBiasedConv(Instruction* add, Rewriter& rewriter) {
  const auto is_constant = [](const Instruction* x) {
    return x->opcode() == Opcode::kBroadcast && x->operand(0)->IsConstant();
  };
  for (int side = 0; side < 2; ++side) {
    Instruction* inner = add->operand(side);
    const Instruction* second = add->operand(1 - side);
    if (inner->opcode() != Opcode::kAdd || !is_constant(second)) continue;
    for (int k = 0; k < 2; ++k) {
      Instruction* conv = inner->operand(k);
      const Instruction* first = inner->operand(1 - k);
      if (conv->opcode() != Opcode::kConvolution || !is_constant(first) ||
          first->operand(0)->shape() != second->operand(0)->shape() ||
          !(first->attrs_ptr() == second->attrs_ptr()))
        continue;
      Instruction* sum = rewriter.Add(first->operand(0), second->operand(0));
      Instruction* wide =
          rewriter.OpWithShape(Opcode::kBroadcast, first->shape(), {sum}, first->attrs_ptr());
      return rewriter.Add(wide, conv);
    }
  }
  return nullptr;
}

constexpr Rule kScalarMultiplyRules[] = {
    {"convolution-of-scaled", Opcode::kConvolution, kReassociate, ConvOfScaled},
    {"scaled-convolution", Opcode::kMultiply, kReassociate, ScaledConv},
};
constexpr Rule kConvAddMultiplyRules[] = {
    {"scaled-biased-convolution", Opcode::kMultiply, kReassociate, ScaledBiasedConv}};
constexpr Rule kChainedConvAddRules[] = {
    {"twice-biased-convolution", Opcode::kAdd, kReassociate, TwiceBiasedConv}};

}  // namespace

std::span<const Rule> ScalarMultiplyRules() { return kScalarMultiplyRules; }
std::span<const Rule> ConvAddMultiplyRules() { return kConvAddMultiplyRules; }
std::span<const Rule> ChainedConvAddRules() { return kChainedConvAddRules; }

}  // namespace hlo::algsimp

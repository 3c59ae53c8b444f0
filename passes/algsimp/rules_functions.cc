// Rules rooted at abs, negate, exp, log, power, sqrt and rsqrt.
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

// |x|  =>  x, for x >= 0
template <bool kVariances>
Instruction* AbsOfNonNegative(Instruction* abs, Rewriter&) {
  Instruction* x = abs->operand(0);
  return IsNonNegative(x, kVariances) && Compatible(x->shape(), abs->shape()) ? x : nullptr;
}

// -(-x)  =>  x
Instruction* NegateTwice(Instruction* negate, Rewriter&) {
  Instruction* x;
  return Match(negate, m::Negate(m::Negate(m::Any(&x)))) ? x : nullptr;
}

// exp(0)  =>  1
Instruction* ExpZero(Instruction* exp, Rewriter& rewriter) {
  return Match(exp->operand(0), m::Zero()) ? rewriter.ConstantLike(exp, 1) : nullptr;
}

// log(exp(x))  =>  x
Instruction* LogOfExp(Instruction* log, Rewriter&) {
  Instruction* x;
  return Match(log, m::Log(m::Exp(m::Any(&x)))) ? x : nullptr;
}

// log(pow(a, b))  =>  select(b == 0, 0, log(|a|) * b)
Instruction* LogOfPower(Instruction* log, Rewriter& rewriter) {
  Instruction *a, *b;
  if (!Match(log, m::Log(m::Power(m::Any(&a), m::Any(&b))))) return nullptr;
  Instruction* base = IsComplex(log->shape().element_type()) ? a : rewriter.Abs(a);
  Instruction* is_zero = rewriter.Compare(b, rewriter.ZeroLike(b), ComparisonDirection::kEq);
  return rewriter.Select(is_zero, rewriter.ZeroLike(log), rewriter.Multiply(rewriter.Log(base), b));
}

// log(sqrt(a))  =>  log(a) * 0.5;  log(rsqrt(a))  =>  log(a) * -0.5
Instruction* LogOfRoot(Instruction* log, Rewriter& rewriter) {
  Instruction* a;
  if (Match(log, m::Log(m::Sqrt(m::Any(&a)))))
    return rewriter.Multiply(rewriter.Log(a), rewriter.ConstantLike(log, 0.5));
  if (Match(log, m::Log(m::Rsqrt(m::Any(&a)))))
    return rewriter.Multiply(rewriter.Log(a), rewriter.ConstantLike(log, -0.5));
  return nullptr;
}

// x ^ 0  =>  1;  x ^ 1  =>  x
Instruction* PowerTrivial(Instruction* power, Rewriter& rewriter) {
  if (Match(power->operand(1), m::Zero())) return rewriter.ConstantLike(power, 1);
  return Match(power->operand(1), m::One()) ? power->operand(0) : nullptr;
}

// Powers with other constant exponents.
Instruction* PowerConstant(Instruction* power, Rewriter& rewriter) {
  Instruction* x = power->operand(0);
  Instruction* c = power->operand(1);
  if (Match(c, m::Splat(2))) return rewriter.Multiply(x, x);
  if (Match(c, m::Splat(3))) return rewriter.Multiply(x, rewriter.Multiply(x, x));
  // Of integers, 0 ^ -1 is 0, but 1 / 0 is -1. (XLA rewrites them, too.)
  if (Match(c, m::Splat(-1)) && !IsIntegral(x))
    return rewriter.Divide(rewriter.ConstantLike(x, 1), x);
  return nullptr;
}

// x ^ 0.5  =>  sqrt(x), for x >= 0
template <bool kVariances>
Instruction* PowerOfHalf(Instruction* power, Rewriter& rewriter) {
  Instruction* x = power->operand(0);
  return Match(power->operand(1), m::Splat(0.5)) && IsNonNegative(x, kVariances) ? rewriter.Sqrt(x)
                                                                                 : nullptr;
}

// exp(a) ^ b  =>  exp(a * b)
Instruction* PowerOfExp(Instruction* power, Rewriter& rewriter) {
  Instruction *a, *b;
  if (!Match(power, m::Power(m::Exp(m::Any(&a)), m::Any(&b)))) return nullptr;
  return rewriter.Exp(rewriter.Multiply(a, b));
}

// rsqrt(pow(a, -2))  =>  a;  rsqrt(1 / a)  =>  sqrt(a), for a >= 0
template <bool kVariances>
Instruction* RsqrtInverse(Instruction* rsqrt, Rewriter& rewriter) {
  Instruction* a;
  if (Match(rsqrt, m::Rsqrt(m::Power(m::Any(&a), m::Splat(-2)))))
    return IsNonNegative(a, kVariances) ? a : nullptr;
  if (Match(rsqrt, m::Rsqrt(m::Divide(m::One(), m::Any(&a)))))
    return IsNonNegative(a, kVariances) ? rewriter.Sqrt(a) : nullptr;
  return nullptr;
}

// sqrt(a * a)  =>  |a|
Instruction* SqrtOfSquare(Instruction* sqrt, Rewriter& rewriter) {
  Instruction* a;
  if (!Match(sqrt, m::Sqrt(m::Multiply(m::Any(&a), m::Same(&a))))) return nullptr;
  Instruction* abs = rewriter.Abs(a);
  return IsComplex(sqrt->shape().element_type())
             ? rewriter.Convert(abs, sqrt->shape().element_type())
             : abs;
}

constexpr Rule kFunctionRules[] = {
    {"abs-of-non-negative", Opcode::kAbs, kExact, AbsOfNonNegative<false>},
    {"negate-twice", Opcode::kNegate, kExact, NegateTwice},
    {"exp-zero", Opcode::kExp, kExact, ExpZero},
    {"log-of-power", Opcode::kLog, kReassociate, LogOfPower},
    {"log-of-root", Opcode::kLog, kReassociate, LogOfRoot},
    {"power-trivial", Opcode::kPower, kExceptSpecials, PowerTrivial},
    {"power-of-exp", Opcode::kPower, kReassociate, PowerOfExp},
    {"power-constant", Opcode::kPower, kReassociate, PowerConstant},
    {"power-of-half", Opcode::kPower, kReassociate, PowerOfHalf<false>},
    {"rsqrt-inverse", Opcode::kRsqrt, kReassociate, RsqrtInverse<false>},
};
constexpr Rule kVarianceFunctionRules[] = {
    {"abs-of-variance", Opcode::kAbs, kExact, AbsOfNonNegative<true>},
    {"power-of-half-of-variance", Opcode::kPower, kReassociate, PowerOfHalf<true>},
    {"rsqrt-inverse-of-variance", Opcode::kRsqrt, kReassociate, RsqrtInverse<true>},
};
constexpr Rule kFastFunctionRules[] = {
    {"log-of-exp", Opcode::kLog, kReassociate, LogOfExp},
    {"sqrt-of-square", Opcode::kSqrt, kReassociate, SqrtOfSquare},
};

}  // namespace

std::span<const Rule> FunctionRules() { return kFunctionRules; }
std::span<const Rule> FastFunctionRules() { return kFastFunctionRules; }
std::span<const Rule> VarianceFunctionRules() { return kVarianceFunctionRules; }

}  // namespace hlo::algsimp

#include <bit>
#include <cmath>

#include "passes/algsimp/rules.h"

namespace hlo::algsimp {

Instruction* ScalarConstant(Instruction* x) {
  while (x->opcode() == Opcode::kBroadcast && x->operand(0)->shape().IsEffectiveScalar())
    x = x->operand(0);
  if (!x->IsConstant() || !x->shape().IsArray() || !x->shape().IsEffectiveScalar() ||
      x->literal().is_elided())
    return nullptr;
  return x;
}

bool IsConstantOrSplat(const Instruction* x) {
  if (x->IsConstant()) return !x->literal().is_elided();
  return ScalarConstant(const_cast<Instruction*>(x)) != nullptr;
}

Instruction* CombineConstants(Rewriter& rewriter, Opcode opcode, Instruction* a, Instruction* b) {
  if (a->IsConstant() && b->IsConstant()) {
    if (!Compatible(a->shape(), b->shape())) return nullptr;
    return rewriter.Op(opcode, {a, b});
  }
  if (a->opcode() != Opcode::kBroadcast || b->opcode() != Opcode::kBroadcast) return nullptr;
  Instruction* x = ScalarConstant(a);
  Instruction* y = ScalarConstant(b);
  if (x == nullptr || y == nullptr || !Compatible(x->shape(), y->shape()) || !x->shape().IsScalar())
    return nullptr;
  return rewriter.OpWithShape(Opcode::kBroadcast, a->shape(), {rewriter.Op(opcode, {x, y})});
}

Instruction* BroadcastLike(Rewriter& rewriter, Instruction* scalar, const Instruction* like) {
  if (SameDimensions(scalar->shape(), like->shape())) return scalar;
  if (!scalar->shape().IsScalar()) scalar = rewriter.Reshape(scalar, {});
  return rewriter.OpWithShape(
      Opcode::kBroadcast, like->shape().WithElementType(scalar->shape().element_type()), {scalar});
}

Instruction* BroadcastAs(Rewriter& rewriter, Instruction* x, const Instruction* broadcast) {
  return rewriter.OpWithShape(Opcode::kBroadcast,
                              broadcast->shape().WithElementType(x->shape().element_type()), {x},
                              broadcast->attrs_ptr());
}

Instruction* SplatOf(Rewriter& rewriter, ElementType type, double value, const Instruction* like) {
  return BroadcastLike(rewriter, rewriter.ScalarConstant(type, value), like);
}

bool IsIntegral(const Instruction* x) {
  return x->shape().IsArray() && IsInteger(x->shape().element_type());
}

bool IsFloating(const Instruction* x) {
  return x->shape().IsArray() && IsFloat(x->shape().element_type());
}

namespace {

constexpr int kMaxSignDepth = 16;

bool IsSignedInteger(const Instruction* x) { return IsSigned(x->shape().element_type()); }

bool ReadsComplex(const Instruction* x) {
  return absl::c_any_of(x->operands(), [](const Instruction* operand) {
    return IsComplex(operand->shape().element_type());
  });
}

// cuDNN's batch normalization for training gives the variance as its third result.
bool IsVariance(const Instruction* x) {
  return x->opcode() == Opcode::kGetTupleElement && x->tuple_index() == 2 &&
         x->operand(0)->opcode() == Opcode::kCustomCall &&
         std::string_view(x->operand(0)->attrs<CustomCallAttrs>().custom_call_target) ==
             kBatchNormTrainingTarget;
}

bool IsPositiveAt(const Instruction* x, int depth, bool variances);

bool IsNonNegativeAt(const Instruction* x, int depth, bool variances) {
  if (depth > kMaxSignDepth || !x->shape().IsArray() || IsComplex(x->shape().element_type()) ||
      ReadsComplex(x))
    return false;
  const auto holds = [&](int i) { return IsNonNegativeAt(x->operand(i), depth + 1, variances); };
  const Opcode opcode = x->opcode();
  if (opcode == Opcode::kMultiply) return x->operand(0) == x->operand(1) && !IsSignedInteger(x);
  if (opcode == Opcode::kExp) return true;
  if (opcode == Opcode::kIota) {
    if (!IsSignedInteger(x)) return true;
    const int bits = BitWidth(x->shape().element_type());
    const int64_t size = x->shape().dim(static_cast<int>(x->attrs<IotaAttrs>().iota_dimension));
    return bits >= 64 || size <= (int64_t{1} << (bits - 1));
  }
  if (opcode == Opcode::kAbs) return !IsSignedInteger(x) || holds(0);
  if (opcode == Opcode::kBroadcast) return holds(0);
  if (opcode == Opcode::kConstant) {
    const Instruction* scalar = ScalarConstant(const_cast<Instruction*>(x));
    if (scalar == nullptr) return false;
    const double value = scalar->literal().GetDouble();
    return !std::isnan(value) && !std::signbit(value);
  }
  if (opcode == Opcode::kMaximum) return holds(0) || holds(1);
  if (opcode == Opcode::kMinimum) return holds(0) && holds(1);
  if (opcode == Opcode::kPower) return !IsSignedInteger(x) && holds(0);
  if (opcode == Opcode::kSelect) return holds(1) && holds(2);
  return IsPositiveAt(x, depth + 1, variances);
}

bool IsPositiveAt(const Instruction* x, int depth, bool variances) {
  if (depth > kMaxSignDepth || ReadsComplex(x)) return false;
  const auto holds = [&](int i) { return IsPositiveAt(x->operand(i), depth + 1, variances); };
  const Opcode opcode = x->opcode();
  if (opcode == Opcode::kPower) return !IsSignedInteger(x) && holds(0);
  if (opcode == Opcode::kAbs || opcode == Opcode::kRsqrt || opcode == Opcode::kSqrt)
    return holds(0);
  if (opcode == Opcode::kMultiply)
    return x->operand(0) == x->operand(1) && !IsSignedInteger(x) && holds(0);
  return variances && IsVariance(x);
}

}  // namespace

bool IsNonNegative(const Instruction* x, bool variances) {
  return IsNonNegativeAt(x, 0, variances);
}

std::optional<int64_t> PowerOfTwo(Instruction* x) {
  const Instruction* scalar = ScalarConstant(x);
  if (scalar == nullptr || !IsInteger(scalar->shape().element_type())) return std::nullopt;
  const int64_t value = scalar->literal().GetInt();
  const auto bits = static_cast<uint64_t>(value);
  if (value == 0 || (bits & (bits - 1)) != 0) return std::nullopt;
  if (IsSigned(scalar->shape().element_type()) && value < 0) return std::nullopt;
  return std::countr_zero(bits);
}

DimVec DimsWithout(absl::Span<const int64_t> dims, absl::Span<const int64_t> positions) {
  DimVec result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!absl::c_linear_search(positions, static_cast<int64_t>(i))) result.push_back(dims[i]);
  }
  return result;
}

bool HasSize1Only(Shape shape, const DimVec& dims) {
  return absl::c_all_of(dims, [&](int64_t dim) { return shape.dim(static_cast<int>(dim)) == 1; });
}

std::optional<DegenerateReshape> MatchDegenerate(const Instruction* reshape) {
  const auto from = reshape->operand(0)->shape().dims();
  const auto to = reshape->shape().dims();
  DegenerateReshape result;
  size_t i = 0;
  size_t k = 0;
  while (i < from.size() || k < to.size()) {
    if (i < from.size() && k < to.size() && from[i] == to[k]) {
      ++i;
      ++k;
    } else if (k < to.size() && to[k] == 1) {
      result.inserted.push_back(static_cast<int64_t>(k++));
    } else if (i < from.size() && from[i] == 1) {
      result.removed.push_back(static_cast<int64_t>(i++));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

DimVec UnmodifiedDims(Shape from, Shape to) {
  DimVec result(static_cast<size_t>(from.rank()), -1);
  const auto factors = CommonFactors(from.dims(), to.dims());
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    if (factors[i + 1].first - factors[i].first == 1 &&
        factors[i + 1].second - factors[i].second == 1)
      result[static_cast<size_t>(factors[i].first)] = factors[i].second;
  }
  return result;
}

}  // namespace hlo::algsimp

#include "passes/gpu/layer_norm_pattern.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/types/memory_order.h"

namespace hlo {
namespace {

bool IsNormReshape(const Instruction& x) {
  if (x.opcode() != Opcode::kReshape && x.opcode() != Opcode::kBitcast) return false;
  const Shape from = x.operand(0)->shape();
  if (!from.IsArray() || SizesAboveOne(from) != SizesAboveOne(x.shape())) return false;
  if (x.opcode() == Opcode::kReshape) return true;
  // A bitcast of other layouts moves elements.
  return from.element_type() == x.shape().element_type() && LiesRowMajor(from) &&
         LiesRowMajor(x.shape());
}

bool IsNormConvert(const Instruction& x) {
  return x.opcode() == Opcode::kConvert && IsNormType(x.shape().element_type()) &&
         IsNormType(x.operand(0)->shape().element_type());
}

// Whether `broadcast` puts its operand along `along`, in their order.
bool IsBroadcastAlong(const Instruction& broadcast, const NormDims& dims, const DimVec& along) {
  const DimVec& kept = broadcast.attrs<BroadcastAttrs>().dimensions;
  return absl::c_is_sorted(kept) && SizesAboveOne(broadcast.shape()) == dims.sizes &&
         DimsAboveOne(broadcast.shape(), kept) == along;
}

// n is what a sum has added up.
struct Mean {
  Instruction* mean;
  Instruction* of;
  NormDims dims;
  DimVec summed;  // dimensions of `of`
};

// The dimensions of `of` that `sum` adds up, also those of one element if `of` has them where its
// operand does.
DimVec SummedDims(const Instruction& sum, Shape of, const NormDims& dims) {
  const auto& reduced = sum.attrs<ReduceAttrs>().dimensions;
  if (SameDimensions(sum.operand(0)->shape(), of)) return {reduced.begin(), reduced.end()};
  DimVec result;
  int64_t next = 0;
  for (int d = 0; d < of.rank(); ++d) {
    if (of.dim(d) == 1) continue;
    if (absl::c_linear_search(dims.features, next++)) result.push_back(d);
  }
  return result;
}

// sum · 1/n, sum / n, perhaps broadcast to all elements
std::optional<Mean> FindMean(Instruction* x) {
  x = Plain(x);
  const Instruction* const broadcast = x->opcode() == Opcode::kBroadcast ? x : nullptr;
  if (broadcast != nullptr) x = Plain(x->operand(0));
  const bool is_divided = x->opcode() == Opcode::kDivide;
  if (!is_divided && x->opcode() != Opcode::kMultiply) return std::nullopt;
  int side = 0;
  if (!is_divided && !IsSum(*Plain(x->operand(0)))) side = 1;
  const Instruction& sum = *Plain(x->operand(side));
  const std::optional<double> factor = NumberOf(x->operand(1 - side));
  if (!IsSum(sum) || !factor) return std::nullopt;
  Mean result = {x, Plain(sum.operand(0)), {}, {}};
  const Shape shape = sum.operand(0)->shape();
  result.dims.sizes = SizesAboveOne(shape);
  result.dims.features = DimsAboveOne(shape, sum.attrs<ReduceAttrs>().dimensions);
  double count = 1;
  for (size_t d = 0; d < result.dims.sizes.size(); ++d) {
    if (absl::c_linear_search(result.dims.features, static_cast<int64_t>(d))) {
      count *= static_cast<double>(result.dims.sizes[d]);
    } else {
      result.dims.rows.push_back(static_cast<int64_t>(d));
    }
  }
  const bool fits =
      IsRoundedFrom(*factor, is_divided ? count : 1 / count, x->shape().element_type());
  if (!fits ||
      (broadcast != nullptr && !IsBroadcastAlong(*broadcast, result.dims, result.dims.rows)))
    return std::nullopt;
  result.summed = SummedDims(sum, result.of->shape(), result.dims);
  return result;
}

Instruction* SquareOf(Instruction* x) {
  x = Plain(x);
  return x->opcode() == Opcode::kMultiply && x->operand(0) == x->operand(1) ? x->operand(0)
                                                                            : nullptr;
}

// Finds out what is normalised with the first mean it meets; all later parts have to fit it.
class Finder {
 public:
  const LayerNorm& norm() const { return norm_; }

  // mean(x)
  bool IsMean(Instruction* value) {
    const std::optional<Mean> mean = FindMean(value);
    if (!mean) return false;
    if (norm_.x == nullptr) {
      norm_.x = mean->of;
      norm_.dims = mean->dims;
      norm_.summed = mean->summed;
      norm_.mean = mean->mean;
    }
    return norm_.x == mean->of && norm_.dims == mean->dims;
  }
  // x - mean(x)
  bool IsCentred(Instruction* value) {
    value = Plain(value);
    return value->opcode() == Opcode::kSubtract && IsMean(value->operand(1)) &&
           IsX(value->operand(0));
  }
  bool IsX(Instruction* value) const { return Plain(value) == norm_.x; }

  // rsqrt(variance + epsilon)
  bool IsFactor(Instruction* value) {
    Instruction* const rsqrt = PlainRows(value, norm_.dims);
    if (rsqrt->opcode() != Opcode::kRsqrt) return false;
    Instruction* const sum = PlainRows(rsqrt->operand(0), norm_.dims);
    if (sum->opcode() != Opcode::kAdd) return false;
    for (const int side : {0, 1}) {
      const std::optional<double> epsilon = NumberOf(sum->operand(side));
      Instruction* const variance = PlainRows(sum->operand(1 - side), norm_.dims);
      if (!epsilon || !IsVariance(variance)) continue;
      if (norm_.factor == nullptr) {
        norm_.factor = rsqrt;
        norm_.epsilon = *epsilon;
        norm_.variance = variance;
      }
      return norm_.factor == rsqrt;
    }
    return false;
  }
  bool IsScale(Instruction* value) { return IsFeatures(value, norm_.scale); }
  bool IsBias(Instruction* value) { return IsFeatures(value, norm_.bias); }

 private:
  bool IsVariance(Instruction* variance) {
    if (variance->opcode() == Opcode::kSubtract) {
      Instruction* const square = SquareOf(PlainRows(variance->operand(1), norm_.dims));
      return square != nullptr && IsMean(square) &&
             IsMeanOfSquare(variance->operand(0), /*is_centred=*/false);
    }
    return IsMeanOfSquare(variance, /*is_centred=*/true);
  }
  bool IsMeanOfSquare(Instruction* value, bool is_centred) {
    const std::optional<Mean> mean = FindMean(value);
    if (!mean || mean->dims != norm_.dims) return false;
    Instruction* const root = SquareOf(mean->of);
    return root != nullptr && (is_centred ? IsCentred(root) : IsX(root));
  }
  bool IsFeatures(Instruction* value, Instruction*& known) {
    Instruction* const features = FeaturesOf(value, norm_.dims);
    if (features == nullptr) return false;
    if (known == nullptr) known = features;
    return known == features;
  }

  LayerNorm norm_;
};

using Permutation = std::array<size_t, 3>;
constexpr Permutation kPermutations[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

// Whether a product has the three factors `first`, which tells what is normalised, the factor and
// the scale.
bool IsScaledProduct(Instruction* product, bool (Finder::*first)(Instruction*), Finder& finder) {
  for (const auto& factors : ThreeOperands(product, Opcode::kMultiply)) {
    for (const Permutation& at : kPermutations) {
      Finder attempt = finder;
      if (!(attempt.*first)(factors[at[0]]) || !attempt.IsFactor(factors[at[1]]) ||
          !attempt.IsScale(factors[at[2]]))
        continue;
      finder = attempt;
      return true;
    }
  }
  return false;
}

bool IsXAgain(Instruction* product, Finder& finder) {
  for (const auto& factors : ThreeOperands(product, Opcode::kMultiply)) {
    for (const Permutation& at : kPermutations) {
      if (finder.IsX(factors[at[0]]) && finder.IsFactor(factors[at[1]]) &&
          finder.IsScale(factors[at[2]]))
        return true;
    }
  }
  return false;
}

// (x - mean) · factor · scale + bias
bool IsCentredForm(Instruction* y, Finder& finder) {
  if (y->opcode() != Opcode::kAdd) return false;
  for (const int side : {0, 1}) {
    Finder attempt;
    if (!IsScaledProduct(y->operand(side), &Finder::IsCentred, attempt) ||
        !attempt.IsBias(y->operand(1 - side)))
      continue;
    finder = attempt;
    return true;
  }
  return false;
}

// A sum of two values, of which one is subtracted from a third: `added` less `subtracted`.
struct Difference {
  std::array<Instruction*, 2> added;
  Instruction* subtracted;
};
std::vector<Difference> DifferencesOf(Instruction* y) {
  std::vector<Difference> result;
  if (y->opcode() == Opcode::kSubtract) {
    const Instruction& sum = *Plain(y->operand(0));
    if (sum.opcode() == Opcode::kAdd)
      result.push_back({{sum.operand(0), sum.operand(1)}, y->operand(1)});
    return result;
  }
  for (const int side : {0, 1}) {
    const Instruction& difference = *Plain(y->operand(side));
    if (difference.opcode() == Opcode::kSubtract)
      result.push_back({{difference.operand(0), y->operand(1 - side)}, difference.operand(1)});
  }
  return result;
}

// x · factor · scale - mean · factor · scale + bias
bool IsMultipliedForm(Instruction* y, Finder& finder) {
  for (const Difference& parts : DifferencesOf(y)) {
    Finder of_mean;
    if (!IsScaledProduct(parts.subtracted, &Finder::IsMean, of_mean)) continue;
    for (const size_t side : {0u, 1u}) {
      Finder attempt = of_mean;
      if (!IsXAgain(parts.added[side], attempt) || !attempt.IsBias(parts.added[1 - side])) continue;
      finder = attempt;
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsNormType(ElementType type) {
  return type == ElementType::kBF16 || type == ElementType::kF16 || type == ElementType::kF32;
}

Instruction* Plain(Instruction* x) {
  while (IsNormConvert(*x) || IsNormReshape(*x)) x = x->operand(0);
  return x;
}

Instruction* PlainRows(Instruction* x, const NormDims& dims) {
  x = Plain(x);
  if (x->opcode() != Opcode::kBroadcast || !IsBroadcastAlong(*x, dims, dims.rows)) return x;
  return Plain(x->operand(0));
}

Instruction* FeaturesOf(Instruction* x, const NormDims& dims) {
  x = Plain(x);
  const bool fits = x->opcode() == Opcode::kBroadcast && IsBroadcastAlong(*x, dims, dims.features);
  return fits ? x->operand(0) : nullptr;
}

DimVec SizesAboveOne(Shape shape) {
  DimVec sizes;
  for (const int64_t size : shape.dims()) {
    if (size != 1) sizes.push_back(size);
  }
  return sizes;
}

DimVec DimsAboveOne(Shape shape, const DimVec& dims) {
  DimVec result;
  int64_t next = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == 1) continue;
    if (absl::c_linear_search(dims, d)) result.push_back(next);
    ++next;
  }
  return result;
}

bool IsSum(const Instruction& x) {
  if (x.opcode() != Opcode::kReduce || x.operand_count() != 2) return false;
  const Instruction &init = *x.operand(1), &root = *x.to_apply()->root();
  return init.IsConstant() && !init.literal().is_elided() && init.literal().GetDouble() == 0 &&
         root.opcode() == Opcode::kAdd && root.operand(0)->opcode() == Opcode::kParameter &&
         root.operand(1)->opcode() == Opcode::kParameter && root.operand(0) != root.operand(1);
}

std::optional<double> NumberOf(Instruction* x) {
  x = Plain(x);
  if (x->opcode() == Opcode::kBroadcast) x = Plain(x->operand(0));
  if (!x->IsConstant() || !x->shape().IsEffectiveScalar() || x->literal().is_elided() ||
      !IsNormType(x->shape().element_type()))
    return std::nullopt;
  return x->literal().GetDouble();
}

bool IsRoundedFrom(double value, double wanted, ElementType type, int roundings) {
  const double error = type == ElementType::kBF16  ? 0x1p-7
                       : type == ElementType::kF16 ? 0x1p-10
                                                   : 0x1p-22;
  return std::abs(value - wanted) <= roundings * error * std::abs(wanted);
}

std::vector<std::array<Instruction*, 3>> ThreeOperands(Instruction* x, Opcode opcode) {
  std::vector<std::array<Instruction*, 3>> result;
  x = Plain(x);
  if (x->opcode() != opcode) return result;
  for (const int side : {0, 1}) {
    const Instruction& inner = *Plain(x->operand(side));
    if (inner.opcode() == opcode)
      result.push_back({x->operand(1 - side), inner.operand(0), inner.operand(1)});
  }
  return result;
}

std::optional<LayerNorm> FindLayerNorm(Instruction* y) {
  Finder finder;
  if (!IsCentredForm(y, finder) && !IsMultipliedForm(y, finder)) return std::nullopt;
  return finder.norm();
}

bool IsVarianceAndEpsilon(const LayerNorm& norm, Instruction* x) {
  x = PlainRows(x, norm.dims);
  if (x->opcode() != Opcode::kAdd) return false;
  return absl::c_any_of(std::array{0, 1}, [&](int side) {
    return PlainRows(x->operand(side), norm.dims) == norm.variance &&
           NumberOf(x->operand(1 - side)) == norm.epsilon;
  });
}

}  // namespace hlo

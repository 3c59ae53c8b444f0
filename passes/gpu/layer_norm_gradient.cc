#include "passes/gpu/layer_norm_gradient.h"

#include <algorithm>
#include <array>

namespace hlo {
namespace {

// How far below the gradient of y its sums over rows are looked for.
constexpr int kDepthOfSums = 6;
// Constants in a row, each of which is rounded.
constexpr int kRoundings = 4;

double FeatureCount(const NormDims& dims) {
  double count = 1;
  for (const int64_t d : dims.features)
    count *= static_cast<double>(dims.sizes[static_cast<size_t>(d)]);
  return count;
}

// The parts that a gradient is made of, of one call and one gradient of y.
class GradientParts {
 public:
  GradientParts(const NormCall& norm, Instruction* dy) : norm_(norm), dy_(Plain(dy)) {}
  Instruction* dy() const { return dy_; }

  bool IsFactor(Instruction* x) const { return Rows(x) == Plain(norm_.factor); }
  bool IsScale(Instruction* x) const {
    Instruction* const features = FeaturesOf(x, norm_.dims);
    return features != nullptr && Plain(features) == Plain(norm_.scale);
  }
  bool IsCentred(Instruction* x) const {
    x = Plain(x);
    return x->opcode() == Opcode::kSubtract && Plain(x->operand(0)) == norm_.x &&
           Rows(x->operand(1)) == Plain(norm_.mean);
  }
  bool IsSumOver(const Instruction& x, const DimVec& dims) const {
    const Shape shape = IsSum(x) ? x.operand(0)->shape() : Shape();
    return IsSum(x) && SizesAboveOne(shape) == norm_.dims.sizes &&
           DimsAboveOne(shape, x.attrs<ReduceAttrs>().dimensions) == dims;
  }

  // A product as a number and how often it has each part.
  struct Product {
    double number = 1;
    int factors = 0, scales = 0, centred = 0, gradients = 0;
    int sums = 0;  // over features of centred · scale · dy
    bool is_known = true;
    bool Is(int of_factors, int of_scales, int of_centred, int of_gradients, int of_sums) const {
      return is_known && factors == of_factors && scales == of_scales && centred == of_centred &&
             gradients == of_gradients && sums == of_sums;
    }
  };
  Product ProductOf(Instruction* x) const {
    Product product;
    Multiply(x, product);
    return product;
  }

  // factor · scale · dy
  bool IsF2(const Product& product, double number) const {
    return product.Is(1, 1, 0, 1, 0) && IsNumber(product.number, number);
  }
  // centred · factor³ · sum · -1/n
  bool IsF1(const Product& product, double number) const {
    return product.Is(3, 0, 1, 0, 1) &&
           IsNumber(product.number, -number / FeatureCount(norm_.dims));
  }
  bool IsNumber(double value, double wanted) const {
    return IsRoundedFrom(value, wanted, norm_.factor->shape().element_type(), kRoundings);
  }

  // -1/n · (sum over features(f1) + sum over features(f2)), of each row
  bool IsMeanOfBoth(Instruction* x) const {
    x = Plain(x);
    if (x->opcode() != Opcode::kBroadcast || Rows(x) == x) return false;
    std::vector<Product> terms;
    return AddTerms(Rows(x), 1, terms) && terms.size() == 2 &&
           (IsMeanOf(terms[0], terms[1]) || IsMeanOf(terms[1], terms[0]));
  }

 private:
  Instruction* Rows(Instruction* x) const { return PlainRows(x, norm_.dims); }

  bool IsMeanOf(const Product& f1, const Product& f2) const {
    const double number = -1 / FeatureCount(norm_.dims);
    return IsF1(f1, number) && IsF2(f2, number);
  }

  void Multiply(Instruction* x, Product& product) const {
    x = Plain(x);
    if (x == dy_) {
      ++product.gradients;
    } else if (IsScale(x)) {
      ++product.scales;
    } else if (IsFactor(x)) {
      ++product.factors;
    } else if (IsCentred(x)) {
      ++product.centred;
    } else if (const std::optional<double> number = NumberOf(x)) {
      product.number *= *number;
    } else if (Rows(x) != x) {
      Multiply(Rows(x), product);
    } else if (x->opcode() == Opcode::kNegate) {
      product.number = -product.number;
      Multiply(x->operand(0), product);
    } else if (x->opcode() == Opcode::kMultiply) {
      Multiply(x->operand(0), product);
      Multiply(x->operand(1), product);
    } else if (IsSumOver(*x, norm_.dims.features)) {
      const Product summed = ProductOf(x->operand(0));
      product.is_known = product.is_known && summed.Is(0, 1, 1, 1, 0);
      product.number *= summed.number;
      ++product.sums;
    } else {
      product.is_known = false;
    }
  }

  // The products of which `x` adds up sums over features, each times a number.
  bool AddTerms(Instruction* x, double number, std::vector<Product>& terms) const {
    x = Plain(x);
    if (x->opcode() == Opcode::kNegate) return AddTerms(x->operand(0), -number, terms);
    if (x->opcode() == Opcode::kAdd)
      return AddTerms(x->operand(0), number, terms) && AddTerms(x->operand(1), number, terms);
    if (x->opcode() == Opcode::kMultiply) {
      for (const int side : {0, 1}) {
        if (const std::optional<double> by = NumberOf(x->operand(side)))
          return AddTerms(x->operand(1 - side), number * *by, terms);
      }
      return false;
    }
    if (terms.size() == 2 || !IsSumOver(*x, norm_.dims.features)) return false;
    terms.push_back(ProductOf(x->operand(0)));
    terms.back().number *= number;
    return true;
  }

  const NormCall& norm_;
  Instruction* dy_;
};

// The sums over rows below dy that are the gradients of scale and bias.
void FindSums(const Instruction& above, const NormCall& norm, const GradientParts& parts, int depth,
              LayerNormGradient& gradient) {
  if (depth == 0) return;
  for (Instruction* user : above.users()) {
    if (parts.IsSumOver(*user, norm.dims.rows)) {
      const GradientParts::Product product = parts.ProductOf(user->operand(0));
      if (product.number != 1) continue;
      if (product.Is(1, 0, 1, 1, 0) && gradient.dscale == nullptr) gradient.dscale = user;
      if (product.Is(0, 0, 0, 1, 0) && gradient.dbias == nullptr) gradient.dbias = user;
    } else if (user->opcode() == Opcode::kMultiply || Plain(user) != user) {
      FindSums(*user, norm, parts, depth - 1, gradient);
    }
  }
}

// The call and dy of which `x` is factor · scale · dy.
std::optional<LayerNormGradient> FindF2(Instruction* x, std::span<const NormCall> calls) {
  for (const auto& three : ThreeOperands(x, Opcode::kMultiply)) {
    for (const NormCall& norm : calls) {
      for (size_t dy = 0; dy < three.size(); ++dy) {
        const GradientParts parts(norm, three[dy]);
        Instruction *const a = three[(dy + 1) % 3], *const b = three[(dy + 2) % 3];
        if ((parts.IsFactor(a) && parts.IsScale(b)) || (parts.IsFactor(b) && parts.IsScale(a)))
          return LayerNormGradient{&norm, parts.dy(), nullptr, nullptr};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<LayerNormGradient> FindLayerNormGradient(Instruction* dx,
                                                       std::span<const NormCall> calls) {
  if (calls.empty()) return std::nullopt;
  for (const auto& terms : ThreeOperands(dx, Opcode::kAdd)) {
    for (size_t i = 0; i < terms.size(); ++i) {
      std::optional<LayerNormGradient> gradient = FindF2(terms[i], calls);
      if (!gradient) continue;
      const GradientParts parts(*gradient->of, gradient->dy);
      Instruction *const a = terms[(i + 1) % 3], *const b = terms[(i + 2) % 3];
      const bool fits = (parts.IsF1(parts.ProductOf(a), 1) && parts.IsMeanOfBoth(b)) ||
                        (parts.IsF1(parts.ProductOf(b), 1) && parts.IsMeanOfBoth(a));
      if (!fits) continue;
      FindSums(*gradient->dy, *gradient->of, parts, kDepthOfSums, *gradient);
      return gradient;
    }
  }
  return std::nullopt;
}

}  // namespace hlo

#include "passes/expand/dot_algorithm_rewriter.h"

#include <limits>

namespace hlo {
namespace {

// The products of parts (of lhs, of rhs; 0 is the largest), from the smallest to the largest.
struct PartProduct {
  int lhs;
  int rhs;
};
struct SplitAlgorithm {
  DotAlgorithm algorithm;
  DotAlgorithm of_products;
  ElementType type;  // of the parts
  uint32_t mask;     // the bits of an f32 that a part holds
  int parts;
  std::vector<PartProduct> products;
};

constexpr uint32_t kHighBf16 = 0xFFFF0000;
constexpr uint32_t kHighTf32 = 0xFFFFE000;  // parts are f32 of which the product reads so many bits

const SplitAlgorithm* FindSplit(DotAlgorithm algorithm) {
  constexpr DotAlgorithm kBf16 = DotAlgorithm::kBF16BF16F32;
  static const std::vector<SplitAlgorithm> table = {
      {DotAlgorithm::kBF16BF16F32X3,
       kBf16,
       ElementType::kBF16,
       kHighBf16,
       2,
       {{1, 0}, {0, 1}, {0, 0}}},
      {DotAlgorithm::kBF16BF16F32X6,
       kBf16,
       ElementType::kBF16,
       kHighBf16,
       3,
       {{1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}}},
      {DotAlgorithm::kBF16BF16F32X9,
       kBf16,
       ElementType::kBF16,
       kHighBf16,
       3,
       {{2, 2}, {1, 2}, {2, 1}, {1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}}},
      {DotAlgorithm::kTF32TF32F32X3,
       DotAlgorithm::kTF32TF32F32,
       ElementType::kF32,
       kHighTf32,
       2,
       {{1, 0}, {0, 1}, {0, 0}}},
  };
  for (const SplitAlgorithm& row : table) {
    if (row.algorithm == algorithm) return &row;
  }
  return nullptr;
}

// x with its low bits cleared: what a part holds of it, rounded to zero.
Instruction* Truncated(Instruction* x, uint32_t bits_kept, Rewriter& rewriter) {
  const Shape bits = x->shape().WithElementType(ElementType::kU32);
  Instruction* words = rewriter.BitcastConvert(x, bits);
  Instruction* mask = rewriter.ConstantLike(words, static_cast<double>(bits_kept));
  return rewriter.BitcastConvert(rewriter.And(words, mask), x->shape());
}

// x as a sum of parts, the largest first.
std::vector<Instruction*> SplitInParts(Instruction* x, const SplitAlgorithm& split,
                                       Rewriter& rewriter) {
  const auto part = [&](Instruction* value) {
    return split.type == ElementType::kF32 ? value : rewriter.Convert(value, split.type);
  };
  std::vector<Instruction*> result;
  for (int i = 0; i + 1 < split.parts; ++i) {
    Instruction* high = Truncated(x, split.mask, rewriter);
    result.push_back(part(high));
    x = rewriter.Subtract(x, high);
  }
  result.push_back(part(x));
  return result;
}

// x, with 0 for NaN.
Instruction* WithoutNan(Instruction* x, Rewriter& rewriter) {
  Instruction* most = rewriter.ConstantLike(x, std::numeric_limits<double>::infinity());
  Instruction* is_number = rewriter.Compare(most, rewriter.Abs(x), ComparisonDirection::kGe);
  return rewriter.Select(is_number, x, rewriter.ZeroLike(x));
}

}  // namespace

bool DotAlgorithmRewriter::Matches(const Instruction& instruction) const {
  if (instruction.operand_count() != 2 ||
      FindSplit(instruction.attrs<DotAttrs>().algorithm) == nullptr ||
      instruction.shape().element_type() != ElementType::kF32)
    return false;
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().element_type() != ElementType::kF32) return false;
  }
  return true;
}

absl::StatusOr<Instruction*> DotAlgorithmRewriter::Expand(Instruction* dot, Rewriter& rewriter) {
  DotAttrs attrs = dot->attrs<DotAttrs>();
  const SplitAlgorithm& split = *FindSplit(attrs.algorithm);
  attrs.algorithm = split.of_products;
  const AttrsPtr shared = AttrsPtr::Make(std::move(attrs));
  const std::vector<Instruction*> lhs = SplitInParts(dot->operand(0), split, rewriter);
  const std::vector<Instruction*> rhs = SplitInParts(dot->operand(1), split, rewriter);
  Instruction* sum = nullptr;
  for (const PartProduct& product : split.products) {
    const bool is_largest = product.lhs == 0 && product.rhs == 0;
    if (is_largest) sum = WithoutNan(sum, rewriter);
    Instruction* next = rewriter.OpWithShape(
        Opcode::kDot, dot->shape(),
        {lhs[static_cast<size_t>(product.lhs)], rhs[static_cast<size_t>(product.rhs)]}, shared);
    sum = sum == nullptr ? next : rewriter.Add(sum, next);
  }
  return sum;
}

HLO_DEFINE_PASS(DotAlgorithmRewriter)

}  // namespace hlo

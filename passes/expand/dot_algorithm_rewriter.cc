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
  int parts;
  std::vector<PartProduct> products;
};

const SplitAlgorithm* FindSplit(DotAlgorithm algorithm) {
  static const std::vector<SplitAlgorithm> table = {
      {DotAlgorithm::kBF16BF16F32X3, 2, {{1, 0}, {0, 1}, {0, 0}}},
      {DotAlgorithm::kBF16BF16F32X6, 3, {{1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}}},
  };
  for (const SplitAlgorithm& row : table) {
    if (row.algorithm == algorithm) return &row;
  }
  return nullptr;
}

// x with the low 16 bits cleared: what bf16 holds of it, rounded to zero.
Instruction* Truncated(Instruction* x, Rewriter& rewriter) {
  const Shape bits = x->shape().WithElementType(ElementType::kU32);
  Instruction* words = rewriter.BitcastConvert(x, bits);
  Instruction* mask = rewriter.ConstantLike(words, double{0xFFFF0000});
  return rewriter.BitcastConvert(rewriter.And(words, mask), x->shape());
}

// x as a sum of bf16 arrays, the largest first.
std::vector<Instruction*> SplitInParts(Instruction* x, int parts, Rewriter& rewriter) {
  std::vector<Instruction*> result;
  for (int i = 0; i + 1 < parts; ++i) {
    Instruction* high = Truncated(x, rewriter);
    result.push_back(rewriter.Convert(high, ElementType::kBF16));
    x = rewriter.Subtract(x, high);
  }
  result.push_back(rewriter.Convert(x, ElementType::kBF16));
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
  attrs.algorithm = DotAlgorithm::kBF16BF16F32;
  const AttrsPtr shared = AttrsPtr::Make(std::move(attrs));
  const std::vector<Instruction*> lhs = SplitInParts(dot->operand(0), split.parts, rewriter);
  const std::vector<Instruction*> rhs = SplitInParts(dot->operand(1), split.parts, rewriter);
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

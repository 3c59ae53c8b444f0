#include "passes/expand/stable_sort_expander.h"

#include <limits>

#include "absl/container/flat_hash_map.h"

namespace hlo {
namespace {

// The operand that counts along the sorted dimension, -1 if there is none.
int PositionOperand(const Instruction& sort) {
  for (int i = 0; i < sort.operand_count(); ++i) {
    const Instruction& operand = *sort.operand(i);
    if (operand.opcode() == Opcode::kIota && operand.shape().element_type() == ElementType::kS32 &&
        operand.attrs<IotaAttrs>().iota_dimension == sort.attrs<SortAttrs>().dimensions.value)
      return i;
  }
  return -1;
}

// Lets `comparator` decide by parameters 2 * position and 2 * position + 1 where it gives the same
// for both orders of its arguments.
absl::Status BreakTies(Computation* comparator, int position) {
  Builder b(comparator);
  absl::flat_hash_map<const Instruction*, Instruction*> mirrored;
  for (Instruction* original : comparator->PostOrder()) {
    if (original->opcode() == Opcode::kParameter) {
      const auto number = static_cast<int>(original->parameter_number());
      mirrored[original] = comparator->parameter(number % 2 == 0 ? number + 1 : number - 1);
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : original->operands()) operands.push_back(mirrored[operand]);
    mirrored[original] = comparator->AddClone(*original, original->shape(), operands);
  }
  Instruction* root = comparator->root();
  Instruction* tie = b.Compare(root, mirrored[root], ComparisonDirection::kEq);
  Instruction* before =
      b.Compare(comparator->parameter(2 * position), comparator->parameter(2 * position + 1),
                ComparisonDirection::kLt);
  comparator->set_root(b.Select(tie, before, root));
  return b.status();
}

}  // namespace

bool StableSortExpander::Matches(const Instruction& instruction) const {
  // (A result may be declared dynamic where no operand is.)
  return instruction.attrs<SortAttrs>().is_stable &&
         !instruction.operand(0)->shape().has_dynamic_dims() &&
         !instruction.shape().has_dynamic_dims();
}

absl::StatusOr<Instruction*> StableSortExpander::Expand(Instruction* sort, Rewriter& rewriter) {
  const Shape shape = sort->operand(0)->shape();
  SortAttrs attrs = sort->attrs<SortAttrs>();
  attrs.is_stable = false;
  if (shape.dim(static_cast<int>(attrs.dimensions.value)) > std::numeric_limits<int32_t>::max()) {
    return Unsupported(sort->loc(), "`{}` sorts rows of {} elements, positions are s32",
                       sort->name(), shape.dim(static_cast<int>(attrs.dimensions.value)));
  }
  Module& module = rewriter.module();
  Computation* comparator = sort->to_apply();
  if (comparator->callers().size() != 1) {
    comparator = module.CloneComputation(*comparator, ".clone", /*deep=*/false);
    module.MoveToFront(comparator, sort->parent());
  }
  std::vector<Instruction*> operands = sort->operand_vector();
  int position = PositionOperand(*sort);
  const bool adds = position < 0;
  if (adds) {
    position = sort->operand_count();
    operands.push_back(
        rewriter.Iota(shape.WithElementType(ElementType::kS32), attrs.dimensions.value));
    const Shape scalar = Shape::Scalar(ElementType::kS32);
    comparator->AddParameter(2 * position, scalar, fmt::format("p.{}.lhs", position));
    comparator->AddParameter(2 * position + 1, scalar, fmt::format("p.{}.rhs", position));
  }
  RETURN_IF_ERROR(BreakTies(comparator, position));
  Instruction* sorted = rewriter.Op(Opcode::kSort, operands, AttrsPtr::Make(attrs), {comparator});
  PassOnWork(*sort, sorted);
  if (!adds) return sorted;
  if (sort->operand_count() == 1) return rewriter.GetTupleElement(sorted, 0);
  std::vector<Instruction*> elements;
  for (int i = 0; i < sort->operand_count(); ++i)
    elements.push_back(rewriter.GetTupleElement(sorted, i));
  return rewriter.Tuple(elements);
}

HLO_DEFINE_PASS(StableSortExpander)

}  // namespace hlo

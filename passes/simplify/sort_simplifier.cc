#include "passes/simplify/sort_simplifier.h"

#include "lib/ir/builder.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

bool IsSortOfElements(const Instruction& sort) {
  if (sort.opcode() != Opcode::kSort || !sort.shape().IsTuple()) return false;
  if (sort.is_root() || !sort.has_uses() || sort.has_control_edges()) return false;
  return absl::c_all_of(
      sort.uses(), [](const Use& use) { return use.user->opcode() == Opcode::kGetTupleElement; });
}

bool DecidesOrder(const Computation& comparator, int operand) {
  for (int side = 0; side < 2; ++side) {
    const Instruction* parameter = comparator.parameter(2 * operand + side);
    if (parameter->is_used()) return true;
  }
  return false;
}

// The comparator without the parameters of operands that are not `needed`.
Computation* ShrinkComparator(const Computation& comparator, const std::vector<bool>& needed) {
  Module& module = comparator.module();
  Computation* shrunk = module.CloneComputation(comparator, ".clone", /*deep=*/false);
  for (size_t i = needed.size(); i-- > 0;) {
    if (needed[i]) continue;
    shrunk->RemoveParameter(static_cast<int>(2 * i + 1));
    shrunk->RemoveParameter(static_cast<int>(2 * i));
  }
  for (int i = 0; i < shrunk->parameter_count(); ++i)
    module.Rename(shrunk->parameter(i), fmt::format("p.{}.{}", i / 2, i % 2 == 0 ? "lhs" : "rhs"));
  return shrunk;
}

absl::Status Shrink(Instruction* sort, const std::vector<bool>& needed) {
  Computation& computation = *sort->parent();
  std::vector<Instruction*> kept;
  std::vector<Shape> shapes;
  std::vector<int64_t> new_index(needed.size(), -1);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    new_index[i] = static_cast<int64_t>(kept.size());
    kept.push_back(sort->operand(static_cast<int>(i)));
    shapes.push_back(sort->shape().element(static_cast<int>(i)));
  }
  Computation* comparator = ShrinkComparator(*sort->to_apply(), needed);
  const Shape shape = kept.size() == 1 ? shapes[0] : Shape::Tuple(shapes);
  Builder builder(&computation, sort);
  Instruction* smaller =
      builder.OpWithShape(Opcode::kSort, shape, kept, sort->attrs_ptr(), {comparator});
  RETURN_IF_ERROR(builder.status());
  for (Instruction* element : sort->users()) {
    const int64_t index = new_index[static_cast<size_t>(element->tuple_index())];
    const uint32_t first_new = computation.module().id_limit();
    builder.set_origin(element);
    Instruction* replacement = kept.size() == 1 ? smaller : builder.GetTupleElement(smaller, index);
    ReplaceKeepingExtras(element, replacement, first_new);
  }
  RETURN_IF_ERROR(builder.status());
  computation.RemoveUnused(sort);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> SortSimplifier::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kSort})) {
    for (Instruction* sort : computation->PostOrder()) {
      if (sort->is_dead() || !IsSortOfElements(*sort)) continue;
      std::vector<bool> needed(static_cast<size_t>(sort->operand_count()), false);
      for (const Use& use : sort->uses())
        needed[static_cast<size_t>(use.user->tuple_index())] = true;
      for (size_t i = 0; i < needed.size(); ++i)
        needed[i] = needed[i] || DecidesOrder(*sort->to_apply(), static_cast<int>(i));
      const auto dropped = absl::c_count(needed, false);
      if (dropped == 0 || !context.MayRewrite()) continue;
      context.Passed(*sort, "{} of its operands neither decide the order nor are read", dropped);
      RETURN_IF_ERROR(Shrink(sort, needed));
      context.Count("dropped operands", dropped);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(SortSimplifier)

}  // namespace hlo

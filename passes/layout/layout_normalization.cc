#include "passes/layout/layout_normalization.h"

#include "absl/algorithm/container.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/control_edges.h"
#include "lib/types/memory_order.h"
#include "passes/layout/normalized_ops.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

bool HasDynamicArrays(const Instruction& instruction) {
  return instruction.shape().has_dynamic_dims() ||
         absl::c_any_of(instruction.operands(), [](const Instruction* operand) {
           return operand->shape().has_dynamic_dims();
         });
}

bool HoldsNormalArrays(Shape shape) {
  if (shape.IsTuple()) return absl::c_all_of(shape.elements(), HoldsNormalArrays);
  return !shape.IsArray() || IsInMemoryOrder(shape);
}

// Whether all arrays among results and operands are in memory order.
bool IsNormal(const Instruction& instruction) {
  return HoldsNormalArrays(instruction.shape()) &&
         absl::c_all_of(instruction.operands(), [](const Instruction* operand) {
           return HoldsNormalArrays(operand->shape());
         });
}

class Normalization {
 public:
  Normalization(Computation& computation, PassContext& context)
      : computation_(computation), context_(context), forms_(&computation) {}

  bool Run() {
    bool changed = false;
    for (Instruction* instruction : computation_.PostOrder()) {
      // What nothing reads is left to dce.
      if (instruction->is_dead() || !instruction->is_used() || IsNormal(*instruction)) continue;
      changed |= instruction->IsConstant() ? Relabel(instruction) : Rewrite(instruction);
    }
    for (Instruction* bitcast : bitcasts_) {
      if (!bitcast->is_dead()) RemoveIfUnread(bitcast);
    }
    return changed;
  }

 private:
  // The elements of a constant are put down in their order in memory.
  bool Relabel(Instruction* constant) {
    const Shape shape = constant->shape();
    if (!shape.IsArray() || shape.IsZeroSized() || !context_.MayRewrite()) return false;
    const Shape normal = InMemoryOrder(shape);
    const Literal& literal = constant->literal();
    Literal ordered = literal.is_elided()
                          ? Literal::Elided(normal)
                          : literal.Transposed(MajorToMinor(shape)).WithShapeLayout(normal);
    context_.Count("normalized");
    context_.Passed(*constant, "becomes `{:l}`", normal);
    const std::vector<Use> uses(constant->uses().begin(), constant->uses().end());
    constant->SetAttrs(ConstantAttrs{std::move(ordered)});
    constant->set_shape(normal);
    Instruction* const as_before = Bitcast(constant, shape);
    if (constant->extras() != nullptr) {
      Extras& extras = constant->mutable_extras();
      as_before->set_sharding(std::move(extras.sharding));
      as_before->mutable_extras().origin = std::move(extras.origin);
      extras.sharding.reset();
      extras.origin.reset();
    }
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, as_before);
    if (constant->is_root()) computation_.set_root(as_before);
    return true;
  }

  bool Rewrite(Instruction* old) {
    const NormalizedOp* const op = NormalizedOpFor(old->opcode());
    if (op == nullptr) return false;
    const Decision allowed =
        HasDynamicArrays(*old) ? No("has dynamic dimensions") : op->allows(*old);
    if (!context_.Allowed(*old, allowed) || !context_.MayRewrite()) return false;
    context_.Count("normalized");
    context_.Passed(*old, "is written for arrays in the order of memory");
    const uint32_t first_new = computation_.module().id_limit();
    const std::vector<Instruction*> operands = old->operand_vector();
    Instruction* const normal = op->make(*old, forms_);
    Instruction* replacement = As(old->shape(), normal);
    if (normal->id() >= first_new) {
      // It is the operation that is to run before or after others, not a bitcast of its result.
      MoveControlEdges(old, normal);
    } else if (old->has_control_edges() && replacement == normal) {
      // What was there before may have to run before its predecessors.
      replacement = Builder(&computation_).Bitcast(normal, normal->shape());
    }
    ReplaceKeepingExtras(old, replacement, first_new);
    for (Instruction* operand : operands) {
      if (!operand->is_dead() && operand->opcode() == Opcode::kBitcast) RemoveIfUnread(operand);
    }
    return true;
  }

  // `normal` as the users know it.
  Instruction* As(Shape shape, Instruction* normal) {
    if (!shape.IsTuple()) return Bitcast(normal, shape);
    Builder b(&computation_, normal);
    std::vector<Instruction*> elements;
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      elements.push_back(As(shape.element(i), b.GetTupleElement(normal, i)));
    return b.Tuple(elements);
  }

  Instruction* Bitcast(Instruction* normal, Shape shape) {
    if (normal->shape() == shape.WithMissingLayoutsFilled()) return normal;
    Builder b(&computation_, normal);
    bitcasts_.push_back(b.Bitcast(normal, shape));
    return bitcasts_.back();
  }

  void RemoveIfUnread(Instruction* bitcast) {
    if (!bitcast->is_used() && !bitcast->has_control_edges()) computation_.RemoveUnused(bitcast);
  }

  Computation& computation_;
  PassContext& context_;
  NormalForms forms_;
  std::vector<Instruction*> bitcasts_;  // to shapes that users know
};

}  // namespace

absl::StatusOr<bool> LayoutNormalization::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (!IsAsyncBody(*computation)) changed |= Normalization(*computation, context).Run();
  }
  return changed;
}

HLO_DEFINE_PASS(LayoutNormalization)

}  // namespace hlo

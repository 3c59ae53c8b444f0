#include "passes/dynamic/dynamic_size_handover.h"

#include "lib/ir/any_instruction.h"
#include "lib/ops/opcode_groups.h"
#include "passes/rewrite.h"
#include "passes/util/declared_sizes.h"

namespace hlo {
namespace {

// The shape that operand `i` is read as.
Shape ReadAs(const Instruction& reader, int i) {
  const Shape own = reader.operand(i)->shape();
  const Opcode opcode = reader.opcode();
  if (opcode == Opcode::kTuple) return reader.shape().element(i);
  if (opcode == Opcode::kWhile || opcode == Opcode::kOptimizationBarrier ||
      opcode == Opcode::kDomain)
    return reader.shape();
  if (opcode == Opcode::kConditional)
    return i == 0 ? own : reader.call(i - 1)->parameter(0)->shape();
  const bool is_call = opcode == Opcode::kCall || opcode == Opcode::kFusion;
  // (A fusion may have operands that its computation does not take.)
  return is_call && i < reader.call(0)->parameter_count() ? reader.call(0)->parameter(i)->shape()
                                                          : own;
}

class Handover {
 public:
  explicit Handover(PassContext& context) : context_(context) {}

  absl::Status Operands(Instruction& reader) {
    for (int i = 0; i < reader.operand_count(); ++i) {
      const Shape wanted = ReadAs(reader, i);
      if (!LacksSizes(reader.operand(i)->shape(), wanted)) continue;
      reader.ReplaceOperand(i, Sized(*reader.operand(i), wanted, reader));
    }
    return absl::OkStatus();
  }

  // An element that is bounded of a tuple where it is not.
  absl::Status Element(Instruction& element) {
    const Shape from = element.operand(0)->shape();
    const Shape has = from.element(static_cast<int>(element.tuple_index()));
    if (!LacksSizes(has, element.shape())) return absl::OkStatus();
    Builder b(element.parent());
    b.set_origin(&element);
    Instruction* const plain = b.GetTupleElement(element.operand(0), element.tuple_index());
    element.ReplaceAllUsesWith(Sized(*plain, element.shape(), element));
    return absl::OkStatus();
  }

  absl::Status Root(Computation& computation, Shape wanted, Instruction& caller) {
    if (!LacksSizes(computation.root()->shape(), wanted)) return absl::OkStatus();
    computation.set_root(Sized(*computation.root(), wanted, caller));
    return absl::OkStatus();
  }

  bool changed() const { return changed_; }

 private:
  Instruction* Sized(Instruction& value, Shape wanted, const Instruction& reader) {
    Instruction* const sized = WithDeclaredSizes(&value, wanted);
    context_.Passed(reader, "reads `{}` as `{}`", value.name(), wanted);
    context_.Count("sized");
    changed_ = true;
    return sized;
  }

  PassContext& context_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> DynamicSizeHandover::Run(Module& module, PassContext& context) {
  const auto is_dynamic = [](const Instruction& x) { return x.shape().has_dynamic_dims(); };
  if (!AnyInstruction(module, is_dynamic)) return false;
  Handover handover(context);
  for (Computation* computation : context.Computations(module)) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (!context.MayRewrite()) return handover.changed();
      RETURN_IF_ERROR(handover.Operands(*instruction));
      if (instruction->opcode() == Opcode::kGetTupleElement)
        RETURN_IF_ERROR(handover.Element(*instruction));
      if (!kBodyRunners.Has(instruction->opcode()) || instruction->opcode() == Opcode::kAsyncStart)
        continue;
      for (Computation* callee : instruction->calls()) {
        const bool is_condition =
            instruction->opcode() == Opcode::kWhile && callee == instruction->while_condition();
        if (!is_condition)
          RETURN_IF_ERROR(handover.Root(*callee, instruction->shape(), *instruction));
      }
    }
  }
  return handover.changed();
}

HLO_DEFINE_PASS(DynamicSizeHandover)

}  // namespace hlo

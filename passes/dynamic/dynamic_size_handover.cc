#include "passes/dynamic/dynamic_size_handover.h"

#include <algorithm>
#include <vector>

#include "lib/ir/any_instruction.h"
#include "lib/ir/builder.h"
#include "lib/ops/opcode_groups.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// Whether a static array somewhere in `from` stands where `to` has a bounded one.
bool LacksSizes(Shape from, Shape to) {
  if (from == to) return false;
  if (from.IsTuple() && to.IsTuple()) {
    const int count = std::min(from.element_count_of_tuple(), to.element_count_of_tuple());
    for (int i = 0; i < count; ++i) {
      if (LacksSizes(from.element(i), to.element(i))) return true;
    }
    return false;
  }
  return SameDimensions(from, to) && !from.has_dynamic_dims() && to.has_dynamic_dims();
}

// `value`, with all of each dimension in use that `to` has as a bounded one.
Instruction* WithSizes(Builder& b, Instruction* value, Shape to) {
  const Shape from = value->shape();
  if (!LacksSizes(from, to)) return value;
  if (from.IsTuple()) {
    std::vector<Instruction*> elements;
    for (int i = 0; i < from.element_count_of_tuple(); ++i)
      elements.push_back(WithSizes(b, b.GetTupleElement(value, i), to.element(i)));
    return b.Tuple(elements);
  }
  for (int d = 0; d < to.rank(); ++d) {
    if (!to.is_dynamic(d)) continue;
    Instruction* const size = b.Constant(Literal::Scalar<int64_t>(ElementType::kS32, from.dim(d)));
    DimensionAttrs attrs;
    attrs.dimensions.value = d;
    value = b.OpWithShape(Opcode::kSetDimensionSize, value->shape().WithDynamic(d, true),
                          {value, size}, AttrsPtr::Make(attrs));
  }
  return value;
}

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
      ASSIGN_OR_RETURN(Instruction* const value, Sized(*reader.operand(i), wanted, reader));
      reader.ReplaceOperand(i, value);
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
    ASSIGN_OR_RETURN(Instruction* const value, Sized(*plain, element.shape(), element));
    element.ReplaceAllUsesWith(value);
    return absl::OkStatus();
  }

  absl::Status Root(Computation& computation, Shape wanted, Instruction& caller) {
    if (!LacksSizes(computation.root()->shape(), wanted)) return absl::OkStatus();
    ASSIGN_OR_RETURN(Instruction* const value, Sized(*computation.root(), wanted, caller));
    computation.set_root(value);
    return absl::OkStatus();
  }

  bool changed() const { return changed_; }

 private:
  absl::StatusOr<Instruction*> Sized(Instruction& value, Shape wanted, const Instruction& reader) {
    Builder b(value.parent());
    b.set_origin(&value);
    Instruction* const sized = WithSizes(b, &value, wanted);
    RETURN_IF_ERROR(b.status());
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

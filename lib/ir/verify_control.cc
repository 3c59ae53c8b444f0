// Rules that join computations and their callers, on top of the shape rules (which compare
// parameters and results):
//
//   fusion        its computation is no other fusion's and not the entry; every instruction but the
//                 root is used, the root is not
//   call          a composite names itself: frontend attributes `composite.name` (not empty),
//                 `composite.version` (not negative)
//   custom-call   with operand_layout_constraints has a result layout; GetRngSeed is () -> u64[]
//   while, conditional   they and what one_sharding.h ties to them have one sharding, as far as
//                 they have any
//   threads       of fusion, while and conditional are those of what they call
//   layouts       with layout_sensitive, of operands and parameters and of results are the same
//                 (nested fusions: tiles and memory space aside)
//   aliasing      operand numbers and indices exist, aliased values have equal shapes; Pin and
//                 Unpin alias an array and its buffer
#include <algorithm>

#include "lib/ir/custom_call.h"
#include "lib/ir/one_sharding.h"
#include "lib/ir/verify_internal.h"
#include "lib/support/read_number.h"

namespace hlo::internal {
namespace {

// The shardings that are present must be equal.
void CheckOneSharding(const VerifyContext& context, const Instruction& caller) {
  const Instruction* first = caller.sharding() == nullptr ? nullptr : &caller;
  for (const Instruction* instruction : DividedLike(caller)) {
    if (instruction->sharding() == nullptr) continue;
    if (first == nullptr) first = instruction;
    if (*first->sharding() == *instruction->sharding()) continue;
    context.findings.Add(caller.loc(), "`{}` of {} `{}` has sharding {}, but `{}` has {}",
                         instruction->name(), caller.opcode_text(), caller.name(),
                         instruction->sharding()->ToString(), first->name(),
                         first->sharding()->ToString());
    return context.findings.NoteDefinition(*instruction);
  }
}

const std::string* FindAttribute(const Instruction& instruction, std::string_view name) {
  if (instruction.extras() == nullptr) return nullptr;
  const auto it = instruction.extras()->frontend_attributes.find(name);
  return it == instruction.extras()->frontend_attributes.end() ? nullptr : &it->second;
}

bool HasAllLayouts(Shape shape) {
  if (shape.IsArray()) return shape.has_layout();
  return std::all_of(shape.elements().begin(), shape.elements().end(), HasAllLayouts);
}

bool HoldsOneElement(Shape shape) {
  return shape.IsArray() && std::all_of(shape.dims().begin(), shape.dims().end(),
                                        [](int64_t size) { return size == 1; });
}

bool IsPinOrUnpin(const Instruction& instruction) {
  return IsCustomCall(instruction, "Pin") || IsCustomCall(instruction, "Unpin");
}

// With layout_sensitive the layout of what is passed is that of the parameter.
void CheckPassedLayout(const VerifyContext& context, const Instruction& caller,
                       const Instruction& passed, const Instruction& parameter,
                       const LayoutLeniency& leniency = {}) {
  if (Agree(passed.shape(), parameter.shape(), ExactWhereLayoutsCount(context.options, leniency)))
    return;
  context.findings.Add(caller.loc(),
                       "`{}` passes `{}`, `{:l}`, for parameter `{}` of computation `{}`, `{:l}`",
                       caller.name(), passed.name(), passed.shape(), parameter.name(),
                       parameter.parent()->name(), parameter.shape());
  context.findings.NoteDefinition(parameter);
}

// With layout_sensitive the layout of a branch's or body's result is that of the caller.
void CheckResultLayout(const VerifyContext& context, const Instruction& caller,
                       const Computation& callee) {
  const Instruction& root = *callee.root();
  if (Agree(root.shape(), caller.shape(), ExactWhereLayoutsCount(context.options))) return;
  context.findings.Add(caller.loc(),
                       "`{}` is declared `{:l}`, but computation `{}` returns `{}`, `{:l}`",
                       caller.name(), caller.shape(), callee.name(), root.name(), root.shape());
  context.findings.NoteDefinition(root);
}

}  // namespace

void CheckCalleeThread(const VerifyContext& context, const Instruction& caller,
                       const Computation& callee) {
  const std::string_view thread = caller.parent()->execution_thread();
  if (callee.execution_thread() == thread) return;
  context.findings.Add(caller.loc(), "`{}` runs on thread `{}`, but computation `{}` on `{}`",
                       caller.name(), thread, callee.name(), callee.execution_thread());
  context.findings.NoteDefinition(callee);
}

bool VerifyAliasIndices(const VerifyContext& context, const Instruction& instruction,
                        const OutputOperandAliases& aliases, Shape output,
                        absl::Span<const Shape> operands) {
  for (size_t i = 0; i < aliases.size(); ++i) {
    const OutputOperandAlias& alias = aliases[i];
    if (!IndexIsValid(output, alias.output)) {
      context.findings.Add(
          instruction.loc(),
          "`output_to_operand_aliasing` of `{}` names output {}, which `{}` does not have",
          instruction.name(), ToString(alias.output), output);
      return false;
    }
    if (alias.operand < 0 || alias.operand >= static_cast<int64_t>(operands.size())) {
      context.findings.Add(instruction.loc(),
                           "`output_to_operand_aliasing` of `{}` names operand {}, but it has {}",
                           instruction.name(), alias.operand, operands.size());
      return false;
    }
    const Shape operand = operands[static_cast<size_t>(alias.operand)];
    if (!IndexIsValid(operand, alias.operand_index)) {
      context.findings.Add(
          instruction.loc(),
          "`output_to_operand_aliasing` of `{}` names index {} of operand {}, which has shape `{}`",
          instruction.name(), ToString(alias.operand_index), alias.operand, operand);
      return false;
    }
    const Shape from = SubShape(operand, alias.operand_index);
    const Shape to = SubShape(output, alias.output);
    const bool skip =
        FindAttribute(instruction, "xla_skip_custom_call_alias_shape_check") != nullptr;
    const bool is_scalar = HoldsOneElement(to) && HoldsOneElement(from);
    Agreement agreement = ExactWhereLayoutsCount(context.options, {.memory_space = is_scalar});
    agreement.ignore_buffer =
        instruction.opcode() != Opcode::kCustomCall || IsPinOrUnpin(instruction);
    if (!skip && !Agree(from, to, agreement)) {
      context.findings.Add(
          instruction.loc(), "`{}` aliases output {}, `{}`, with index {} of operand {}, `{}`",
          instruction.name(), ToString(alias.output), to.Text(agreement.layout),
          ToString(alias.operand_index), alias.operand, from.Text(agreement.layout));
      return false;
    }
  }
  return true;
}

bool VerifyAliasIndices(const VerifyContext& context, const Instruction& instruction,
                        const OutputOperandAliases& aliases) {
  return VerifyAliasIndices(context, instruction, aliases, instruction.shape(),
                            instruction.operand_shapes());
}

void VerifyFusion(const VerifyContext& context, const Instruction& fusion) {
  const Computation& fused = *fusion.fused_computation();
  if (fused.is_entry()) {
    context.findings.Add(fusion.loc(), "fusion `{}` calls the entry computation `{}`",
                         fusion.name(), fused.name());
    return context.findings.NoteDefinition(fused);
  }
  const auto other =
      std::find_if(fused.callers().begin(), fused.callers().end(), [&](const CallSite& site) {
        return site.caller != &fusion && site.caller->opcode() == Opcode::kFusion;
      });
  if (other != fused.callers().end()) {
    context.findings.Add(fusion.loc(), "computation `{}` of fusion `{}` is also that of `{}`",
                         fused.name(), fusion.name(), other->caller->name());
    return context.findings.NoteDefinition(*other->caller);
  }
  CheckCalleeThread(context, fusion, fused);
  if (fused.root()->has_uses()) {
    context.findings.Add(fused.root()->loc(),
                         "`{}` is the root of fusion computation `{}` and used inside",
                         fused.root()->name(), fused.name());
  }
  for (const Instruction* instruction : fused.instructions()) {
    if (instruction->has_uses() || instruction == fused.root() || instruction->HasSideEffect())
      continue;
    context.findings.Add(instruction->loc(), "`{}` of fusion computation `{}` is not used",
                         instruction->name(), fused.name());
  }
  const bool nested = fusion.parent()->is_fusion();
  const LayoutLeniency leniency = {.tiles = nested, .memory_space = nested};
  for (const Instruction* parameter : fused.parameters()) {
    CheckPassedLayout(context, fusion,
                      *fusion.operand(static_cast<int>(parameter->parameter_number())), *parameter,
                      leniency);
  }
  if (!Agree(fused.root()->shape(), fusion.shape(),
             ExactWhereLayoutsCount(context.options, leniency))) {
    context.findings.Add(fusion.loc(),
                         "`{}` is declared `{:l}`, but its computation returns `{:l}`",
                         fusion.name(), fusion.shape(), fused.root()->shape());
    context.findings.NoteDefinition(*fused.root());
  }
  VerifyAliasIndices(context, fusion, fusion.attrs<FusionAttrs>().output_to_operand_aliasing);
}

void VerifyCall(const VerifyContext& context, const Instruction& call) {
  for (const Instruction* parameter : call.to_apply()->parameters()) {
    CheckPassedLayout(context, call, *call.operand(static_cast<int>(parameter->parameter_number())),
                      *parameter);
  }
  if (!call.attrs<CallAttrs>().is_composite) return;
  const std::string* name = FindAttribute(call, "composite.name");
  if (name == nullptr || name->empty()) {
    context.findings.Add(
        call.loc(), "composite call `{}` has no frontend attribute `composite.name`", call.name());
  }
  const std::string* attributes = FindAttribute(call, "composite.attributes");
  if (attributes != nullptr && attributes->empty()) {
    context.findings.Add(
        call.loc(), "`composite.attributes` of composite call `{}` is empty, expected a dictionary",
        call.name());
  }
  const std::string* version = FindAttribute(call, "composite.version");
  if (version == nullptr) return;
  if (ReadNumber<int64_t>(*version).value_or(-1) < 0) {
    context.findings.Add(
        call.loc(),
        "`composite.version` of composite call `{}` is `{}`, expected a number, at least 0",
        call.name(), *version);
  }
}

void VerifyCustomCall(const VerifyContext& context, const Instruction& call) {
  const CustomCallAttrs& attrs = call.attrs<CustomCallAttrs>();
  const std::string_view target = attrs.custom_call_target;
  if (attrs.operand_layout_constraints.has_value() && !HasAllLayouts(call.shape())) {
    context.findings.Add(call.loc(),
                         "`{}` constrains operand layouts, but its result `{:l}` has no layout",
                         call.name(), call.shape());
  }
  if (target == "GetRngSeed" &&
      (call.operand_count() != 0 || !call.shape().IsScalarOf(ElementType::kU64))) {
    context.findings.Add(
        call.loc(),
        "`{}` has {} operands and shape `{}`, expected none and `u64[]` for `GetRngSeed`",
        call.name(), call.operand_count(), call.shape());
  }
  if (!VerifyAliasIndices(context, call, attrs.output_to_operand_aliasing)) return;
  VerifyBufferTarget(context, call);
}

void VerifyWhile(const VerifyContext& context, const Instruction& loop) {
  const Computation& condition = *loop.while_condition();
  const Computation& body = *loop.while_body();
  CheckCalleeThread(context, loop, condition);
  CheckCalleeThread(context, loop, body);
  CheckPassedLayout(context, loop, *loop.operand(0), *condition.parameter(0));
  CheckPassedLayout(context, loop, *loop.operand(0), *body.parameter(0));
  CheckResultLayout(context, loop, body);
  CheckOneSharding(context, loop);
}

void VerifyConditional(const VerifyContext& context, const Instruction& conditional) {
  for (int i = 0; i < conditional.call_count(); ++i) {
    const Computation& branch = *conditional.call(i);
    CheckCalleeThread(context, conditional, branch);
    CheckPassedLayout(context, conditional, *conditional.operand(i + 1), *branch.parameter(0));
    CheckResultLayout(context, conditional, branch);
  }
  CheckOneSharding(context, conditional);
}

}  // namespace hlo::internal

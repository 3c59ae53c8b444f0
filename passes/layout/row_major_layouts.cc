#include "passes/layout/row_major_layouts.h"

#include "absl/container/flat_hash_set.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/memory_order.h"
#include "passes/layout/literal_layout.h"
#include "passes/util/caller_sharding.h"

namespace hlo {
namespace {

using Instructions = absl::flat_hash_set<const Instruction*>;

// Keeps the layout of a value, and of what makes it where that is somewhere else: the layout that
// an instruction states is the one that its callee's root has.
void Keep(const Instruction* value, Instructions& kept) {
  if (!kept.insert(value).second) return;
  constexpr OpcodeSet kPassOn = {Opcode::kTuple, Opcode::kGetTupleElement,
                                 Opcode::kOptimizationBarrier};
  if (value->IsFusion() || value->opcode() == Opcode::kCall) Keep(value->calls()[0]->root(), kept);
  if (!kPassOn.Has(value->opcode())) return;
  for (const Instruction* operand : value->operands()) Keep(operand, kept);
}

// What bitcasts see that would mean something else between row-major arrays.
Instructions ReadByLayout(const Module& module) {
  Instructions read;
  std::vector<const Instruction*> plain;  // that move nothing, as arrays lie and row-major
  for (const Computation* computation : module.computations()) {
    if (!computation->MayHoldAny({Opcode::kBitcast})) continue;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kBitcast || !instruction->shape().IsArray()) continue;
      const Instruction* from = instruction->operand(0);
      if (KeepsRowMajorOrder(from->shape().WithMissingLayoutsFilled(),
                             instruction->shape().WithMissingLayoutsFilled())) {
        plain.push_back(instruction);
        continue;
      }
      read.insert(instruction);
      Keep(from, read);
    }
  }
  // Of those, both sides stay as they lie, or neither.
  for (bool grows = true; grows;) {
    grows = false;
    const auto keep_both = [&](const Instruction* bitcast) {
      if (read.contains(bitcast) == read.contains(bitcast->operand(0))) return;
      grows = true;
      read.insert(bitcast);
      Keep(bitcast->operand(0), read);
    };
    for (const Instruction* bitcast : plain) keep_both(bitcast);
    for (size_t i = plain.size(); i-- > 0;) keep_both(plain[i]);
  }
  return read;
}

// A copy between layouts does nothing any more. One that is to keep two values apart comes later
// (copy-insertion).
bool DropCopy(Instruction* copy) {
  if (copy->opcode() != Opcode::kCopy || copy->has_control_edges() || copy->sharding() != nullptr)
    return false;
  Instruction* const operand = copy->operand(0);
  if (operand->shape().WithDefaultLayout() != copy->shape().WithDefaultLayout()) return false;
  copy->ReplaceAllUsesWith(operand);
  if (copy->is_root()) SetRoot(*operand);
  copy->parent()->Remove(copy);
  return true;
}

}  // namespace

absl::StatusOr<bool> RowMajorLayouts::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  const Instructions read = ReadByLayout(module);
  bool changed = false;
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (!read.contains(instruction) && DropCopy(instruction)) {
        context.Count("copies");
        changed = true;
        continue;
      }
      const Shape shape = instruction->shape().WithDefaultLayout();
      if (shape == instruction->shape() || read.contains(instruction)) continue;
      instruction->set_shape(shape);
      if (instruction->IsConstant())
        instruction->SetAttrs(ConstantAttrs{LiteralWithLayouts(instruction->literal(), shape)});
      context.Count("shapes");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(RowMajorLayouts)

}  // namespace hlo

#include "passes/precision/convert_mover.h"

#include <algorithm>

#include "lib/ops/opcode_set.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr OpcodeSet kMovers = {Opcode::kConcatenate, Opcode::kPad, Opcode::kReshape, Opcode::kSlice,
                               Opcode::kTranspose};

bool IsMover(const Instruction& instruction) {
  return kMovers.Has(instruction.opcode()) && instruction.shape().IsArray() &&
         !instruction.has_control_edges();
}

bool IsPacked(ElementType type) { return BitWidth(type) < 8 && !IsPred(type); }

ElementType SourceType(const Instruction& convert) {
  return convert.operand(0)->shape().element_type();
}

bool Widens(const Instruction& convert) {
  return convert.opcode() == Opcode::kConvert && !convert.has_control_edges() &&
         BitWidth(SourceType(convert)) < BitWidth(convert.shape().element_type()) &&
         !IsPacked(SourceType(convert));
}

bool Narrows(const Instruction& convert) {
  return convert.opcode() == Opcode::kConvert && !convert.has_control_edges() &&
         BitWidth(SourceType(convert)) > BitWidth(convert.shape().element_type()) &&
         !IsPacked(convert.shape().element_type());
}

// Whether `constant` comes back from `type` as it was.
bool IsExactIn(ElementType type, const Instruction& constant) {
  if (constant.literal().is_elided()) return false;
  const absl::StatusOr<Literal> there = constant.literal().Converted(type);
  if (!there.ok()) return false;
  const absl::StatusOr<Literal> back = there->Converted(constant.shape().element_type());
  return back.ok() && *back == constant.literal();
}

// The instruction with operands `operands`, in their element type.
Instruction* MoveOther(const Instruction& mover, const std::vector<Instruction*>& operands) {
  return mover.parent()->AddClone(
      mover, mover.shape().WithElementType(operands[0]->shape().element_type()), operands);
}

// op(convert(x), convert(y), constant)  =>  convert(op(x, y, convert(constant))), widening
Instruction* SinkWidening(Instruction* mover) {
  const Instruction* like = nullptr;
  for (const Instruction* operand : mover->operands()) {
    if (operand->IsConstant()) continue;
    if (!Widens(*operand) || !operand->has_one_user() || operand->is_root()) return nullptr;
    if (like != nullptr && SourceType(*like) != SourceType(*operand)) return nullptr;
    like = operand;
  }
  if (like == nullptr) return nullptr;
  const ElementType type = SourceType(*like);
  for (const Instruction* operand : mover->operands()) {
    if (operand->IsConstant() && !IsExactIn(type, *operand)) return nullptr;
  }
  Builder builder(mover);
  std::vector<Instruction*> sources;
  for (Instruction* operand : mover->operands())
    sources.push_back(operand->IsConstant() ? builder.Convert(operand, type) : operand->operand(0));
  return builder.OpWithShape(Opcode::kConvert, mover->shape(), {MoveOther(*mover, sources)});
}

// convert(op(x, y))  =>  op(convert(x), convert(y)), narrowing
Instruction* HoistNarrowing(Instruction* convert) {
  const Instruction& mover = *convert->operand(0);
  if (!Narrows(*convert) || !IsMover(mover) || !mover.has_one_user() || mover.is_root())
    return nullptr;
  Builder builder(convert);
  std::vector<Instruction*> narrow;
  for (Instruction* operand : mover.operands())
    narrow.push_back(builder.Convert(operand, convert->shape().element_type()));
  Instruction* moved = MoveOther(mover, narrow);
  moved->set_shape(convert->shape());
  return moved;
}

}  // namespace

absl::StatusOr<bool> ConvertMover::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kConvert})) {
    const auto move = [&](Instruction* at, Instruction* (*rewritten)(Instruction*)) {
      const uint32_t first_new = module.id_limit();
      Instruction* replacement = rewritten(at);
      if (replacement == nullptr) return;
      if (!context.MayRewrite()) {
        computation->RemoveUnused(replacement);
        return;
      }
      context.Passed(*at, "moves fewer bytes");
      const std::vector<Instruction*> operands = at->operand_vector();
      ReplaceKeepingExtras(at, replacement, first_new);
      for (Instruction* operand : operands) {
        if (!operand->is_dead() && !operand->has_uses() && !operand->is_root() &&
            operand->opcode() != Opcode::kParameter)
          computation->RemoveUnused(operand);
      }
      context.Count("moved");
      changed = true;
    };
    // Down in order, so that one conversion passes several movers; up the other way round.
    for (Instruction* instruction : computation->PostOrder()) {
      if (!instruction->is_dead() && IsMover(*instruction)) move(instruction, SinkWidening);
    }
    std::vector<Instruction*> converts;
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kConvert) converts.push_back(instruction);
    }
    while (!converts.empty()) {
      Instruction* convert = converts.back();
      converts.pop_back();
      if (convert->is_dead() || !Narrows(*convert)) continue;
      const Instruction* const mover = convert->operand(0);
      const std::vector<Instruction*> sources = mover->operand_vector();
      move(convert, HoistNarrowing);
      if (!convert->is_dead()) continue;
      for (Instruction* source : sources) {
        for (const Use& use : source->uses()) {
          if (use.user->opcode() == Opcode::kConvert) converts.push_back(use.user);
        }
      }
    }
  }
  return changed;
}

HLO_DEFINE_PASS(ConvertMover)

}  // namespace hlo

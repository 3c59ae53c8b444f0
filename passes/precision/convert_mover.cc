#include "passes/precision/convert_mover.h"

#include <algorithm>

#include "passes/precision/operand_upcaster.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr OpcodeSet kMovers = {
    Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kCopy,     Opcode::kDynamicSlice,
    Opcode::kGather,    Opcode::kPad,         Opcode::kReshape,  Opcode::kReverse,
    Opcode::kSlice,     Opcode::kTranspose,   Opcode::kAllToAll, Opcode::kCollectivePermute,
    Opcode::kAllGather};

// The operands whose elements end in the result.
int MovedOperands(const Instruction& mover) {
  const bool all = mover.opcode() == Opcode::kConcatenate || mover.opcode() == Opcode::kPad;
  return all ? mover.operand_count() : 1;
}

bool IsMover(const Instruction& instruction) {
  return kMovers.Has(instruction.opcode()) && instruction.shape().IsArray() &&
         !instruction.has_control_edges() && instruction.operand_count() > 0 &&
         (!HasTrait(instruction.opcode(), kCollective) || instruction.operand_count() == 1);
}

// A conversion that loses nothing, of a kind that HLO can convert back.
bool Widens(const Instruction& convert) {
  if (convert.opcode() != Opcode::kConvert || convert.has_control_edges()) return false;
  const ElementType from = convert.operand(0)->shape().element_type();
  const ElementType to = convert.shape().element_type();
  return from != to && CanUpcast(from, to);
}

bool Narrows(const Instruction& convert) {
  if (convert.opcode() != Opcode::kConvert || convert.has_control_edges()) return false;
  const ElementType from = convert.operand(0)->shape().element_type();
  const ElementType to = convert.shape().element_type();
  return BitWidth(from) > BitWidth(to) && AreSameKind(from, to);
}

// The instruction with moved operands `moved`, in their element type.
Instruction* MoveOther(const Instruction& mover, const std::vector<Instruction*>& moved) {
  std::vector<Instruction*> operands = mover.operand_vector();
  std::copy(moved.begin(), moved.end(), operands.begin());
  return mover.parent()->AddClone(
      mover, mover.shape().WithElementType(moved[0]->shape().element_type()), operands);
}

// op(convert(x), convert(y))  =>  convert(op(x, y)), widening
Instruction* SinkWidening(Instruction* mover) {
  std::vector<Instruction*> sources;
  for (int i = 0; i < MovedOperands(*mover); ++i) {
    Instruction* operand = mover->operand(i);
    if (!Widens(*operand)) return nullptr;
    sources.push_back(operand->operand(0));
    if (sources[0]->shape().element_type() != sources.back()->shape().element_type())
      return nullptr;
  }
  Builder builder(mover->parent());
  builder.set_origin(mover);
  return builder.OpWithShape(Opcode::kConvert, mover->shape(), {MoveOther(*mover, sources)});
}

// convert(op(x, y))  =>  op(convert(x), convert(y)), narrowing
Instruction* HoistNarrowing(Instruction* convert) {
  const Instruction& mover = *convert->operand(0);
  if (!Narrows(*convert) || !IsMover(mover) || mover.use_count() != 1 || mover.is_root())
    return nullptr;
  // A broadcast reads less than it makes; everything else may be larger than what is read of it.
  if (mover.opcode() == Opcode::kSlice || mover.opcode() == Opcode::kDynamicSlice ||
      mover.opcode() == Opcode::kGather)
    return nullptr;
  Builder builder(convert->parent());
  builder.set_origin(convert);
  std::vector<Instruction*> narrow;
  for (int i = 0; i < MovedOperands(mover); ++i)
    narrow.push_back(builder.Convert(mover.operand(i), convert->shape().element_type()));
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

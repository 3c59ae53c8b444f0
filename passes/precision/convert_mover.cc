#include "passes/precision/convert_mover.h"

#include <optional>

#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr OpcodeSet kMovers = {Opcode::kConcatenate, Opcode::kPad, Opcode::kReshape, Opcode::kSlice,
                               Opcode::kTranspose};

bool IsMover(const Instruction& instruction) {
  return kMovers.Has(instruction.opcode()) && !instruction.has_control_edges();
}

bool IsConvert(const Instruction& x) {
  return x.opcode() == Opcode::kConvert && !x.has_control_edges();
}

// Whether few operations know arrays of `type`, several values of which share a byte.
bool IsPacked(ElementType type) { return IsSubByte(type); }

// Whether every value of the constant is one of `type`.
bool FitsInto(const Instruction& constant, ElementType type) {
  if (constant.literal().is_elided()) return false;
  const absl::StatusOr<Literal> narrow = constant.literal().Converted(type);
  if (!narrow.ok()) return false;
  const absl::StatusOr<Literal> back = narrow->Converted(constant.shape().element_type());
  return back.ok() && *back == constant.literal();
}

// The instruction with `operands`, in their element type.
Instruction* MoveOther(const Instruction& mover, const std::vector<Instruction*>& operands) {
  return mover.parent()->AddClone(
      mover, mover.shape().WithElementType(operands[0]->shape().element_type()), operands);
}

// The narrow type of all that `mover` reads, of which constants can have it, too; none if there is
// no such type.
std::optional<ElementType> NarrowSource(const Instruction& mover) {
  std::optional<ElementType> type;
  for (const Instruction* operand : mover.operands()) {
    if (operand->IsConstant()) continue;
    if (!IsConvert(*operand) || !operand->has_one_user()) return std::nullopt;
    const ElementType own = operand->operand(0)->shape().element_type();
    if (type && *type != own) return std::nullopt;
    type = own;
  }
  if (!type || IsPacked(*type) || BitWidth(*type) >= BitWidth(mover.shape().element_type()))
    return std::nullopt;
  for (const Instruction* operand : mover.operands()) {
    if (operand->IsConstant() && !FitsInto(*operand, *type)) return std::nullopt;
  }
  return type;
}

// op(convert(x), convert(y), c)  =>  convert(op(x, y, convert(c))), widening
Instruction* SinkWidening(Instruction* mover) {
  const std::optional<ElementType> type = NarrowSource(*mover);
  if (!type) return nullptr;
  Builder builder(mover->parent());
  builder.set_origin(mover);
  std::vector<Instruction*> sources;
  for (Instruction* operand : mover->operands())
    sources.push_back(operand->IsConstant() ? builder.Convert(operand, *type)
                                            : operand->operand(0));
  return builder.OpWithShape(Opcode::kConvert, mover->shape(), {MoveOther(*mover, sources)});
}

bool Narrows(const Instruction& convert) {
  return IsConvert(convert) && !IsPacked(convert.shape().element_type()) &&
         BitWidth(convert.operand(0)->shape().element_type()) >
             BitWidth(convert.shape().element_type());
}

// convert(op(x, y))  =>  op(convert(x), convert(y)), narrowing
Instruction* HoistNarrowing(Instruction* convert) {
  const Instruction& mover = *convert->operand(0);
  if (!Narrows(*convert) || !IsMover(mover) || !mover.has_one_user() || mover.is_root())
    return nullptr;
  Builder builder(convert->parent());
  builder.set_origin(convert);
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

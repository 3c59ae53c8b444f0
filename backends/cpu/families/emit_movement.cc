// Emission of opcodes that move elements, as far as the CPU has something of its own to say; the
// others are in backends/codegen/movement.h.
#include <algorithm>
#include <utility>

#include "backends/cpu/families/fusion_emitter.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::cpu {

absl::StatusOr<Value> FusionEmitter::EmitUncached(const Instruction* instruction, int result,
                                                  const Index& index) {
  if (const auto it = buffers_.find(instruction); it != buffers_.end()) {
    return LoadElement(it->second + result, Linear(index, instruction->shape().dims()));
  }
  if (IsFusibleElementwise(*instruction)) return EmitElementwise(instruction, index);
  if (instruction->opcode() == Opcode::kReduce) return EmitReduce(instruction, result, index);
  if (instruction->opcode() == Opcode::kReduceWindow)
    return EmitReduceWindow(instruction, result, index);
  if (instruction->opcode() == Opcode::kConcatenate) return EmitConcatenate(instruction, index);
  if (const auto rule = Movement<FusionEmitter>::RuleOf(instruction->opcode()))
    return rule(*this, *instruction, index);
  using Method = absl::StatusOr<Value> (FusionEmitter::*)(const Instruction*, const Index&);
  static constexpr std::pair<Opcode, Method> kMethods[] = {
      {Opcode::kConstant, &FusionEmitter::EmitConstant},
      {Opcode::kReshape, &FusionEmitter::EmitReshape},
      {Opcode::kBitcast, &FusionEmitter::EmitReshape},
      {Opcode::kIota, &FusionEmitter::EmitIota},
      {Opcode::kGetTupleElement, &FusionEmitter::EmitElementOfTuple},
  };
  for (const auto& [opcode, method] : kMethods) {
    if (instruction->opcode() == opcode) return (this->*method)(instruction, index);
  }
  return Unsupported(instruction->loc(), "platform `cpu` cannot run `{}` yet",
                     instruction->opcode_text());
}

absl::StatusOr<Value> FusionEmitter::EmitReshape(const Instruction* instruction,
                                                 const Index& index) {
  const Instruction* operand = instruction->operand(0);
  while (!buffers_.contains(operand) &&
         (operand->opcode() == Opcode::kReshape || operand->opcode() == Opcode::kBitcast))
    operand = operand->operand(0);
  // In memory the place is that of the result, without any division.
  const auto dims = instruction->shape().dims();
  if (const auto it = buffers_.find(operand); it != buffers_.end())
    return LoadElement(it->second, Linear(index, dims));
  return Emit(operand, MapReshape(dims, operand->shape().dims(), index));
}

// ---- concatenations ----

// Whether the loop of `affine` ran in one with the lanes', which is corrected: what is emitted now
// is emitted again.
bool FusionEmitter::SeparateFromLanes(const Affine& affine) {
  for (const Term& term : affine.terms) {
    const Variable& variable = variables_[term.variable];
    if (variable.nest < 0) continue;
    const ActiveNest& nest = *nests_[variable.nest];
    for (const Group& group : nest.groups) {
      if (variable.dim < group.first || variable.dim >= group.last) continue;
      plan_.Separate(*nest.plan, variable.dim);
      return true;
    }
  }
  return false;
}

// Where element `affine` of the dimension of the roll lies in its array. The same for all lanes.
Affine FusionEmitter::PlaceInRoll(const Roll& roll, const Affine& affine) {
  const Range outer = RangeOf(affine);
  std::vector<RolledPiece> pieces;  // that it may be in; the first and the last one have no end
  Range range = {INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < roll.pieces.size(); ++i) {
    const RolledPiece& piece = roll.pieces[i];
    const int64_t lo = i == 0 ? outer.lo : std::max(outer.lo, piece.start);
    const int64_t hi = i + 1 == roll.pieces.size() ? outer.hi : std::min(outer.hi, piece.end - 1);
    if (lo > hi) continue;
    pieces.push_back(piece);
    range = {std::min(range.lo, lo + piece.shift), std::max(range.hi, hi + piece.shift)};
  }
  if (pieces.size() == 1) return Sum(affine, Affine::Constant(pieces[0].shift), 1);
  const Value value = ToValue(affine);
  Value place = b_.Offset(value, pieces.back().shift);
  for (size_t i = pieces.size() - 1; i-- > 0;) {
    place = b_.Select(b_.Less(value, b_.Index(pieces[i].end)), b_.Offset(value, pieces[i].shift),
                      place);
  }
  return Opaque(place, range);
}

// Pieces of one array are one array with another index, as long as lanes do not part; else the loop
// is cut where they do. Pieces that lie in memory are read there: what they were cut from may be
// nothing that a kernel makes.
absl::StatusOr<Value> FusionEmitter::EmitConcatenate(const Instruction* instruction,
                                                     const Index& index) {
  const auto rule = Movement<FusionEmitter>::RuleOf(Opcode::kConcatenate);
  const Roll roll = RollOf(*instruction);
  const auto operands = instruction->operands();
  const bool lie_in_memory = std::any_of(
      operands.begin(), operands.end(),
      [&](const Instruction* piece) { return piece != roll.array && buffers_.contains(piece); });
  if (roll.array == nullptr || lie_in_memory || !FitsLoops(roll, instruction->shape()))
    return rule(*this, *instruction, index);
  const Affine& affine = index[static_cast<size_t>(roll.dim)];
  if (DependsOnLanes(affine)) {
    if (SeparateFromLanes(affine)) return Zero(instruction->shape().element_type());
    return rule(*this, *instruction, index);
  }
  Index places = index;
  for (size_t d = 0; d < places.size(); ++d) {
    if (static_cast<int64_t>(d) != roll.dim) places[d].Add(Affine::Constant(roll.starts[d]));
  }
  places[static_cast<size_t>(roll.dim)] = PlaceInRoll(roll, affine);
  return Emit(roll.array, places);
}

absl::StatusOr<Value> FusionEmitter::EmitElementOfTuple(const Instruction* instruction,
                                                        const Index& index) {
  const Instruction* const tuple = instruction->operand(0);
  const auto element = static_cast<int>(instruction->tuple_index());
  if (const auto it = buffers_.find(tuple); it != buffers_.end()) {
    return LoadElement(it->second + element, Linear(index, instruction->shape().dims()));
  }
  if (tuple->opcode() == Opcode::kTuple) return Emit(tuple->operand(element), index);
  return EmitResult(tuple, element, index);
}

absl::StatusOr<Value> FusionEmitter::EmitIota(const Instruction* instruction, const Index& index) {
  const ElementType type = instruction->shape().element_type();
  const Affine& affine = index[static_cast<size_t>(instruction->attrs<IotaAttrs>().iota_dimension)];
  const Range range = RangeOf(affine);
  const Address address = ToAddress(affine);
  // 32 bits where they are enough: vectors of 64-bit integers convert slowly.
  const bool narrow = range.lo >= INT32_MIN && range.hi <= INT32_MAX;
  const ElementType wide = narrow ? ElementType::kS32 : ElementType::kS64;
  Value value = b_.Convert(address.base, wide);
  if (address.lanes > 1 && !address.per_lane) {
    const Value lanes = b_.Convert(b_.Scale(b_.Iota(address.lanes), address.step), wide);
    value = b_.Element(Opcode::kAdd, wide, {value, lanes});
  }
  return b_.Convert(value, type);
}

// ---- starts known at run time ----

absl::StatusOr<Affine> FusionEmitter::ClampedStart(const Instruction* instruction,
                                                   const Index& index, int64_t limit) {
  if (limit == 0) return Affine();
  ASSIGN_OR_RETURN(Value start, Emit(instruction, index));
  const ElementType type = instruction->shape().element_type();
  if (type == ElementType::kU64) {
    // Before the conversion, which would make large numbers negative.
    const Value most = b_.Constant(type, {static_cast<uint64_t>(limit), 0});
    start = b_.Element(Opcode::kMinimum, type, {start, most});
  }
  start = b_.Convert(start, ElementType::kS64);
  if (!IsUnsigned(type) || type == ElementType::kU64) start = b_.Max(start, b_.Index(0));
  return Opaque(b_.Min(start, b_.Index(limit)), {0, limit});
}

}  // namespace hlo::cpu

#include "passes/layout/host_offload_legalize.h"

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "passes/layout/host_copy_motion.h"
#include "passes/layout/host_places.h"

namespace hlo {
namespace {

using PlaceSet = absl::flat_hash_set<std::pair<const Instruction*, ShapeIndex>>;

// Moves to the host, and parameters that are there by the entry layout.
std::vector<Instruction*> Starts(const std::vector<Computation*>& computations,
                                 const ModuleConfig& config) {
  std::vector<Instruction*> starts;
  for (const Computation* computation : computations) {
    for (Instruction* instruction : computation->instructions()) {
      if (IsMoveToHost(*instruction)) starts.push_back(instruction);
      if (instruction->opcode() != Opcode::kParameter || !computation->is_entry()) continue;
      const auto number = static_cast<size_t>(instruction->parameter_number());
      const std::vector<Shape>& layouts = config.entry_layout.parameters;
      if (number < layouts.size() && layouts[number].IsArray() &&
          MemorySpaceOf(layouts[number]) == kHostMemorySpace)
        starts.push_back(instruction);
    }
  }
  return starts;
}

// The update that an annotated array is written by; null when it is not.
Instruction* UpdateAfter(Instruction* start) {
  Instruction* value = start;
  while (value->has_one_user() || (value == start && value->has_uses())) {
    value = value->users().front();
    if (value->opcode() == Opcode::kDynamicUpdateSlice) return value;
    if (!OnlyChangesForm(*value)) return nullptr;
  }
  return nullptr;
}

// What the offloader can put into the memory of the host.
bool IsTop(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kBroadcast)
    return instruction.operand(0)->IsConstant() &&
           instruction.operand(0)->shape().IsEffectiveScalar();
  return IsMoveToHost(instruction) || IsCustomCall(instruction, "AllocateBuffer");
}

// Of a parameter: with what the loop begins; itself in the entry.
std::optional<HostPlace> CallersPlace(const HostPlace& place) {
  const Computation& computation = *place.instruction->parent();
  if (computation.is_entry()) return place;
  if (computation.callers().size() != 1) return std::nullopt;
  Instruction* const loop = computation.callers()[0].caller;
  if (loop->opcode() != Opcode::kWhile) return std::nullopt;
  return HostPlace{loop->operand(0), place.index};
}

// Where the array at `place` comes from, one step up; itself at the top; nothing when the way up is
// not one that the offloader follows.
std::optional<HostPlace> StepUp(HostPlace place) {
  constexpr OpcodeSet kPassing = {Opcode::kBitcast, Opcode::kReshape, Opcode::kCopy,
                                  Opcode::kOptimizationBarrier};
  Instruction& instruction = *place.instruction;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kWhile) return HostPlace{instruction.while_body()->root(), place.index};
  if (opcode == Opcode::kParameter) return CallersPlace(place);
  if (opcode == Opcode::kTuple) {
    Instruction* const element = instruction.operand(static_cast<int>(place.index.front()));
    return HostPlace{element, ShapeIndex(place.index.begin() + 1, place.index.end())};
  }
  if (opcode == Opcode::kGetTupleElement)
    place.index.insert(place.index.begin(), instruction.tuple_index());
  const bool is_annotated_update =
      opcode == Opcode::kDynamicUpdateSlice && MoveToHostBefore(instruction.operand(1)) != nullptr;
  if (kPassing.Has(opcode) || opcode == Opcode::kGetTupleElement || is_annotated_update)
    return HostPlace{instruction.operand(0), place.index};
  if (IsTop(instruction)) return place;
  return std::nullopt;
}

std::optional<HostPlace> Top(Instruction* update) {
  PlaceSet seen;
  HostPlace place = {update, {}};
  while (seen.emplace(place.instruction, place.index).second) {
    const std::optional<HostPlace> up = StepUp(place);
    if (!up.has_value()) return std::nullopt;
    if (up->instruction == place.instruction && up->index == place.index) return place;
    place = *up;
  }
  return std::nullopt;
}

class Legalization {
 public:
  explicit Legalization(PassContext& context) : context_(context) {}

  bool From(Instruction* start) {
    HostPlace top = {start, {}};
    if (Instruction* const update = UpdateAfter(start)) {
      const std::optional<HostPlace> found = Top(update);
      if (!found.has_value()) return changed_;
      top = *found;
    }
    std::vector<Instruction*> copies;
    if (!Walk(top, copies)) return changed_;
    // Later ones first: they are out of the way then.
    for (size_t i = copies.size(); i > 0; --i) Move(copies[i - 1]);
    return changed_;
  }

 private:
  // The copies after `top` until it is moved to the device. False: the host computes on a slice.
  bool Walk(const HostPlace& top, std::vector<Instruction*>& copies) {
    constexpr OpcodeSet kEnds = {Opcode::kSlice, Opcode::kDynamicSlice};
    PlaceSet seen;
    std::vector<HostPlace> pending = {top};
    while (!pending.empty()) {
      const HostPlace place = pending.back();
      pending.pop_back();
      for (const HostStep& step : StepsAfter(place)) {
        Instruction* const to = step.to.instruction;
        if (step.edge.user == to && IsMoveToDevice(*to)) {
          KeepElementOfLoop(to);
          continue;
        }
        const bool is_copy =
            step.edge.user == to && to->opcode() == Opcode::kCopy && to->shape().IsArray();
        if (kEnds.Has(to->opcode()) && MoveToDeviceAfter(to) == nullptr) return false;
        if (kEnds.Has(to->opcode()) || (!step.same_buffer && !is_copy)) continue;
        if (!seen.emplace(to, step.to.index).second) continue;
        if (is_copy) copies.push_back(to);
        pending.push_back(step.to);
      }
    }
    return true;
  }

  // body: …, tuple(…, MoveToDevice(p{i}), …) at i  =>  …, tuple(…, p{i}, …)
  // In the next iteration it is with the host again.
  void KeepElementOfLoop(const Instruction* move) {
    const Instruction* const element = move->operand(0);
    Computation* const body = move->parent();
    Instruction* const root = body->root();
    if (element->opcode() != Opcode::kGetTupleElement || root->opcode() != Opcode::kTuple ||
        element->operand(0)->opcode() != Opcode::kParameter || body->is_entry() ||
        element->shape() != move->shape() || body->callers().size() != 1 ||
        body->callers()[0].caller->opcode() != Opcode::kWhile)
      return;
    const int index = static_cast<int>(element->tuple_index());
    if (index >= root->operand_count() || root->operand(index) != move) return;
    if (!context_.MayRewrite()) return;
    context_.Passed(*move, "is not returned to the loop");
    context_.Count("elements of loops kept with the host");
    root->ReplaceOperand(index, move->operand(0));
    changed_ = true;
  }

  void Move(Instruction* copy) {
    if (!judged_.insert(copy).second) return;
    std::optional<HostCopyMotion> motion = HostCopyMotion::Find(copy);
    const bool can_swap = IsMoveToHost(*copy->operand(0)) && !copy->has_control_edges();
    if (!motion.has_value() && !can_swap)
      return context_.Missed(*copy, "cannot be made before or after the array is with the host");
    if (!context_.MayRewrite()) return;
    changed_ = true;
    if (motion.has_value()) {
      context_.Passed(*copy, "is made when the device has the array back");
      context_.Count("copies made later");
      motion->Do();
    } else {
      context_.Passed(*copy, "is made before the array is moved to the host");
      context_.Count("copies made before");
      SwapWithMoveToHost(copy);
    }
  }

  PassContext& context_;
  absl::flat_hash_set<const Instruction*> judged_;  // looked up only
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> HostOffloadLegalize::Run(Module& module, PassContext& context) {
  bool changed = false;
  Legalization legalization(context);
  for (Instruction* start : Starts(context.NonFusionComputations(module), module.config())) {
    // Annotations go where copies do.
    if (!start->is_dead() && !start->is_root()) changed |= legalization.From(start);
  }
  return changed;
}

HLO_DEFINE_PASS(HostOffloadLegalize)

}  // namespace hlo

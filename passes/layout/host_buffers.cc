#include "passes/layout/host_buffers.h"

#include "lib/analysis/call_graph.h"
#include "lib/ir/builder.h"
#include "lib/ops/opcode_groups.h"
#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

constexpr std::string_view kAllocateBuffer = "AllocateBuffer";

absl::Status NotAllocated(const Instruction& update, const Instruction& origin) {
  return Error(update.loc(),
               "`{}` updates an array in the memory of the host, which begins with `{}`, a `{}`; "
               "expected a broadcast, in whose place the array can be allocated",
               update.name(), origin.name(), origin.opcode_text());
}

bool IsZero(const Instruction& broadcast) {
  const Instruction& scalar = *broadcast.operand(0);
  return scalar.IsConstant() && scalar.shape().IsEffectiveScalar() && scalar.literal().IsAll(0);
}

// What can be allocated in the memory of the host, under other forms perhaps.
bool CanBeAllocated(const Instruction* value) {
  while (OnlyChangesForm(*value) || IsMoveToHost(*value)) value = value->operand(0);
  return value->opcode() == Opcode::kBroadcast || IsCustomCall(*value, kAllocateBuffer);
}

// The condition of a loop may hand on what the body updates, not compute on it.
absl::Status CheckCondition(const HostPlace& parameter) {
  std::vector<HostPlace> pending = {parameter};
  while (!pending.empty()) {
    const HostPlace place = pending.back();
    pending.pop_back();
    for (const HostStep& step : StepsAfter(place)) {
      if (step.same_buffer) {
        pending.push_back(step.to);
        continue;
      }
      return Error(step.to.instruction->loc(),
                   "`{}` computes on `{}`, which was moved to the host, in the condition of a loop",
                   step.to.instruction->name(), step.edge.value()->name());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status HostBuffers::Find(Instruction* update) {
  const ShapeIndex whole;
  Want({update, 0, update->parent()}, whole);
  while (!pending_.empty()) {
    const Wanted wanted = pending_.back();
    pending_.pop_back();
    RETURN_IF_ERROR(Take(wanted, *update));
  }
  return absl::OkStatus();
}

absl::Status HostBuffers::Take(const Wanted& wanted, const Instruction& update) {
  constexpr OpcodeSet kPassing = {Opcode::kTuple,
                                  Opcode::kGetTupleElement,
                                  Opcode::kOptimizationBarrier,
                                  Opcode::kDynamicUpdateSlice,
                                  Opcode::kWhile,
                                  Opcode::kCall,
                                  Opcode::kConditional};
  Instruction* const value = wanted.edge.value();
  const HostPlace place = {value, wanted.index};
  if (sources_.contains(value)) return absl::OkStatus();
  const Opcode opcode = value->opcode();
  if (opcode == Opcode::kParameter) return TakeParameter(place, update);
  if (opcode == Opcode::kBroadcast) {
    if (!walk_.Has(place)) Allocate(wanted.edge);
    return absl::OkStatus();
  }
  if (IsMoveToHost(*value) && !walk_.Has(place) && !CanBeAllocated(value)) {
    CopyToHost(wanted.edge);
  } else if (kPassing.Has(opcode) || OnlyChangesForm(*value) || IsMoveToHost(*value)) {
    PassOn(place);
  } else if (IsCustomCall(*value, kAllocateBuffer)) {
    TakeAllocation(wanted.edge);
  } else if (!walk_.Has(place)) {
    return NotAllocated(update, *value);
  }
  return absl::OkStatus();
}

// What only hands an array on hands on one in the memory of the host.
void HostBuffers::PassOn(const HostPlace& place) {
  Instruction* const instruction = place.instruction;
  if (!passed_.emplace(instruction, place.index).second) return;
  walk_.Mark(place);
  HostEdge edge = {instruction, 0, instruction->parent()};
  ShapeIndex index = place.index;
  const Opcode opcode = instruction->opcode();
  if (opcode == Opcode::kTuple) {
    edge.operand = static_cast<int>(index.front());
    index.erase(index.begin());
  } else if (opcode == Opcode::kGetTupleElement) {
    index.insert(index.begin(), instruction->tuple_index());
  } else if (CallKindOf(opcode) == CallKind::kControlFlow) {
    const int first = opcode == Opcode::kWhile ? 1 : 0;  // the condition returns something else
    for (int i = first; i < instruction->call_count(); ++i) WantRoot(instruction->call(i), index);
    if (opcode != Opcode::kWhile) return;
  }
  Want(edge, index);
}

absl::Status HostBuffers::TakeParameter(const HostPlace& place, const Instruction& update) {
  Instruction* const parameter = place.instruction;
  const Computation& computation = *parameter->parent();
  const auto passes_on = [](const CallSite& site) {
    const Opcode opcode = site.caller->opcode();
    return kProgramCallers.Has(opcode);
  };
  const bool is_known = computation.is_entry() || !absl::c_all_of(computation.callers(), passes_on);
  if (is_known) return walk_.Has(place) ? absl::OkStatus() : NotAllocated(update, *parameter);
  if (!passed_.emplace(parameter, place.index).second) return absl::OkStatus();
  walk_.Mark(place);
  for (const CallSite& site : computation.callers()) {
    if (site.caller->opcode() == Opcode::kWhile)
      RETURN_IF_ERROR(CheckCondition({site.caller->while_condition()->parameter(0), place.index}));
    int operand = static_cast<int>(parameter->parameter_number());
    if (site.caller->opcode() == Opcode::kConditional) operand = site.call_index + 1;
    Want({site.caller, operand, site.caller->parent()}, place.index);
  }
  return absl::OkStatus();
}

// For one reader: others may need the broadcast. Nobody reads what is not written, so zeros, with
// which an interpreter fills buffers, need not be there; other values are kept.
void HostBuffers::Allocate(const HostEdge& edge) {
  Instruction* const broadcast = edge.value();
  Computation* const computation = broadcast->parent();
  if (IsZero(*broadcast)) {
    const Shape shape = WithMemorySpace(broadcast->shape(), {}, kHostMemorySpace);
    CustomCallAttrs attrs;
    attrs.custom_call_target = std::string(kAllocateBuffer);
    Builder builder(computation, broadcast);
    Instruction* const buffer =
        builder.OpWithShape(Opcode::kCustomCall, shape, {}, AttrsPtr::Make(std::move(attrs)));
    walk_.Mark({buffer, {}});
    edge.Redirect(buffer);
  } else {
    CopyToHost(edge);
  }
  if (!broadcast->is_used() && !broadcast->has_control_edges()) computation->Remove(broadcast);
}

void HostBuffers::CopyToHost(const HostEdge& edge) {
  Instruction* const value = edge.value();
  Instruction* const copy =
      CopyWithLayouts(value, WithMemorySpace(value->shape(), {}, kHostMemorySpace));
  walk_.Mark({copy, {}});
  edge.Redirect(copy);
}

// The allocation itself where all who use it have it in the memory of the host, else another one.
void HostBuffers::TakeAllocation(const HostEdge& edge) {
  Instruction* const buffer = edge.value();
  const std::vector<HostStep> steps = StepsAfter({buffer, {}});
  const bool is_ours =
      absl::c_all_of(steps, [&](const HostStep& step) { return walk_.Has(step.to); });
  if (is_ours) return walk_.Mark({buffer, {}});
  Instruction* const own = buffer->parent()->AddClone(
      *buffer, WithMemorySpace(buffer->shape(), {}, kHostMemorySpace), buffer->operand_vector());
  walk_.Mark({own, {}});
  edge.Redirect(own);
}

}  // namespace hlo

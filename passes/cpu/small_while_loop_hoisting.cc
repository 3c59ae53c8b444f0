#include "passes/cpu/small_while_loop_hoisting.h"

#include <algorithm>

#include "lib/analysis/cost.h"
#include "lib/ir/call_order.h"
#include "lib/ir/outline.h"
#include "lib/support/decision.h"

namespace hlo {
namespace {

constexpr std::string_view kSmallCall = "xla_cpu_small_call";
constexpr double kPointer = 8;  // of a table of addresses

// What no single function does.
constexpr OpcodeSet kNotInside = {
    Opcode::kCustomCall,       Opcode::kFft,         Opcode::kInfeed,
    Opcode::kOutfeed,          Opcode::kSort,        Opcode::kTopK,
    Opcode::kSelectAndScatter, Opcode::kScatter,     Opcode::kSend,
    Opcode::kSendDone,         Opcode::kRecv,        Opcode::kRecvDone,
    Opcode::kReplicaId,        Opcode::kPartitionId, Opcode::kAsyncStart};

double BytesOf(const Computation& computation);

// Of one iteration of a loop, and of the longest branch.
double BytesOf(const Instruction& instruction) {
  double inside = 0;
  const bool branches = instruction.opcode() == Opcode::kConditional;
  if (branches || instruction.opcode() == Opcode::kWhile || instruction.opcode() == Opcode::kCall) {
    for (const Computation* callee : instruction.calls())
      inside = branches ? std::max(inside, BytesOf(*callee)) : inside + BytesOf(*callee);
    return inside;
  }
  return instruction.opcode() == Opcode::kTuple ? kPointer * instruction.operand_count()
                                                : CostOf(instruction).bytes;
}

double BytesOf(const Computation& computation) {
  double bytes = 0;
  for (const Instruction* instruction : computation.instructions()) bytes += BytesOf(*instruction);
  return bytes;
}

// Buffers, tokens and what is started and not done do not go through calls.
bool IsOfArrays(Shape state) {
  if (!state.IsTuple()) return state.IsArray();
  return absl::c_all_of(state.elements(), [](const Shape& element) { return element.IsArray(); });
}

Decision CanBeHoisted(const Instruction& loop, int64_t byte_threshold) {
  if (!IsOfArrays(loop.shape())) return No("its state `{}` is not of arrays alone", loop.shape());
  for (const Computation* part : loop.calls()) {
    std::vector<const Computation*> all(1, part);
    for (const Computation* callee : CalleesOf(*part)) all.push_back(callee);
    for (const Computation* computation : all) {
      for (const Instruction* instruction : computation->instructions()) {
        if (kNotInside.Has(instruction->opcode()) || HasTrait(instruction->opcode(), kCollective))
          return No("`{}` in it is no part of one function", instruction->name());
      }
    }
  }
  if (const double bytes = BytesOf(loop); bytes >= static_cast<double>(byte_threshold))
    return No("an iteration touches {:.0f} bytes, not fewer than {}", bytes, byte_threshold);
  return Yes();
}

}  // namespace

absl::StatusOr<bool> SmallWhileLoopHoisting::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() != Opcode::kWhile) continue;
      if (!context.Allowed(*instruction, CanBeHoisted(*instruction, options_.byte_threshold)))
        continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*instruction, "becomes a function");
      context.Count("hoisted");
      const std::string name = fmt::format("{}_computation", instruction->name());
      Instruction* const call = OutlineInOrder({instruction}, {.computation = name});
      Extras& extras = call->mutable_extras();
      extras.backend_config = {};  // of the loop
      extras.frontend_attributes[std::string(kSmallCall)] = "true";
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(SmallWhileLoopHoisting)

}  // namespace hlo

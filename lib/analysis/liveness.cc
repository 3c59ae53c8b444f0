#include "lib/analysis/liveness.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "lib/analysis/call_graph.h"
#include "lib/analysis/leaves.h"
#include "lib/analysis/side_effects.h"
#include "lib/ir/any_instruction.h"

namespace hlo {
namespace {

// Whether a leaf of the result needs leaves of what is called rather than all of it.
bool SeesThroughCall(Opcode opcode) {
  return CallKindOf(opcode) == CallKind::kControlFlow && opcode != Opcode::kAsyncStart;
}

}  // namespace

Liveness::Liveness(const Module& module) : live_(module.id_limit()) {
  Seed(module);
  while (!worklist_.empty()) {
    const Pending pending = worklist_.back();
    worklist_.pop_back();
    Propagate(pending);
  }
}

bool Liveness::IsLive(const Instruction& instruction, int64_t leaf) const {
  const std::vector<bool>& bits = live_[instruction.id()];
  return !bits.empty() && bits[static_cast<size_t>(leaf)];
}

bool Liveness::AnyLive(const Instruction& instruction) const {
  return !live_[instruction.id()].empty();
}

void Liveness::Seed(const Module& module) {
  SideEffects effects;
  MarkAll(module.entry()->root());
  for (const Computation* computation : module.computations()) {
    for (const CallSite& site : computation->callers()) {
      if (!SeesThroughCall(site.caller->opcode()))
        MarkAll(computation->root());  // needed as a whole, if at all
    }
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->has_control_edges() || effects.Of(*instruction)) MarkAll(instruction);
    }
  }
}

void Liveness::MarkAll(const Instruction* instruction) {
  Mark(instruction, 0, LeafCount(instruction->shape()));
}

void Liveness::Mark(const Instruction* instruction, int64_t first, int64_t count) {
  std::vector<bool>& bits = live_[instruction->id()];
  // A value without leaves has one bit that says whether it is needed at all.
  if (bits.empty())
    bits.assign(static_cast<size_t>(std::max<int64_t>(LeafCount(instruction->shape()), 1)), false);
  bool news = false;
  const auto begin = static_cast<size_t>(first);
  for (size_t i = begin; i < begin + static_cast<size_t>(std::max<int64_t>(count, 1)); ++i) {
    if (i >= bits.size()) break;
    news |= !bits[i];
    bits[i] = true;
  }
  if (news) worklist_.push_back({instruction, first, count});
}

void Liveness::Propagate(const Pending& pending) {
  const Instruction& value = *pending.instruction;
  const int64_t end = pending.first + pending.count;
  for (const Instruction* before : value.control_predecessors()) MarkAll(before);
  const Opcode opcode = value.opcode();
  if (opcode == Opcode::kParameter) {
    PropagateToCallers(value, pending);
  } else if (opcode == Opcode::kTuple) {
    int64_t leaf = 0;
    for (const Instruction* element : value.operands()) {
      const int64_t leaves = LeafCount(element->shape());
      const int64_t from = std::max(leaf, pending.first);
      const int64_t to = std::min(leaf + leaves, end);
      if (from < to) Mark(element, from - leaf, to - from);
      leaf += leaves;
    }
  } else if (opcode == Opcode::kGetTupleElement) {
    const Instruction* tuple = value.operand(0);
    Mark(tuple, FirstLeaf(tuple->shape(), value.tuple_index()) + pending.first, pending.count);
  } else if (opcode == Opcode::kCall) {
    Mark(value.to_apply()->root(), pending.first, pending.count);
  } else if (opcode == Opcode::kWhile) {
    Mark(value.while_body()->root(), pending.first, pending.count);
    MarkAll(value.while_condition()->root());
    Mark(value.operand(0), pending.first, pending.count);
  } else if (opcode == Opcode::kConditional) {
    MarkAll(value.operand(0));
    for (const Computation* branch : value.calls())
      Mark(branch->root(), pending.first, pending.count);
  } else {
    for (const Instruction* operand : value.operands()) MarkAll(operand);
  }
}

void Liveness::PropagateToCallers(const Instruction& parameter, const Pending& pending) {
  for (const CallSite& site : parameter.parent()->callers()) {
    const Instruction& caller = *site.caller;
    if (caller.opcode() == Opcode::kWhile) {
      Mark(&caller, pending.first, pending.count);
    } else if (caller.opcode() == Opcode::kConditional) {
      Mark(caller.operand(site.call_index + 1), pending.first, pending.count);
    } else if (caller.opcode() == Opcode::kCall) {
      Mark(caller.operand(static_cast<int>(parameter.parameter_number())), pending.first,
           pending.count);
    }
    // Others mark their operands themselves when they are live.
  }
}

std::string Liveness::Mistake(const Module& module) const {
  const Liveness fresh(module);
  for (const Instruction* instruction : AllInstructions(module)) {
    const uint32_t id = instruction->id();
    const bool is_same = id < live_.size() ? live_[id] == fresh.live_[id] : fresh.live_[id].empty();
    if (!is_same) return fmt::format("other leaves of `{}` are needed now", instruction->name());
  }
  return "";
}

std::string Liveness::ToString(const Module& module) {
  const Liveness liveness(module);
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    text += fmt::format("{}:\n", computation->name());
    for (const Instruction* instruction : computation->PostOrder()) {
      std::vector<int64_t> live;
      const int64_t count = LeafCount(instruction->shape());
      for (int64_t leaf = 0; liveness.AnyLive(*instruction) && leaf < count; ++leaf) {
        if (liveness.IsLive(*instruction, leaf)) live.push_back(leaf);
      }
      text += fmt::format("  {}: ", instruction->name());
      if (!liveness.AnyLive(*instruction)) {
        text += "dead\n";
      } else if (std::ssize(live) == count) {
        text += "live\n";
      } else {
        text += fmt::format("leaves {} of {}\n", fmt::join(live, ", "), count);
      }
    }
  }
  return text;
}

}  // namespace hlo

#include "passes/schedule/remat_model.h"

#include <algorithm>

#include "lib/analysis/call_graph.h"
#include "lib/analysis/cost.h"
#include "lib/analysis/logical_buffers.h"
#include "lib/ops/async_pairs.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/round.h"

namespace hlo::remat {

int64_t Model::BytesOf(Shape node) const {
  const int64_t multiple = options_.minor_multiple;
  if (multiple <= 1 || !node.IsArray() || node.rank() == 0 || node.byte_size() == 0)
    return NodeBytes(node);
  const int64_t minor = node.dim(
      node.has_layout() ? static_cast<int>(node.layout().minor_to_major[0]) : node.rank() - 1);
  return NodeBytes(node) / minor * RoundUp(minor, multiple);
}

int64_t Model::DeviceBytesOf(Shape node) const {
  const bool is_at_host = options_.host_offload && node.IsArray() && node.has_layout() &&
                          node.layout().memory_space == options_.host_memory_space;
  return is_at_host ? 0 : BytesOf(node);
}

Shape Model::Compact(Shape array) const {
  if (options_.compact_shape_function != "swap_minor" || array.rank() < 2 || !array.has_layout())
    return array;
  Layout layout = array.layout();
  const auto minor = static_cast<int>(layout.minor_to_major[0]);
  const auto second = static_cast<int>(layout.minor_to_major[1]);
  if (array.dim(second) <= array.dim(minor)) return array;
  std::swap(layout.minor_to_major[0], layout.minor_to_major[1]);
  return array.WithLayout(layout);
}

Shape Model::AtHost(Shape array) const {
  Layout layout = array.layout();
  layout.memory_space = options_.host_memory_space;
  return array.WithLayout(layout);
}

// ---- time ----

float Model::SecondsOf(const Instruction& instruction) {
  if (HasTrait(instruction.opcode(), kAsyncStart) || HasTrait(instruction.opcode(), kAsyncDone))
    return 0;  // beside what else is done
  const auto [it, is_new] = seconds_.try_emplace(&instruction, 0);
  if (!is_new) return it->second;
  float seconds = 0;
  const auto takes = [&](double amount, double rate) {
    if (rate > 0) seconds = std::max(seconds, static_cast<float>(amount / rate));
  };
  if (CallKindOf(instruction.opcode()) == CallKind::kControlFlow) {
    const bool is_choice = instruction.opcode() == Opcode::kConditional;
    for (const Computation* callee : instruction.calls()) {
      const float inside = SecondsOfBody(*callee);
      seconds = is_choice ? std::max(seconds, inside) : seconds + inside;
    }
  } else {
    const Cost cost = CostOf(instruction);
    takes(cost.flops, options_.flops_per_second);
    takes(cost.transcendentals, options_.transcendentals_per_second);
    takes(cost.bytes, options_.bytes_per_second);
  }
  return seconds_[&instruction] = seconds;
}

float Model::SecondsOfBody(const Computation& computation) {
  const auto [it, is_new] = body_seconds_.try_emplace(&computation, 0);
  if (!is_new) return it->second;
  float seconds = 0;
  for (const Instruction* instruction : computation.instructions())
    seconds += SecondsOf(*instruction);
  return body_seconds_[&computation] = seconds;
}

float Model::SecondsToHost(int64_t bytes) const {
  return static_cast<float>(bytes) /
         static_cast<float>(options_.bandwidth_to_host_bytes_per_second);
}

float Model::SecondsFromHost(int64_t bytes) const {
  return static_cast<float>(bytes) /
         static_cast<float>(options_.bandwidth_from_host_bytes_per_second);
}

// ---- what may be computed twice ----

namespace {

template <class A>
bool Constrains(const AttrsPtr& attrs) {
  return attrs.Is<A>() && attrs.Get<A>().constrain_layout;
}

}  // namespace

bool CanBeRecomputed(const Instruction& instruction, SideEffects& effects) {
  static constexpr OpcodeSet kNever = {Opcode::kCall,       Opcode::kConstant, Opcode::kConditional,
                                       Opcode::kCustomCall, Opcode::kWhile,    Opcode::kParameter};
  // The devices compute it again together. Halves that end something do not stand for themselves.
  static constexpr OpcodeSet kCollectives = {Opcode::kAllGather,     Opcode::kAllGatherStart,
                                             Opcode::kAllReduce,     Opcode::kAllReduceStart,
                                             Opcode::kAllToAll,      Opcode::kCollectiveBroadcast,
                                             Opcode::kReduceScatter, Opcode::kRaggedAllToAll};
  const Opcode opcode = instruction.opcode();
  const Shape shape = instruction.shape();
  // Copies that somebody put there to have two of it.
  if (opcode == Opcode::kCopy && shape.IsArray() && shape.has_layout() &&
      instruction.operand(0)->shape().has_layout() &&
      shape.layout() == instruction.operand(0)->shape().layout())
    return false;
  if (kCollectives.Has(opcode)) {
    // A second start, for some of those who read it, would have no done.
    if (YieldsUnderWay(opcode) && !instruction.has_one_user()) return false;
    const AttrsPtr& attrs = instruction.attrs_ptr();
    return !Constrains<AllReduceAttrs>(attrs) && !Constrains<AllGatherAttrs>(attrs) &&
           !Constrains<ReduceScatterAttrs>(attrs) && !Constrains<AllToAllAttrs>(attrs);
  }
  return !kNever.Has(opcode) && !effects.Of(instruction);
}

}  // namespace hlo::remat

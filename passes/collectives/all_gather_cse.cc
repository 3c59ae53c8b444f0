#include "passes/collectives/all_gather_cse.h"

#include <map>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/forwarding.h"
#include "lib/analysis/reachability.h"
#include "lib/ir/compare.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// A leaf of a parameter, converted to these types on the way.
struct GatheredParameter {
  const Instruction* parameter = nullptr;
  int64_t leaf = 0;
  std::vector<ElementType> conversions;

  std::string Key() const {
    std::string key = fmt::format("{} {}", parameter->parameter_number(), leaf);
    for (const ElementType type : conversions) key += fmt::format(" {}", Text(type));
    return key;
  }
};

constexpr OpcodeSet kTracedThrough = {Opcode::kGetTupleElement, Opcode::kTuple,
                                      Opcode::kOptimizationBarrier};

GatheredParameter TraceParameter(const Instruction* value) {
  GatheredParameter traced;
  for (;;) {
    if (value->opcode() == Opcode::kParameter) {
      traced.parameter = value;
      return traced;
    }
    if (value->opcode() == Opcode::kConvert) {
      traced.conversions.push_back(value->shape().element_type());
      value = value->operand(0);
      continue;
    }
    if (!kTracedThrough.Has(value->opcode())) return {};
    const std::vector<LeafSource> sources = ForwardedLeaves(*value, /*dense=*/false);
    if (sources.empty()) return {};
    const LeafSource source = sources[static_cast<size_t>(traced.leaf)];
    if (source.operand < 0) return {};
    traced.leaf = source.leaf;
    value = value->operand(source.operand);
  }
}

// What XLA tells gathers of one parameter apart by; channels count.
bool GatherTheSame(const Instruction& a, const Instruction& b) {
  CompareOptions options;
  options.compare_sharding = false;
  options.compare_control_edges = false;
  options.compare_frontend_attributes = false;
  return SameNode(a, b, options);
}

// Whether each instruction stands after all that it needs.
bool StandsInOrder(const Computation& computation) {
  absl::flat_hash_set<const Instruction*> before;  // looked up only
  const auto is_before = [&](const Instruction* needed) { return before.contains(needed); };
  for (const Instruction* instruction : computation.instructions()) {
    if (!absl::c_all_of(instruction->operands(), is_before) ||
        !absl::c_all_of(instruction->control_predecessors(), is_before))
      return false;
    before.insert(instruction);
  }
  return true;
}

// Gathers in the order of the text, which says which of them is the first.
class GatherMerger {
 public:
  GatherMerger(Computation& computation, PassContext& context)
      : computation_(computation), context_(context), is_in_order_(StandsInOrder(computation)) {}

  bool Run() {
    bool changed = false;
    for (Instruction* gather : computation_.instruction_vector()) {
      if (gather->opcode() != Opcode::kAllGather || !gather->shape().IsArray()) continue;
      const GatheredParameter traced = TraceParameter(gather->operand(0));
      if (traced.parameter == nullptr) {
        context_.Missed(*gather, "what it gathers is no parameter");
        continue;
      }
      const auto [it, is_first] = first_.emplace(traced.Key(), gather);
      Instruction* const earlier = it->second;
      if (is_first || !GatherTheSame(*gather, *earlier) || NeedsFirst(*earlier, *gather)) continue;
      if (!context_.MayRewrite()) return changed;
      context_.Passed(*gather, "`{}` has gathered the same", earlier->name());
      TakeInstead(gather, earlier);
      context_.Count("merged");
      changed = true;
    }
    return changed;
  }

 private:
  // Where passes have added instructions, what stands before another one may need it.
  bool NeedsFirst(const Instruction& earlier, const Instruction& gather) const {
    return !is_in_order_ && Reachability(computation_).DependsOn(&earlier, &gather);
  }

  // The earlier one is left as it is. One with control edges stays, without readers.
  void TakeInstead(Instruction* gather, Instruction* earlier) {
    gather->ReplaceAllUsesWith(earlier);
    if (gather->is_root()) computation_.set_root(earlier);
    if (!gather->has_control_edges()) computation_.RemoveUnused(gather);
  }

  Computation& computation_;
  PassContext& context_;
  const bool is_in_order_;
  std::map<std::string, Instruction*> first_;
};

}  // namespace

absl::StatusOr<bool> AllGatherCse::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kAllGather}))
    changed |= GatherMerger(*computation, context).Run();
  return changed;
}

HLO_DEFINE_PASS(AllGatherCse)

}  // namespace hlo

#include "passes/control_flow/collective_pipeliner.h"

#include <algorithm>

#include "lib/support/strings.h"
#include "passes/control_flow/pipeline_backward.h"
#include "passes/control_flow/pipeline_forward.h"
#include "passes/control_flow/pipeline_sink.h"
#include "passes/simplify/dce.h"

namespace hlo {
namespace {

enum class PipelineDirection { kForward, kBackward, kForwardSink };

struct DirectionInfo {
  std::string_view name;
  PipelineDirection direction;
  OpcodeSet opcodes;
};
constexpr DirectionInfo kDirections[] = {
    {"forward", PipelineDirection::kForward, {Opcode::kAllReduce, Opcode::kReduceScatter}},
    {"backward", PipelineDirection::kBackward, {Opcode::kAllGather}},
    {"forwardsink", PipelineDirection::kForwardSink, {Opcode::kAllReduce}}};

absl::StatusOr<OpcodeSet> CollectivesOf(const CollectivePipelinerOptions& options,
                                        const OpcodeSet& usual) {
  if (options.ops.empty()) return usual;
  OpcodeSet opcodes;
  for (const std::string_view text : hlo::Split(options.ops, ',')) {
    const std::optional<Opcode> opcode = OpcodeFromText(text);
    if (!opcode || !HasTrait(*opcode, kCollective) || HasTrait(*opcode, kAsyncStart) ||
        HasTrait(*opcode, kAsyncDone))
      return Error("ops: expected collectives, separated by commas, got `{}`", text);
    opcodes.Insert(*opcode);
  }
  return opcodes;
}

class Pipeliner {
 public:
  Pipeliner(Module& module, PassContext& context, PipelineDirection direction,
            PipelineLimits limits)
      : context_(context),
        direction_(direction),
        limits_(limits),
        delayed_size_(limits.delayed_size),
        copier_(module) {}

  // Whether something moved.
  absl::StatusOr<bool> Visit(Instruction* loop) {
    if (!loop->while_body()->MayHoldAny(limits_.opcodes)) return false;
    switch (direction_) {
      case PipelineDirection::kForward: {
        const auto find = [&](const PipelinedLoop& found) {
          return FindPipelinedStores(found, limits_, StoreTarget::kNextIteration, context_);
        };
        return Move(loop, find, [&](const auto& found, const auto& stores) {
          return PipelineForward(found, stores, limits_, copier_);
        });
      }
      case PipelineDirection::kBackward: {
        const auto find = [&](const PipelinedLoop& found) {
          return FindPipelinedGathers(found, limits_, context_);
        };
        return Move(loop, find, [&](const auto& found, const auto& gathers) {
          return PipelineBackward(found, gathers, copier_);
        });
      }
      case PipelineDirection::kForwardSink: {
        const auto find = [&](const PipelinedLoop& found) {
          return FindPipelinedStores(found, limits_, StoreTarget::kAfterLoop, context_);
        };
        // Until nothing is left: what sinks last may have kept others back.
        bool changed = false;
        for (bool moved = true; moved; changed |= moved) {
          ASSIGN_OR_RETURN(moved, Move(loop, find, SinkCollectives));
        }
        limits_.delayed_size = std::numeric_limits<int64_t>::max();
        ASSIGN_OR_RETURN(const bool moved, Move(loop, find, SinkCollectives));
        limits_.delayed_size = delayed_size_;
        return changed || moved;
      }
    }
    return false;
  }

 private:
  static Instruction* FirstOf(const PipelinedStore& store) { return store.collectives.front(); }
  static Instruction* FirstOf(const PipelinedGather& gather) { return gather.collective; }

  template <class Find, class Apply>
  absl::StatusOr<bool> Move(Instruction* loop, const Find& find, const Apply& apply) {
    PipelinedLoop found;
    if (!context_.Allowed(*loop, FindPipelinedLoop(loop, found))) return false;
    auto moves = find(found);
    if (moves.empty() || !context_.MayRewrite()) return false;
    if (loop->while_body()->callers().size() > 1 || loop->while_condition()->callers().size() > 1) {
      UnshareComputations(loop, copier_);
      moves = find(found);
    }
    for (const auto& move : moves)
      context_.Passed(*FirstOf(move), "moves out of its iteration of `{}`", loop->name());
    context_.Count("moved", static_cast<int64_t>(moves.size()));
    RETURN_IF_ERROR(apply(found, moves));
    return true;
  }

  PassContext& context_;
  PipelineDirection direction_;
  PipelineLimits limits_;
  const int64_t delayed_size_;
  IterationCopier copier_;
};

bool RemoveMarks(const std::vector<Computation*>& computations, PassContext& context) {
  bool changed = false;
  for (Computation* computation : computations) {
    for (Instruction* mark : computation->instruction_vector()) {
      if (!IsMarked(*mark) || mark->shape() != mark->operand(0)->shape() || !context.MayRewrite())
        continue;
      computation->Replace(mark, mark->operand(0));
      changed = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> CollectivePipeliner::Run(Module& module, PassContext& context) {
  const auto* const direction =
      std::find_if(std::begin(kDirections), std::end(kDirections),
                   [&](const DirectionInfo& info) { return options_.direction == info.name; });
  PipelineLimits limits;
  ASSIGN_OR_RETURN(limits.opcodes, CollectivesOf(options_, direction->opcodes));
  limits.max_per_loop = options_.max_pipelining_per_loop;
  limits.level = options_.level_to_operate_on;
  limits.use_tree = options_.pipeline_use_tree;
  limits.different_sizes = options_.process_different_sized_ops;
  limits.invariants_in_chain = options_.should_add_loop_invariant_op_in_chain;
  limits.variants_in_chain = options_.should_allow_loop_variant_parameter_in_chain;
  limits.control_edges = options_.should_allow_control_dependencies;
  limits.reuse_buffer = options_.reuse_pipelined_op_buffer;
  limits.last_run = options_.last_run;
  limits.delayed_size = options_.collective_size_threshold_to_delay_sinking;

  bool changed = false;
  Pipeliner pipeliner(module, context, direction->direction, limits);
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    for (Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      ASSIGN_OR_RETURN(const bool moved, pipeliner.Visit(loop));
      changed |= moved;
    }
  }
  if (options_.last_run &&
      RemoveMarks({module.computations().begin(), module.computations().end()}, context))
    changed = true;
  if (changed) RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return changed;
}

// As HLO_DEFINE_PASS, for one class under several names, those of XLA say the direction.
MadePass MakeCollectivePipeliner(const OptionTexts& options, std::string_view name) {
  constexpr std::string_view kPrefix = "collective-pipeliner-";
  OptionTexts texts = options;
  if (name.starts_with(kPrefix))
    texts.insert(texts.begin(), {"direction", std::string(name.substr(kPrefix.size())), true, {}});
  return internal::MakeWithOptions<CollectivePipeliner>(texts, name);
}
HLO_DEFINE_PASS_FACTS(CollectivePipeliner)

}  // namespace hlo

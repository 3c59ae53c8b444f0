#include "passes/collectives/all_reduce_simplifier.h"

#include <optional>

#include "lib/analysis/device_groups.h"
#include "lib/analysis/region.h"
#include "lib/analysis/replication.h"
#include "lib/ir/async_chain.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// What is known instead of a collective: its operand, `times` over.
struct Known {
  Instruction* collective;
  Instruction* operand;
  int64_t times = 1;
};

bool KeepsShape(const Instruction& collective) {
  return (collective.opcode() == Opcode::kAllGather ||
          collective.opcode() == Opcode::kReduceScatter) &&
         collective.operand_count() == 1 &&
         Compatible(collective.shape(), collective.operand(0)->shape());
}

// async-done(async-start(x)) of an all-gather or reduce-scatter that keeps its shape
std::optional<Known> FindAsync(Instruction* done) {
  const Instruction* start = AsyncStartOf(*done);
  if (start == nullptr || start->opcode() != Opcode::kAsyncStart) return std::nullopt;
  if (done->operand(0) != start || start->operand_count() != 1 || !start->has_one_user() ||
      start->has_control_edges() || !KeepsShape(*start->call(0)->root()) ||
      start->call(0)->root()->operand(0)->opcode() != Opcode::kParameter)
    return std::nullopt;
  return Known{done, start->operand(0)};
}

class KnownResults {
 public:
  KnownResults(Module& module, PassContext& context)
      : context_(context),
        same_(context.analyses().Get<Values>(module), Replication::Across::kReplicas) {}

  std::optional<Known> Find(Instruction* instruction) const {
    if (KeepsShape(*instruction)) return Known{instruction, instruction->operand(0)};
    if (instruction->opcode() == Opcode::kAsyncDone) return FindAsync(instruction);
    if (instruction->opcode() == Opcode::kAllReduce && instruction->shape().IsArray())
      return FindReduce(instruction);
    return std::nullopt;
  }

 private:
  std::optional<Known> FindReduce(Instruction* reduce) const {
    const std::optional<int64_t> size = GroupSize(*reduce);
    if (!size) {
      context_.Missed(*reduce, "its groups are not equally large");
      return std::nullopt;
    }
    Instruction* const x = reduce->operand(0);
    if (*size == 1) return Known{reduce, x};
    if (*GroupModeOf(*reduce) != GroupMode::kCrossReplica) {
      context_.Missed(*reduce, "it combines partitions");
      return std::nullopt;
    }
    if (!same_.Of(*x)) {
      context_.Missed(*reduce, "its operand is not known to be the same on all replicas");
      return std::nullopt;
    }
    const std::optional<Opcode> combine = CombinerOpcode(*reduce->to_apply());
    if (combine && IsIdempotent(*combine)) return Known{reduce, x};
    const ElementType type = reduce->shape().element_type();
    if (combine == Opcode::kAdd && !IsPred(type)) return Known{reduce, x, *size};
    context_.Missed(*reduce, "its combiner is no add, minimum, maximum, and, or");
    return std::nullopt;
  }

  PassContext& context_;
  Replication same_;
};

Instruction* Multiplied(const Known& known, PassContext& context) {
  if (known.times == 1) return known.operand;
  Rewriter b(known.collective->parent(), context, known.collective);
  const Shape shape = known.operand->shape();
  Instruction* times = b.Convert(
      b.ScalarConstant(ElementType::kS32, static_cast<double>(known.times)), shape.element_type());
  return b.Multiply(known.operand, b.Broadcast(times, shape.dims(), {}));
}

}  // namespace

absl::StatusOr<bool> AllReduceSimplifier::Run(Module& module, PassContext& context) {
  constexpr OpcodeSet kRoots = {Opcode::kAllGather, Opcode::kReduceScatter, Opcode::kAllReduce,
                                Opcode::kAsyncDone};
  const std::vector<Computation*> computations = context.NonFusionComputations(module, kRoots);
  if (computations.empty()) return false;
  // What is known is about values, which stay as they are: all is found before anything changes.
  std::vector<Known> found;
  const KnownResults known_results(module, context);
  for (Computation* computation : computations) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (const std::optional<Known> known = known_results.Find(instruction))
        found.push_back(*known);
    }
  }
  bool changed = false;
  for (const Known& known : found) {
    if (!context.MayRewrite()) return changed;
    Known now = known;
    const bool is_async = known.collective->opcode() == Opcode::kAsyncDone;
    Instruction* const start = is_async ? known.collective->operand(0) : nullptr;
    now.operand = (is_async ? start : known.collective)->operand(0);
    if (!Compatible(now.operand->shape(), known.collective->shape())) continue;  // wider sums
    // The operand would take them over, which may be needed before what they wait for.
    if (known.collective->has_control_edges()) continue;
    // An asynchronous body holds one operation.
    if (known.times != 1 && IsAsyncBody(*known.collective->parent())) continue;
    const uint32_t first_new = module.id_limit();
    context.Passed(*known.collective, "`{}` is known to be its result", now.operand->name());
    ReplaceKeepingExtras(known.collective, Multiplied(now, context), first_new);
    if (is_async) start->parent()->RemoveUnused(start);
    context.Count("simplified");
    changed = true;
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

HLO_DEFINE_PASS(AllReduceSimplifier)

}  // namespace hlo

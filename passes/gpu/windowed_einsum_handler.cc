#include "passes/gpu/windowed_einsum_handler.h"

#include <map>

#include "lib/ops/opcode_groups.h"
#include "passes/algsimp/algebraic_simplifier.h"
#include "passes/control_flow/while_loop_unroller.h"
#include "passes/gpu/all_to_all_products.h"
#include "passes/gpu/windowed_f8.h"
#include "passes/gpu/windowed_gathers.h"
#include "passes/gpu/windowed_loops.h"
#include "passes/simplify/constant_folding.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

constexpr std::string_view kStays = "skip-simplify-while-loops_trip-count-one";

// Which loop is one of ours, by the serial number of its body: simplifying it may take products
// away, or the loop.
using Kinds = std::map<uint32_t, WindowedKind>;

std::vector<WindowedLoop> LoopsOf(const Kinds& kinds, const Module& module, PassContext& context) {
  std::vector<WindowedLoop> loops;
  for (const Computation* body : context.NonFusionComputations(module)) {
    const auto it = kinds.find(body->serial());
    if (it != kinds.end() && body->callers().size() == 1)
      loops.push_back({body->callers()[0].caller, it->second});
  }
  return loops;
}

absl::StatusOr<bool> Unroll(const std::vector<WindowedLoop>& loops, int64_t first_queue,
                            Module& module, PassContext& context) {
  bool changed = false;
  LoopUnroller unroller(module);
  for (const auto& [loop, kind] : loops) {
    UnrollPlan plan;
    Decision decision = PlanUnrolling(loop, plan);
    if (decision && loop->while_body()->MayHoldAny(kProgramCallers))
      decision = No("its body calls computations");
    if (decision && plan.counted.trip_count == 0) decision = No("it does not run");
    if (!context.Allowed(*loop, decision)) continue;
    const LoopUnroller::OnceNames names = {
        fmt::format("unrolled_{}", loop->while_body()->name()),
        fmt::format("unrolled_{}", loop->while_condition()->name())};
    ASSIGN_OR_RETURN(Instruction * once, unroller.UnrollIntoLoop(plan, names, context));
    if (once == nullptr) continue;
    once->mutable_extras().frontend_attributes.insert_or_assign(std::string(kStays), "true");
    RETURN_IF_ERROR(FinishWindowedLoop({once, kind}, first_queue, context));
    changed = true;
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

}  // namespace

absl::StatusOr<bool> WindowedEinsumHandler::ChangeProducts(
    Module& module, const std::vector<Instruction*>& gathering, PassContext& context) const {
  bool changed = false;
  WindowedGathers gathers(gathering);
  const OpcodeSet wanted = {Opcode::kDot, Opcode::kAllToAll};
  for (const Computation* computation : context.NonFusionComputations(module, wanted)) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->is_dead()) continue;
      const bool is_dot = instruction->opcode() == Opcode::kDot;
      if (is_dot) {
        ASSIGN_OR_RETURN(const bool kept, gathers.Visit(instruction, context));
        changed |= kept;
      }
      if (!options_.enable_alltoall_windowed_einsum) continue;
      bool split = false;
      if (is_dot) {
        ASSIGN_OR_RETURN(split, SplitProductOfExchange(instruction, context));
      } else if (instruction->opcode() == Opcode::kAllToAll) {
        ASSIGN_OR_RETURN(split, SplitExchangeOfProduct(instruction, context));
      }
      changed |= split;
    }
  }
  return changed;
}

absl::StatusOr<bool> WindowedEinsumHandler::Run(Module& module, PassContext& context) {
  const int64_t first_queue = NextChannelId(module);
  bool changed = false;
  Kinds kinds;
  std::vector<Instruction*> gathering;
  for (const auto& [loop, kind] : FindWindowedLoops(module, context)) {
    ASSIGN_OR_RETURN(const bool scaled, ScaleF8InLoop(loop, context));
    changed |= scaled;
    kinds.emplace(loop->while_body()->serial(), kind);
    if (kind == WindowedKind::kOperand) gathering.push_back(loop);
  }
  ASSIGN_OR_RETURN(const bool products, ChangeProducts(module, gathering, context));
  changed |= products;
  if (kinds.empty()) return changed;
  ASSIGN_OR_RETURN(const bool simplified, RunPart(AlgebraicSimplifier(), module, context));
  ASSIGN_OR_RETURN(const bool folded, RunPart(ConstantFolding(), module, context));
  ASSIGN_OR_RETURN(const bool unrolled,
                   Unroll(LoopsOf(kinds, module, context), first_queue, module, context));
  return changed || simplified || folded || unrolled;
}

HLO_DEFINE_PASS(WindowedEinsumHandler)

}  // namespace hlo

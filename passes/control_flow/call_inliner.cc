#include "passes/control_flow/call_inliner.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/support/contains.h"
#include "lib/support/decision.h"
#include "lib/support/strings.h"
#include "passes/simplify/dce.h"
#include "passes/util/call_metadata.h"
#include "passes/util/caller_sharding.h"
#include "passes/util/declared_sizes.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/growth_limit.h"
#include "passes/util/layout_copy.h"
#include "passes/util/origins.h"
#include "passes/util/own_body.h"

namespace hlo {
namespace {

// Requests for fusion that a call passes on to what it is replaced by.
constexpr std::string_view kFusionKeys[] = {"MUST_FUSE", "MAXIMAL_FUSE", "mosaic_fusion_group"};

// Of the composite operation, not of what it stands for.
constexpr std::string_view kCompositeKeys[] = {"composite.attributes", "composite.name",
                                               "composite.version"};

// In the names of computations that Shardy looks for.
constexpr std::string_view kShardyBodies[] = {"shmap_body", "xla.sdy.manual_computation_body"};

// ---- metadata ----

// To `inlined`, and to what runs in its loops and branches.
void PassOnMetadata(CallMetadata& metadata, Instruction& inlined) {
  if (metadata.empty()) return;
  if (HasTrait(inlined.opcode(), kControlFlow) && inlined.opcode() != Opcode::kCall) {
    for (Computation* callee : inlined.calls()) {
      for (Instruction* inner : callee->instructions()) PassOnMetadata(metadata, *inner);
    }
  }
  metadata.PassOn(inlined);
}

// Whether a fusion may hold it; constants and tuples it may.
bool MayBeInFusion(const Instruction& x) {
  if (x.opcode() == Opcode::kRng) return x.users().size() <= 1;
  return x.opcode() != Opcode::kDomain && !HasTrait(x.opcode(), kControlFlow) && !x.HasSideEffect();
}

void PassOnFusionRequests(const Instruction& call, Instruction& inlined) {
  if (!MayBeInFusion(inlined)) return;
  for (std::string_view key : kFusionKeys) {
    if (const std::string_view value = FrontendAttribute(call, key); !value.empty()) {
      inlined.mutable_extras().frontend_attributes.insert_or_assign(std::string(key),
                                                                    std::string(value));
    }
  }
}

// What only the call says is said of its result; of what a fusion says, how it is divided.
void PassOnExtras(const Instruction& call, Instruction& root) {
  const Extras* from = call.extras();
  if (from == nullptr) return;
  if (from->sharding && root.sharding() == nullptr) root.set_sharding(from->sharding);
  if (call.opcode() != Opcode::kCall) return;
  const bool is_composite = call.attrs<CallAttrs>().is_composite;
  const bool has_own = root.extras() != nullptr && !root.extras()->frontend_attributes.empty();
  for (const auto& [key, value] : from->frontend_attributes) {
    if (!has_own && !(is_composite && Contains(kCompositeKeys, key)))
      root.mutable_extras().frontend_attributes.insert_or_assign(key, value);
  }
  if (!from->metadata.op_name.empty() && root.metadata().op_name.empty())
    root.mutable_extras().metadata = from->metadata;
}

// ---- copying ----

// The call's successors wait for `root` and, where the callee is empty, for what the call waited
// for.
void PassOnControlEdges(Instruction* call, Instruction* root, bool root_is_new) {
  for (Instruction* successor : call->control_successors()) {
    successor->AddControlPredecessor(root);
    if (root_is_new) continue;
    for (Instruction* predecessor : call->control_predecessors())
      successor->AddControlPredecessor(predecessor);
  }
  call->DropControlEdges();
}

// The schedule, if it is one of all that is there: within a pass it may be old.
std::vector<Instruction*> OrderOf(const Computation& callee) {
  if (!callee.has_schedule()) return callee.PostOrder();
  const absl::flat_hash_set<const Instruction*> scheduled(callee.schedule().begin(),
                                                          callee.schedule().end());
  for (const Instruction* instruction : callee.instructions()) {
    if (!instruction->is_dead() && !scheduled.contains(instruction)) return callee.PostOrder();
  }
  std::vector<Instruction*> order = callee.schedule();
  std::erase_if(order, [](const Instruction* instruction) { return instruction->is_dead(); });
  return order;
}

// Copies where layouts differ, and the tuples around them, in the order in which they run.
void AppendMadeSince(uint32_t first_new, Instruction* value, std::vector<Instruction*>& sequence) {
  if (value->id() < first_new) return;
  for (Instruction* operand : value->operands()) AppendMadeSince(first_new, operand, sequence);
  sequence.push_back(value);
}

}  // namespace

void ReplaceInSchedule(Computation& computation, const InlinedInstructions& inlined) {
  if (!computation.has_schedule()) return;
  std::vector<Instruction*> sequence;
  for (Instruction* instruction : computation.schedule()) {
    if (const auto at = inlined.find(instruction); at != inlined.end()) {
      sequence.insert(sequence.end(), at->second.begin(), at->second.end());
    } else {
      sequence.push_back(instruction);
    }
  }
  computation.set_schedule(std::move(sequence));
}

bool MayBeInlined(const Instruction& caller) {
  const std::string_view inlineable = FrontendAttribute(caller, "inlineable");
  return inlineable != "false" && inlineable != "xla_late";
}

Instruction* InlineBody(Instruction* call, const InlineOptions& options) {
  Computation& computation = *call->parent();
  const Computation& callee = *call->call(0);
  const bool is_shared = callee.callers().size() > 1;
  CallMetadata metadata(*call);
  const std::optional<std::string> original_call = OriginalCall(*call);
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  copies.reserve(static_cast<size_t>(callee.instruction_count()));
  std::vector<Instruction*> inlined;
  // Where the parts of the value of `original` lie as the callee or the call says, if it matters;
  // and as long as they say it is.
  const auto laid_out = [&](Instruction* value, const Instruction& original) {
    const uint32_t first_new = computation.module().id_limit();
    Instruction* const copy =
        WithDeclaredSizes(CopyIfLayoutIsRead(value, original), original.shape());
    AppendMadeSince(first_new, copy, inlined);
    if (copy == value) return value;
    for (Instruction* predecessor : call->control_predecessors())
      copy->AddControlPredecessor(predecessor);
    return copy;
  };
  for (Instruction* original : OrderOf(callee)) {
    if (original->opcode() == Opcode::kParameter) {
      Instruction* const argument = call->operand(static_cast<int>(original->parameter_number()));
      copies[original] = laid_out(argument, *original);
      continue;
    }
    std::vector<Instruction*> operands;
    for (Instruction* operand : original->operands()) operands.push_back(copies[operand]);
    Instruction* copy = computation.AddClone(*original, original->shape(), operands);
    // The fusion that stays behind keeps its body to itself.
    if (original->IsFusion() && is_shared) TakeOwnBody(copy);
    for (Instruction* predecessor : original->control_predecessors())
      copy->AddControlPredecessor(copies[predecessor]);
    if (options.everything_waits || original->is_root()) {
      for (Instruction* predecessor : call->control_predecessors())
        copy->AddControlPredecessor(predecessor);
    }
    if (options.propagate_metadata) PassOnMetadata(metadata, *copy);
    if (options.prefix_origins) {
      if (!original_call) SetOrigin(copy, nullptr);
      if (original_call && !original_call->empty()) PrefixOrigin(copy, *original_call);
    }
    if (options.pass_on_fusion_requests) PassOnFusionRequests(*call, *copy);
    copies[original] = copy;
    inlined.push_back(copy);
  }
  Instruction* const result = copies[callee.root()];
  Instruction* const root = laid_out(result, *call);
  const bool root_is_new = !absl::c_linear_search(call->operands(), root);
  if (root_is_new) PassOnExtras(*call, *root);
  PassOnControlEdges(call, root, root_is_new);
  if (options.inlined != nullptr) {
    options.inlined->emplace(call, std::move(inlined));
  } else {
    ReplaceInSchedule(computation, {{call, std::move(inlined)}});
  }
  call->ReplaceAllUsesWith(root);
  if (computation.root() == call) SetRoot(*root);
  computation.Remove(call);
  if (options.copies != nullptr) *options.copies = std::move(copies);
  return root;
}

namespace {

Decision CanInline(const Instruction& call, const CallInlinerOptions& options) {
  const Computation& callee = *call.to_apply();
  if (!call.backend_config().empty()) return No("the call has a backend config");
  if (callee.execution_thread() != call.parent()->execution_thread()) {
    return No("`{}` runs on thread `{}`", callee.name(), callee.execution_thread());
  }
  for (const CallSite& site : call.parent()->callers()) {
    if (site.caller->opcode() == Opcode::kAsyncStart)
      return No("`{}` runs asynchronously", call.parent()->name());
  }
  if (options.use_shardy_partitioner) {
    for (std::string_view body : kShardyBodies) {
      if (callee.name().find(body) != std::string_view::npos)
        return No("Shardy finds `{}` by its name", callee.name());
    }
  }
  if (call.attrs<CallAttrs>().is_composite) {
    const std::string_view name = FrontendAttribute(call, "composite.name");
    for (std::string_view kept : Split(options.composites_to_preserve, ';')) {
      if (!name.empty() && name == Trim(kept))
        return No("the composite `{}` is to be preserved", name);
    }
  }
  if (!options.ignore_inlineable) {
    const std::string_view inlineable = FrontendAttribute(call, "inlineable");
    if (!MayBeInlined(call)) return No("it says inlineable=\"{}\"", inlineable);
    if (inlineable == "true" || inlineable == "xla_early") return Yes();
  }
  if (options.single_call_site && callee.callers().size() != 1) {
    return No("`{}` has {} call sites", callee.name(), callee.callers().size());
  }
  return Yes();
}

}  // namespace

absl::StatusOr<bool> CallInliner::Run(Module& module, PassContext& context) {
  bool changed = false;
  GrowthLimit growth;
  for (Computation* computation : context.Computations(module, {Opcode::kCall})) {
    InlinedInstructions inlined;  // the schedule is written once: it may be long
    for (Instruction* call : computation->SequenceOrPostOrder()) {
      if (call->opcode() != Opcode::kCall) continue;
      if (!context.Allowed(*call, CanInline(*call, options_))) continue;
      if (!context.MayRewrite()) break;
      Computation* callee = call->to_apply();
      RETURN_IF_ERROR(growth.Add(callee->instruction_count(), *call));
      context.Passed(*call, "the body of `{}` stands in its place", callee->name());
      InlineBody(call, {.propagate_metadata = options_.propagate_metadata,
                        .prefix_origins = true,
                        .inlined = &inlined});
      // Visited already (callees first) and dead: it does not count as a caller of what it calls.
      if (callee->callers().empty() && !callee->is_entry()) {
        for (Instruction* dead : callee->instructions()) dead->SetCalls({});
      }
      context.Count("inlined");
      changed = true;
    }
    if (!inlined.empty()) ReplaceInSchedule(*computation, inlined);
  }
  if (changed) RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return changed;
}

HLO_DEFINE_PASS(CallInliner)

}  // namespace hlo

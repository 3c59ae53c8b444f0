// Walking a computation: order, lifetime of values, and the table from opcode to function.
#include "lib/eval/evaluator.h"

#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/eval/custom_calls.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/region.h"
#include "lib/ir/verify_meaning.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/crash_context.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

constexpr int kMaxDepth = 200;  // of calls

consteval std::array<EvalFn, kOpcodeCount> FunctionsByOpcode() {
  std::array<EvalFn, kOpcodeCount> functions = {};
#define HLO_OP(Name, text, operands, calls, attributes, rule, types, cost, traits, summary) \
  if (((traits)&kElementwise) != 0)                                                         \
    functions[static_cast<size_t>(Opcode::k##Name)] = EvalElementwise;
#include "lib/ops/ops.def"
#define HLO_EVAL(Name, function) functions[static_cast<size_t>(Opcode::k##Name)] = function;
#include "lib/eval/eval_functions.def"
  return functions;
}
// By opcode; null for parameters, which the caller sets.
constexpr std::array<EvalFn, kOpcodeCount> kFunctionOf = FunctionsByOpcode();
static_assert(std::count(kFunctionOf.begin(), kFunctionOf.end(), nullptr) == 1 &&
                  kFunctionOf[static_cast<size_t>(Opcode::kParameter)] == nullptr,
              "an opcode is neither elementwise nor in eval_functions.def");

}  // namespace

// A computation in order of execution, with the places of its values.
struct ComputationPlan {
  struct Operand {
    int slot;
    bool last_use;
  };
  struct Step {
    const Instruction* instruction;
    int slot;
    absl::InlinedVector<Operand, 3> operands;
    bool steals_element =
        false;  // the last reader of one element of a tuple that is only taken apart
  };
  std::vector<Step> steps;
  std::vector<int> parameter_slots;
  int slot_count = 0;
  int root_slot = 0;
};

struct Evaluator::Caches {
  absl::flat_hash_map<const Computation*, std::unique_ptr<ComputationPlan>> plans;
  absl::flat_hash_map<const Computation*, std::unique_ptr<RegionProgram>> regions;
  absl::flat_hash_map<const Instruction*, std::unique_ptr<SendRecvPairs>> pairs;
  absl::flat_hash_map<const Instruction*, std::vector<uint64_t>> random_states;
  absl::flat_hash_map<int64_t, uint64_t> draws;  // of `rng`, by stream
};

Evaluator::Evaluator() : Evaluator(EvalOptions()) {}
Evaluator::Evaluator(EvalOptions options)
    : options_(std::move(options)), caches_(std::make_unique<Caches>()) {}
Evaluator::~Evaluator() = default;

namespace {

// What the root needs, and what has side effects with what that needs.
absl::flat_hash_set<const Instruction*> LiveInstructions(const Computation& computation) {
  absl::flat_hash_set<const Instruction*> live;
  std::vector<const Instruction*> stack = {computation.root()};
  for (const Instruction* inst : computation.instructions()) {
    if (inst->HasSideEffect()) stack.push_back(inst);
  }
  while (!stack.empty()) {
    const Instruction* inst = stack.back();
    stack.pop_back();
    if (!live.insert(inst).second) continue;
    for (const Instruction* operand : inst->operands()) stack.push_back(operand);
    for (const Instruction* before : inst->control_predecessors()) stack.push_back(before);
  }
  return live;
}

// Tuples read only by get-tuple-element may give their elements away.
bool IsOnlyTakenApart(const Instruction& tuple) {
  if (tuple.is_root()) return false;
  for (const Use& use : tuple.uses()) {
    if (use.user->opcode() != Opcode::kGetTupleElement) return false;
  }
  return true;
}

bool HasDynamicOperand(const Instruction& instruction) {
  const auto operands = instruction.operands();
  return std::any_of(operands.begin(), operands.end(), [](const Instruction* operand) {
    return operand->shape().has_dynamic_dims();
  });
}

// A static result of dynamic operands has its size even where they end before (a slice of what is
// not there); the rest is zero.
Literal AsDeclared(Literal result, Shape shape) {
  if (result.shape().IsTuple() && shape.IsTuple()) {
    // Outputs that are bound late are declared later.
    const auto declared = static_cast<size_t>(shape.element_count_of_tuple());
    for (size_t i = 0; i < std::min(declared, result.elements().size()); ++i) {
      Literal& element = result.mutable_elements()[i];
      element = AsDeclared(std::move(element), shape.element(static_cast<int>(i)));
    }
    return result;
  }
  if (!shape.IsArray() || !result.shape().IsArray()) return result;
  if (result.shape().has_dynamic_dims())  // its sizes are known now
    result = result.Reshaped(result.shape().WithoutDynamic());
  const bool fits = shape.has_dynamic_dims() || result.shape().dims() == shape.dims();
  return fits ? result : Resized(result, shape.dims());
}

// Floats of several widths meet where values pass through as bytes. The verifier lets them pass, as
// XLA's does; what runs a module refuses them.
bool MixesFloats(const Instruction& instruction) {
  constexpr OpcodeSet kMovesBytes(
      {Opcode::kBroadcast, Opcode::kClamp, Opcode::kCompare, Opcode::kConcatenate,
       Opcode::kDynamicReshape, Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice, Opcode::kGather,
       Opcode::kPad, Opcode::kReducePrecision, Opcode::kReshape, Opcode::kReverse, Opcode::kScatter,
       Opcode::kSelect, Opcode::kSelectAndScatter, Opcode::kSetDimensionSize, Opcode::kSlice,
       Opcode::kTranspose});
  if (!kMovesBytes.Has(instruction.opcode())) return false;
  ElementType type = ElementType::kTuple;
  const auto differs = [&type](Shape shape) {
    if (!shape.IsArray() || !IsFloat(shape.element_type())) return false;
    if (type == ElementType::kTuple) type = shape.element_type();
    return type != shape.element_type();
  };
  if (differs(instruction.shape())) return true;
  const auto operands = instruction.operands();
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Instruction* operand) { return differs(operand->shape()); });
}

absl::Status RefuseMixedFloats(const Instruction& instruction) {
  if (!MixesFloats(instruction)) return absl::OkStatus();
  return Error(instruction.loc(), "`{}` mixes floats of several widths: `{}`", instruction.name(),
               instruction.opcode_text());
}

std::unique_ptr<ComputationPlan> MakePlan(const Computation& computation) {
  auto plan = std::make_unique<ComputationPlan>();
  absl::flat_hash_map<const Instruction*, int> slots;
  for (const Instruction* parameter : computation.parameters()) {
    plan->parameter_slots.push_back(plan->slot_count);
    slots[parameter] = plan->slot_count++;
  }
  const auto live = LiveInstructions(computation);
  for (const Instruction* inst : computation.SequenceOrPostOrder()) {
    if (inst->opcode() == Opcode::kParameter || !live.contains(inst)) continue;
    ComputationPlan::Step step{inst, plan->slot_count, {}};
    for (const Instruction* operand : inst->operands())
      step.operands.push_back({slots.at(operand), false});
    slots[inst] = plan->slot_count++;
    plan->steps.push_back(std::move(step));
  }
  plan->root_slot = slots.at(computation.root());
  // Backwards: the first reader met is the last one to run.
  std::vector<bool> read(static_cast<size_t>(plan->slot_count), false);
  read[static_cast<size_t>(plan->root_slot)] = true;
  absl::flat_hash_set<std::pair<int, int64_t>> taken;
  for (size_t s = plan->steps.size(); s-- > 0;) {
    ComputationPlan::Step& step = plan->steps[s];
    const Instruction& inst = *step.instruction;
    if (inst.opcode() == Opcode::kGetTupleElement && IsOnlyTakenApart(*inst.operand(0))) {
      step.steals_element = taken.insert({step.operands[0].slot, inst.tuple_index()}).second;
    }
    for (size_t i = step.operands.size(); i-- > 0;) {
      const size_t slot = static_cast<size_t>(step.operands[i].slot);
      step.operands[i].last_use = !read[slot];
      read[slot] = true;
    }
  }
  return plan;
}

}  // namespace

absl::StatusOr<const ComputationPlan*> Evaluator::Plan(const Computation& computation) {
  std::unique_ptr<ComputationPlan>& plan = caches_->plans[&computation];
  if (plan == nullptr) {
    RET_CHECK(computation.root() != nullptr, "computation `{}` has no root", computation.name());
    for (const Instruction* instruction : computation.instructions())
      RETURN_IF_ERROR(RefuseMixedFloats(*instruction));
    plan = MakePlan(computation);
  }
  return plan.get();
}

absl::StatusOr<const RegionProgram*> Evaluator::Region(const Computation& computation) {
  const auto found = caches_->regions.find(&computation);
  if (found != caches_->regions.end()) return found->second.get();
  ASSIGN_OR_RETURN(std::unique_ptr<RegionProgram> program, RegionProgram::Compile(computation));
  const RegionProgram* result = program.get();
  caches_->regions[&computation] = std::move(program);
  return result;
}

absl::StatusOr<const SendRecvPairs*> Evaluator::Pairs(const Instruction& transfer) {
  const auto found = caches_->pairs.find(&transfer);
  if (found != caches_->pairs.end()) return found->second.get();
  ASSIGN_OR_RETURN(SendRecvPairs pairs, FindSendRecvPairs(transfer));
  return caches_->pairs.emplace(&transfer, std::make_unique<SendRecvPairs>(std::move(pairs)))
      .first->second.get();
}

uint64_t Evaluator::NextDraw(int64_t stream) { return caches_->draws[stream]++; }

std::vector<uint64_t>& Evaluator::RandomState(const Instruction& instruction) {
  return caches_->random_states[&instruction];
}

absl::Status Evaluator::Spend(int64_t elements) {
  work_ += elements;
  if (options_.max_work == 0 || work_ <= options_.max_work) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kResourceExhausted, SourceLoc(),
      fmt::format("evaluation needs more than {} element operations", options_.max_work));
}

absl::StatusOr<Literal> Evaluator::Run(const Module& module, absl::Span<const Literal> arguments) {
  RET_CHECK(module.entry() != nullptr, "module `{}` has no entry computation", module.name());
  return Evaluate(*module.entry(), arguments);
}

absl::StatusOr<Literal> Evaluator::Evaluate(const Computation& computation,
                                            absl::Span<const Literal> arguments) {
  return Evaluate(computation, std::vector<Literal>(arguments.begin(), arguments.end()));
}

absl::StatusOr<Literal> Evaluator::Evaluate(const Computation& computation,
                                            std::vector<Literal> arguments) {
  if (static_cast<int>(arguments.size()) != computation.parameter_count()) {
    return Error(computation.loc(), "`{}` takes {} arguments, got {}", computation.name(),
                 computation.parameter_count(), arguments.size());
  }
  if (depth_ >= kMaxDepth) {
    return Error(computation.loc(), "calls are nested more than {} deep at `{}`", kMaxDepth,
                 computation.name());
  }
  const ScopedDenormals denormals(options_.denormals);
  ASSIGN_OR_RETURN(const ComputationPlan* plan, Plan(computation));
  ++depth_;
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};

  std::vector<Literal> values(static_cast<size_t>(plan->slot_count));
  for (size_t i = 0; i < arguments.size(); ++i) {
    values[static_cast<size_t>(plan->parameter_slots[i])] = std::move(arguments[i]);
  }
  arguments.clear();
  for (const ComputationPlan::Step& step : plan->steps) {
    std::vector<Literal> operands;
    operands.reserve(step.operands.size());
    if (step.steals_element) {
      Literal& tuple = values[static_cast<size_t>(step.operands[0].slot)];
      const size_t index = static_cast<size_t>(step.instruction->tuple_index());
      RET_CHECK(index < tuple.elements().size(), "`{}` reads past its tuple",
                step.instruction->name());
      values[static_cast<size_t>(step.slot)] = std::move(tuple.mutable_elements()[index]);
      if (step.operands[0].last_use) tuple = Literal();
    } else {
      for (const ComputationPlan::Operand& operand : step.operands) {
        Literal& value = values[static_cast<size_t>(operand.slot)];
        operands.push_back(operand.last_use ? std::exchange(value, Literal()) : value);
      }
      ASSIGN_OR_RETURN(values[static_cast<size_t>(step.slot)],
                       EvaluateOwned(*step.instruction, std::move(operands)));
    }
    if (options_.hook) options_.hook(*step.instruction, values[static_cast<size_t>(step.slot)]);
  }
  return std::move(values[static_cast<size_t>(plan->root_slot)]);
}

absl::StatusOr<Literal> Evaluator::EvaluateInstruction(const Instruction& instruction,
                                                       absl::Span<const Literal> operands) {
  RETURN_IF_ERROR(RefuseMixedFloats(instruction));
  if (!HasMeaning(instruction))
    return Error(instruction.loc(), "`{}` has no meaning", instruction.name());
  const ScopedDenormals denormals(options_.denormals);
  return EvaluateOwned(instruction, std::vector<Literal>(operands.begin(), operands.end()));
}

absl::StatusOr<Literal> Evaluator::EvaluateOwned(const Instruction& instruction,
                                                 std::vector<Literal> operands) {
  const CrashLine line("evaluating", instruction.name());
  const EvalFn function = kFunctionOf[static_cast<size_t>(instruction.opcode())];
  RET_CHECK(function != nullptr, "`{}` has no value without its caller", instruction.name());
  if (instruction.shape().IsArray()) RETURN_IF_ERROR(Spend(instruction.shape().element_count()));
  for (const Literal& operand : operands) {
    if (operand.is_elided()) {
      return Error(instruction.loc(),
                   "`{}` reads a constant that has no values in this text ({{...}})",
                   instruction.name());
    }
  }
  EvalContext context{*this, instruction, operands};
  RETURN_IF_ERROR(FitRuntimeSizes(context));
  ASSIGN_OR_RETURN(Literal result, function(context));
  return HasDynamicOperand(instruction) ? AsDeclared(std::move(result), instruction.shape())
                                        : std::move(result);
}

bool IsEvaluable(const Instruction& instruction) {
  constexpr Opcode kNever[] = {
      Opcode::kInfeed,        Opcode::kOutfeed,     Opcode::kSend,
      Opcode::kSendDone,      Opcode::kRecv,        Opcode::kRecvDone,
      Opcode::kRng,           Opcode::kPartitionId, Opcode::kReplicaId,
      Opcode::kParameter,     Opcode::kAfterAll,    Opcode::kAsyncStart,
      Opcode::kAddDependency, Opcode::kAsyncUpdate, Opcode::kAsyncDone,
      Opcode::kCopyStart,     Opcode::kCopyDone,    Opcode::kRngGetAndUpdateState};
  for (Opcode opcode : kNever) {
    if (instruction.opcode() == opcode) return false;
  }
  if (instruction.opcode() == Opcode::kCustomCall &&
      !IsPureCustomCall(instruction.attrs<CustomCallAttrs>().custom_call_target))
    return false;
  if (HasTrait(instruction.opcode(), kCollective) || instruction.HasSideEffect()) return false;
  if (MixesFloats(instruction) || !HasMeaning(instruction)) return false;
  for (const Computation* callee : instruction.calls()) {
    for (const Instruction* inner : callee->instructions()) {
      if (inner->opcode() != Opcode::kParameter && !IsEvaluable(*inner)) return false;
    }
  }
  return true;
}

bool IsEvaluableHere(const Instruction& instruction) {
  constexpr OpcodeSet kNever = {Opcode::kInfeed,      Opcode::kOutfeed,   Opcode::kAsyncStart,
                                Opcode::kAsyncUpdate, Opcode::kAsyncDone, Opcode::kParameter};
  if (kNever.Has(instruction.opcode())) return false;
  if (kSendRecvOps.Has(instruction.opcode())) {
    // A device is at the other end, perhaps the same one.
    return !instruction.attrs<ChannelAttrs>().is_host_transfer;
  }
  if (instruction.opcode() == Opcode::kCustomCall &&
      !IsKnownCustomCall(instruction.attrs<CustomCallAttrs>().custom_call_target))
    return false;
  for (const Computation* callee : instruction.calls()) {
    for (const Instruction* inner : callee->instructions()) {
      if (inner->opcode() != Opcode::kParameter && !IsEvaluableHere(*inner)) return false;
    }
  }
  return true;
}

}  // namespace hlo

#include "passes/control_flow/async_to_call.h"

#include <optional>

#include "lib/analysis/async_overlap.h"
#include "lib/eval/custom_calls.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/builder.h"
#include "lib/ir/control_edges.h"
#include "lib/ops/opcode_groups.h"
#include "lib/types/shape_limits.h"
#include "passes/util/background_calls.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

constexpr std::string_view kOnlyThread = "main";

// A step of a chain, and what the chain runs.
struct AsyncStep {
  Instruction* instruction;
  Computation* wrapped;
  // On which the call is to run beside the others; empty: it is not. The start says how dearly.
  std::string thread = {}, wish = {};
};

// Whether the state of a chain holds all operands and the whole result.
bool IsComplete(Shape state, const Computation& wrapped) {
  return state.element(0).element_count_of_tuple() == wrapped.parameter_count() &&
         Compatible(state.element(1), wrapped.root()->shape());
}

// Stands for what nobody reads.
absl::StatusOr<Instruction*> MakePlaceholder(Builder& builder, Shape shape, SourceLoc loc) {
  if (shape.IsToken()) return builder.OpWithShape(Opcode::kAfterAll, shape, {});
  if (shape.IsTuple()) {
    std::vector<Instruction*> elements;
    for (const Shape element : shape.elements()) {
      ASSIGN_OR_RETURN(Instruction * placeholder, MakePlaceholder(builder, element, loc));
      elements.push_back(placeholder);
    }
    return builder.Tuple(elements);
  }
  if (!shape.IsArray() || shape.has_dynamic_dims())
    return Unsupported(loc, "an asynchronous operation that carries `{}` cannot run at once",
                       shape);
  Instruction* zero = builder.Constant(Literal::Zero(shape.element_type()));
  return shape.rank() == 0 ? zero : builder.Broadcast(zero, shape.dims(), {});
}

class StepRewriter {
 public:
  explicit StepRewriter(const AsyncStep& step)
      : step_(step.instruction),
        wrapped_(step.wrapped),
        thread_(step.thread),
        wish_(step.wish),
        builder_(step.instruction->parent()) {
    builder_.set_origin(step_);
    if (step_->opcode() != Opcode::kAsyncStart) before_ = step_->operand(0);
  }

  absl::Status Run() {
    BindOperands();
    const bool is_done = step_->opcode() == Opcode::kAsyncDone;
    const bool was_complete = before_ != nullptr && IsComplete(before_->shape(), *wrapped_);
    Instruction* result = nullptr;
    if (was_complete) {
      result = builder_.GetTupleElement(before_, 1);
    } else if (is_done || IsComplete(step_->shape(), *wrapped_)) {
      result = MakeCall();
    } else {
      ASSIGN_OR_RETURN(result, MakePlaceholder(builder_, step_->shape().element(1), step_->loc()));
    }
    // The step may lie otherwise than what the chain runs, and bitcasts read what lies there.
    const Shape outer = is_done ? step_->shape() : step_->shape().element(1);
    if (Compatible(result->shape(), outer)) result = CopyWithLayouts(result, outer);
    Instruction* value = result;
    if (!is_done) {
      ASSIGN_OR_RETURN(value, MakeState(result));
    }
    RETURN_IF_ERROR(builder_.status());
    step_->parent()->Replace(step_, value);
    return absl::OkStatus();
  }

 private:
  void BindOperands() {
    int own = 0;
    if (before_ != nullptr) {
      own = 1;
      Instruction* bound = builder_.GetTupleElement(before_, 0);
      for (int i = 0; i < bound->shape().element_count_of_tuple(); ++i)
        bound_.push_back(builder_.GetTupleElement(bound, i));
    }
    for (int i = own; i < step_->operand_count(); ++i) bound_.push_back(step_->operand(i));
  }

  // The control edges of the step are the call's: what carries its result may then go.
  Instruction* MakeCall() {
    Instruction* call = builder_.Call(bound_, wrapped_);
    if (!builder_.status().ok()) return call;
    call->module().MoveName(*step_, call);
    if (!thread_.empty()) MarkForBackground(call, thread_, wish_);
    MoveControlEdges(step_, call);
    return call;
  }

  absl::StatusOr<Instruction*> MakeState(Instruction* result) {
    std::vector<Instruction*> parts = {builder_.Tuple(bound_), result};
    const Shape shape = step_->shape();
    for (int i = 2; i < shape.element_count_of_tuple(); ++i) {
      const bool passed_on = before_ != nullptr && i < before_->shape().element_count_of_tuple() &&
                             Compatible(before_->shape().element(i), shape.element(i));
      if (passed_on) {
        parts.push_back(builder_.GetTupleElement(before_, i));
      } else {
        ASSIGN_OR_RETURN(Instruction * context,
                         MakePlaceholder(builder_, shape.element(i), step_->loc()));
        parts.push_back(context);
      }
    }
    return builder_.OpWithShape(Opcode::kTuple, shape, parts);
  }

  Instruction* step_;
  Computation* wrapped_;
  const std::string& thread_;
  const std::string& wish_;
  Instruction* before_ = nullptr;  // the state that the step continues; null for a start
  Builder builder_;
  std::vector<Instruction*> bound_;
};

// ---- what is worth a thread ----

// What has a place among others of its kind, in this program or on other devices.
bool KeepsItsTurn(const Instruction& instruction) {
  constexpr OpcodeSet kInTurn = {
      Opcode::kInfeed, Opcode::kOutfeed,  Opcode::kSend, Opcode::kSendDone,
      Opcode::kRecv,   Opcode::kRecvDone, Opcode::kRng,  Opcode::kRngGetAndUpdateState};
  return kInTurn.Has(instruction.opcode());
}

// Whether it is so for an instruction of the computation or of what that calls.
bool AnyInside(const Computation& computation, bool (*is_so)(const Instruction&)) {
  for (const Instruction* instruction : computation.instructions()) {
    if (is_so(*instruction)) return true;
    for (const Computation* callee : instruction->calls()) {
      if (AnyInside(*callee, is_so)) return true;
    }
  }
  return false;
}

// How long one takes nobody knows.
bool IsForeign(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCustomCall &&
         !IsIdentityCustomCall(instruction.attrs<CustomCallAttrs>().custom_call_target);
}

class Worth {
 public:
  Worth(const Module& module, int64_t background_us)
      : durations_(module, RatesOf("cpu")),
        seconds_(static_cast<double>(background_us) * 1e-6),
        has_others_(module.config().replica_count * module.config().num_partitions > 1) {}

  bool Of(const Instruction& start) const {
    const Computation& wrapped = *start.call(0);
    if (AnyInside(wrapped, KeepsItsTurn)) return false;
    const std::string_view wish = FrontendAttribute(start, kBackgroundWish);
    if (!wish.empty()) return wish == "true";
    if (has_others_ && MeetsOthers(wrapped)) return true;
    return durations_.InBackground(start) >= seconds_ || AnyInside(wrapped, IsForeign);
  }

 private:
  const Durations durations_;
  const double seconds_;
  const bool has_others_;  // there are other devices to wait for
};

// The computation and all it calls.
void MoveToOnlyThread(Computation& computation) {
  if (computation.execution_thread() != kOnlyThread) computation.set_execution_thread(kOnlyThread);
  for (Instruction* instruction : computation.instructions()) {
    for (Computation* callee : instruction->calls()) MoveToOnlyThread(*callee);
  }
}

}  // namespace

absl::StatusOr<bool> AsyncToCall::Run(Module& module, PassContext& context) {
  std::optional<Worth> worth;
  if (options_.background_us >= 0) worth.emplace(module, options_.background_us);
  // All chains are followed before the first of them changes.
  std::vector<AsyncStep> steps;
  for (Computation* computation : context.Computations(module, kAsyncOps)) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (!kAsyncOps.Has(instruction->opcode())) continue;
      const Instruction* start =
          instruction->opcode() == Opcode::kAsyncStart ? instruction : AsyncStartOf(*instruction);
      if (start == nullptr)
        return Error(instruction->loc(), "`{}` belongs to no async-start", instruction->name());
      if (HasBuffer(instruction->shape())) {
        return Unsupported(instruction->loc(),
                           "`{}` carries a buffer, which no call can give: `{}`; make arrays of "
                           "buffers before (pass `buffers-to-arrays`)",
                           instruction->name(), instruction->shape());
      }
      AsyncStep& step = steps.emplace_back(AsyncStep{instruction, start->call(0)});
      if (!worth || !worth->Of(*start)) continue;
      step.thread = start->attrs<AsyncAttrs>().async_execution_thread;
      step.wish = FrontendAttribute(*start, kBackgroundWish);
    }
  }
  // Half a chain means nothing: all of them or none.
  if (steps.empty() || !context.MayRewrite()) return false;
  for (const AsyncStep& step : steps) {
    context.Passed(*step.instruction, "runs {}",
                   step.thread.empty() ? "at once" : "where it is complete");
    RETURN_IF_ERROR(StepRewriter(step).Run());
    context.Count("steps");
  }
  for (const AsyncStep& step : steps) MoveToOnlyThread(*step.wrapped);
  return true;
}

HLO_DEFINE_PASS(AsyncToCall)

}  // namespace hlo

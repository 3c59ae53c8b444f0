#include "passes/control_flow/pipelined_loop.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/trip_count.h"
#include "lib/ir/any_instruction.h"
#include "lib/ops/opcode_groups.h"
#include "passes/control_flow/loop_knowledge.h"
#include "passes/util/channels.h"
#include "passes/util/loop_state.h"
#include "passes/util/scheduling_annotation.h"
#include "passes/util/send_recv_iterations.h"

namespace hlo {
namespace {

constexpr int kDeepestIndex = 16;

bool Holds(ElementType type, int64_t value) {
  if (!IsInteger(type)) return false;
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  if (bits >= 63) return IsSigned(type) || value >= 0;
  const int64_t limit = int64_t{1} << bits;
  return value < limit && value >= (IsSigned(type) ? -limit : 0);
}

// Steps through the iterations of `loop_` without leaving the range of a type.
class Progressions {
 public:
  explicit Progressions(const PipelinedLoop& loop) : loop_(loop) {}

  std::optional<Progression> Of(const Instruction& value, int depth) const {
    if (depth > kDeepestIndex || !value.shape().IsScalar() ||
        !IsInteger(value.shape().element_type()))
      return std::nullopt;
    const std::optional<Progression> found = OfOperation(value, depth);
    const ElementType type = value.shape().element_type();
    if (!found || !Holds(type, found->first)) return std::nullopt;
    const std::optional<int64_t> last = LastOf(*found);
    if (!last || !Holds(type, *last)) return std::nullopt;
    return found;
  }

 private:
  std::optional<int64_t> LastOf(const Progression& p) const {
    int64_t last;
    if (__builtin_mul_overflow(p.step, loop_.counted.trip_count - 1, &last) ||
        __builtin_add_overflow(last, p.first, &last))
      return std::nullopt;
    return last;
  }

  std::optional<Progression> OfOperation(const Instruction& value, int depth) const {
    if (IsParameterElement(value, loop_.counter))
      return Progression{loop_.counted.init, loop_.counted.step};
    if (value.IsConstant() && !value.literal().is_elided())
      return Progression{value.literal().GetInt(), 0};
    constexpr OpcodeSet kBinary = {Opcode::kAdd, Opcode::kSubtract, Opcode::kMultiply};
    constexpr OpcodeSet kSame = {Opcode::kConvert, Opcode::kCopy};
    if (kBinary.Has(value.opcode())) return OfBinary(value, depth);
    if (kSame.Has(value.opcode())) return Of(*value.operand(0), depth + 1);
    return value.opcode() == Opcode::kSelect ? OfSelect(value, depth) : std::nullopt;
  }

  std::optional<Progression> OfBinary(const Instruction& value, int depth) const {
    std::optional<Progression> a = Of(*value.operand(0), depth + 1);
    std::optional<Progression> b = Of(*value.operand(1), depth + 1);
    if (!a || !b) return std::nullopt;
    Progression result;
    bool overflows = false;
    if (value.opcode() == Opcode::kMultiply) {
      if (b->step != 0) std::swap(a, b);
      if (b->step != 0) return std::nullopt;
      overflows = __builtin_mul_overflow(a->first, b->first, &result.first) ||
                  __builtin_mul_overflow(a->step, b->first, &result.step);
    } else if (value.opcode() == Opcode::kAdd) {
      overflows = __builtin_add_overflow(a->first, b->first, &result.first) ||
                  __builtin_add_overflow(a->step, b->step, &result.step);
    } else {
      overflows = __builtin_sub_overflow(a->first, b->first, &result.first) ||
                  __builtin_sub_overflow(a->step, b->step, &result.step);
    }
    if (overflows) return std::nullopt;
    return result;
  }

  std::optional<Progression> OfSelect(const Instruction& select, int depth) const {
    const std::optional<bool> choice = AlwaysTrue(*select.operand(0), depth);
    if (!choice) return std::nullopt;
    return Of(*select.operand(*choice ? 1 : 2), depth + 1);
  }

  // What a comparison by order gives in all iterations, if that is one answer: both sides run
  // straight on, so the first and the last iteration decide.
  std::optional<bool> AlwaysTrue(const Instruction& compare, int depth) const {
    if (compare.opcode() != Opcode::kCompare) return std::nullopt;
    const std::optional<Progression> a = Of(*compare.operand(0), depth + 1);
    const std::optional<Progression> b = Of(*compare.operand(1), depth + 1);
    if (!a || !b) return std::nullopt;
    const auto holds = [&](int64_t x, int64_t y) -> std::optional<bool> {
      switch (compare.attrs<CompareAttrs>().direction) {
        case ComparisonDirection::kLt: return x < y;
        case ComparisonDirection::kLe: return x <= y;
        case ComparisonDirection::kGt: return x > y;
        case ComparisonDirection::kGe: return x >= y;
        case ComparisonDirection::kEq:
        case ComparisonDirection::kNe: return std::nullopt;
      }
      return std::nullopt;
    };
    const std::optional<bool> first = holds(a->first, b->first);
    const std::optional<bool> last = holds(*LastOf(*a), *LastOf(*b));
    return first && last && *first == *last ? first : std::nullopt;
  }

  const PipelinedLoop& loop_;
};

// The step of `next`, which is element `counter` less a constant.
std::optional<int64_t> StepDown(const Instruction& next, int counter) {
  std::optional<int64_t> step;
  if (next.opcode() == Opcode::kAdd) {
    const bool is_first = IsParameterElement(*next.operand(0), counter);
    if (!is_first && !IsParameterElement(*next.operand(1), counter)) return std::nullopt;
    step = KnownInteger(*next.operand(is_first ? 1 : 0));
  } else if (next.opcode() == Opcode::kSubtract && IsParameterElement(*next.operand(0), counter)) {
    step = KnownInteger(*next.operand(1));
    if (step) step = -*step;
  }
  return step && *step < 0 ? step : std::nullopt;
}

// The least value of element `counter` with which the loop goes on.
std::optional<int64_t> LeastAllowed(const Instruction& test, int counter) {
  if (test.opcode() != Opcode::kCompare) return std::nullopt;
  const ComparisonDirection direction = test.attrs<CompareAttrs>().direction;
  const bool is_first = IsParameterElement(*test.operand(0), counter);
  if (!is_first && !IsParameterElement(*test.operand(1), counter)) return std::nullopt;
  const bool excludes =
      direction == (is_first ? ComparisonDirection::kGt : ComparisonDirection::kLt);
  if (!excludes && direction != (is_first ? ComparisonDirection::kGe : ComparisonDirection::kLe))
    return std::nullopt;
  const std::optional<int64_t> bound = KnownInteger(*test.operand(is_first ? 1 : 0));
  if (!bound || *bound == std::numeric_limits<int64_t>::max()) return std::nullopt;
  return excludes ? *bound + 1 : *bound;
}

// for (i = init; i > bound; i -= step)
std::optional<CountedLoop> MatchLoopDown(const Instruction& loop, int counter) {
  const Instruction& init = *loop.operand(0);
  if (init.opcode() != Opcode::kTuple) return std::nullopt;
  const std::optional<int64_t> first = KnownInteger(*init.operand(counter));
  const std::optional<int64_t> step =
      StepDown(*loop.while_body()->root()->operand(counter), counter);
  const std::optional<int64_t> least = LeastAllowed(*loop.while_condition()->root(), counter);
  if (!first || !step || !least || *first < *least) return std::nullopt;
  int64_t distance, final_value;
  if (*step == std::numeric_limits<int64_t>::min() ||
      __builtin_sub_overflow(*first, *least, &distance))
    return std::nullopt;
  const int64_t trip_count = distance / -*step + 1;
  if (__builtin_mul_overflow(trip_count, *step, &final_value) ||
      __builtin_add_overflow(final_value, *first, &final_value) ||
      !Holds(init.operand(counter)->shape().element_type(), final_value))
    return std::nullopt;
  return CountedLoop{*first, *step, trip_count};
}

Decision MayTakeApart(const Instruction& loop) {
  const Computation& body = *loop.while_body();
  if (!loop.shape().IsTuple() || body.root()->opcode() != Opcode::kTuple ||
      body.root()->has_uses() || loop.while_condition() == &body)
    return No("its body does not build its state");
  if (!OnlyElementsRead(*body.parameter(0)) ||
      !OnlyElementsRead(*loop.while_condition()->parameter(0)) || !OnlyElementsRead(loop))
    return No("its state is read as a whole");
  const std::vector<Instruction*> tests = loop.while_condition()->instruction_vector();
  if (absl::c_any_of(tests, [](const Instruction* test) { return test->HasSideEffect(); }))
    return No("its condition has effects");
  if (loop.has_control_edges() || body.root()->has_control_edges() ||
      body.parameter(0)->has_control_edges())
    return No("it has control edges");
  for (const Instruction* read : body.parameter(0)->users()) {
    if (read->has_control_edges()) return No("reads of its state have control edges");
  }
  return Yes();
}

int64_t NextGroup(const Module& module) {
  int64_t next = 0;
  for (const Instruction* instruction : AllInstructions(module)) {
    const auto annotation = SchedulingAnnotationOf(*instruction);
    if (annotation.ok() && *annotation && (*annotation)->group)
      next = std::max(next, *(*annotation)->group + 1);
  }
  return next;
}

}  // namespace

bool PipelinedLoop::PassesOn(int element) const {
  return IsParameterElement(*root()->operand(element), element);
}

Decision FindPipelinedLoop(Instruction* loop, PipelinedLoop& found) {
  if (Decision decision = MayTakeApart(*loop); !decision) return decision;
  const std::optional<int64_t> counter = InductionIndex(*loop);
  std::optional<CountedLoop> counted;
  if (counter) counted = MatchCountedLoop(*loop, *counter);
  if (counter && !counted) counted = MatchLoopDown(*loop, static_cast<int>(*counter));
  if (!counted || !loop->shape().element(static_cast<int>(*counter)).IsScalar())
    return No("it does not count to a constant");
  if (counted->trip_count < 2) return No("it runs {} times", counted->trip_count);
  found = {loop, static_cast<int>(*counter), *counted};
  return Yes();
}

std::optional<Progression> ProgressionOf(const Instruction& value, const PipelinedLoop& loop) {
  return Progressions(loop).Of(value, 0);
}

std::vector<Instruction*> NeededFor(const std::vector<Instruction*>& values, const CopyMap& given) {
  struct Visit {
    Instruction* instruction;
    bool is_left;  // what it needs is in the order
  };
  absl::flat_hash_set<const Instruction*> seen;
  std::vector<Instruction*> order;
  std::vector<Visit> stack;
  for (auto value = values.rbegin(); value != values.rend(); ++value)
    stack.push_back({*value, false});
  while (!stack.empty()) {
    const Visit top = stack.back();
    stack.pop_back();
    if (top.is_left) {
      order.push_back(top.instruction);
      continue;
    }
    if (given.contains(top.instruction) || !seen.insert(top.instruction).second) continue;
    stack.push_back({top.instruction, true});
    for (Instruction* before : top.instruction->control_predecessors())
      stack.push_back({before, false});
    const std::vector<Instruction*> operands = top.instruction->operand_vector();
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand)
      stack.push_back({*operand, false});
  }
  return order;
}

bool IsInvariant(const Instruction& value) {
  absl::flat_hash_set<const Instruction*> seen;
  std::vector<const Instruction*> stack = {&value};
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    stack.pop_back();
    if (!seen.insert(top).second) continue;
    if (top->opcode() == Opcode::kParameter || top->HasSideEffect() || top->has_control_edges())
      return false;
    stack.insert(stack.end(), top->operands().begin(), top->operands().end());
  }
  return true;
}

Literal CounterLiteral(const PipelinedLoop& loop, int64_t value) {
  return Literal::Scalar<int64_t>(loop.loop->shape().element(loop.counter).element_type(), value);
}

std::vector<Instruction*> EffectsOf(const PipelinedLoop& loop) {
  std::vector<Instruction*> effects;
  for (Instruction* instruction : loop.body().PostOrder()) {
    if (HasOtherEffects(*instruction)) effects.push_back(instruction);
  }
  return effects;
}

OutsideCopier::OutsideCopier(const PipelinedLoop& loop, IterationCopier& copier)
    : loop_(loop), copier_(copier), next_group_(NextGroup(loop.loop->module())) {}

std::vector<Instruction*> OutsideCopier::Copy(const std::vector<Instruction*>& order,
                                              int64_t iteration, CopyMap& copies) {
  std::vector<Instruction*> made = copier_.Copy(order, loop_.loop->parent(), "", copies);
  for (Instruction* copy : made) {
    SetOriginInIteration(copy, *loop_.loop, iteration);
    // Two loops with one body could not become different ones.
    if (copy->opcode() == Opcode::kWhile) UnshareComputations(copy, copier_);
  }
  RenewHostChannels(made);
  return made;
}

void OutsideCopier::RenewHostChannels(const std::vector<Instruction*>& made) const {
  for (Instruction* copy : made) {
    if (!copy->attrs_ptr().Is<ChannelAttrs>()) continue;
    ChannelAttrs attrs = copy->attrs<ChannelAttrs>();
    if (!attrs.is_host_transfer || !attrs.channel_id) continue;
    const bool is_done = kSendRecvDones.Has(copy->opcode());
    const Instruction& begun = *copy->operand(0);
    const bool is_known = is_done && begun.attrs_ptr().Is<ChannelAttrs>();
    attrs.channel_id = is_known ? begun.attrs<ChannelAttrs>().channel_id
                                : std::optional(NextChannelId(copy->module()));
    copy->SetAttrs(std::move(attrs));
  }
}

void OutsideCopier::CopyIteration(const std::vector<Instruction*>& order, int64_t iteration,
                                  CopyMap& copies) {
  for (Instruction* copy : Copy(order, iteration, copies)) {
    if (copy->opcode() == Opcode::kCollectivePermute) KeepSendRecvIteration(copy, iteration);
    if (HasOtherEffects(*copy)) {
      if (iteration == 0) {
        loop_.loop->AddControlPredecessor(copy);
      } else {
        copy->AddControlPredecessor(loop_.loop);
      }
    }
    const auto annotation = SchedulingAnnotationOf(*copy);
    if (!annotation.ok() || !*annotation) continue;
    if ((*annotation)->iteration || !(*annotation)->group) {
      RemoveSchedulingAnnotation(copy);
      continue;
    }
    const auto [group, is_new] = groups_.try_emplace(*(*annotation)->group, next_group_);
    if (is_new) ++next_group_;
    SetSchedulingAnnotation(copy, {group->second, std::nullopt});
  }
}

void OutsideCopier::CopyMoved(const std::vector<Instruction*>& order, int64_t iteration,
                              CopyMap& copies) {
  for (Instruction* copy : Copy(order, iteration, copies)) {
    if (HasSchedulingAnnotation(*copy)) RemoveSchedulingAnnotation(copy);
  }
}

void UnshareComputations(Instruction* loop, IterationCopier& copier) {
  for (int i = 0; i < loop->call_count(); ++i) {
    Computation& shared = *loop->call(i);
    if (shared.callers().size() == 1) continue;
    Module& module = loop->module();
    const size_t first_new = module.computations().size();
    loop->SetCall(i, module.CloneComputation(shared, ".clone", /*deep=*/true));
    const std::vector<Computation*> made(
        module.computations().begin() + static_cast<int64_t>(first_new),
        module.computations().end());
    for (Computation* computation : made) {
      module.MoveToFront(computation, loop->parent());
      copier.RenewChannels(*computation);
    }
  }
}

void SetIterations(const PipelinedLoop& loop, int64_t skipped, int64_t trip_count) {
  LoopKnowledge known = LoopKnowledge::FromConfig(loop.loop->backend_config());
  if (!known.trip_count && !known.init) return;
  if (known.trip_count) known.trip_count = trip_count;
  if (known.init && known.step) *known.init += skipped * *known.step;
  loop.loop->mutable_extras().backend_config = known.ToConfig();
}

}  // namespace hlo

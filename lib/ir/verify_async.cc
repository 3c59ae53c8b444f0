// Rules of operations in two halves.
//
// Chains of async-start, async-update and async-done are followed through what only passes values
// on (tuples, get-tuple-element, opt-barrier, copies, domains, loops, calls, some custom calls):
//
//   async-start   its computation runs on its thread; on thread `main` holds parameters and a root
//                 only, but for groups of collectives (frontend attribute `_collectives_group`) and
//                 barriers of get-tuple-elements
//   async-update  continues a start or update; operands that it binds have the shapes of
//                 the next parameters
//   async-done    ends a chain that has bound all operands; has the shape of the
//                 computation's result
//   start, update are used by the chain or passed on; one that stays in its computation has exactly one next step, directly or
//                 through what passes it on, one that leaves it (a loop, a call, a result) at most one
//   aliasing      on a start any output but the whole, of the operands that the computation takes;
//                 on an update contexts of operand 0 only
//   layouts       with layout_sensitive, operands and result in the shape of a start have those
//                 of the computation
//
// First-class pairs:
//
//   all-gather-start, all-reduce-start, collective-permute-start, copy-start   have one user, their done
//   …-done        its operand is the matching start
//   send, recv    have one user, their done or a tuple; as the root of an asynchronous
//                 computation none
//   …-done        repeats channel_id and is_host_transfer of its start, if that is its operand; the
//                 chain may go through tuples
#include <algorithm>

#include "lib/ir/async_chain.h"
#include "lib/ir/custom_call.h"
#include "lib/ir/verify_internal.h"
#include "lib/ops/async_pairs.h"
#include "lib/ops/opcode_groups.h"

namespace hlo::internal {
namespace {

constexpr std::string_view kMainThread = "main";

// Whether a use only passes the value on, so that the chain may continue elsewhere.
bool CarriesOn(const Instruction& user) {
  const Opcode opcode = user.opcode();
  return PassesOperandOn(user) || opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement ||
         opcode == Opcode::kWhile || opcode == Opcode::kCall || opcode == Opcode::kConditional;
}

bool IsControlDep(const Instruction& user) { return IsCustomCall(user, "control_dep"); }

// Where the value of a start or update goes inside its computation.
struct Reach {
  std::vector<const Instruction*> next;  // the next steps, each once
  bool leaves = false;                   // into a loop, a call, a branch, or out as a result
};

bool IsNextStep(const Instruction& user) { return kAsyncSteps.Has(user.opcode()); }

// `is_next` tells the next steps.
template <class IsNext>
Reach Follow(const Instruction& step, const IsNext& is_next) {
  struct Value {
    const Instruction* instruction;
    std::vector<int64_t> path;  // of the step's value in it, outermost last
  };
  constexpr size_t kMostValues = 10000;
  Reach reach;
  std::vector<Value> values = {{&step, {}}};
  for (size_t at = 0; at < values.size() && at < kMostValues; ++at) {
    const Value value = values[at];
    const Instruction& holder = *value.instruction;
    if (holder.is_root() && !holder.parent()->is_entry()) reach.leaves = true;
    for (const Use& use : holder.uses()) {
      const Instruction* user = use.user;
      const Opcode opcode = user->opcode();
      if (is_next(*user)) {
        if (std::count(reach.next.begin(), reach.next.end(), user) == 0) reach.next.push_back(user);
      } else if (opcode == Opcode::kTuple) {
        values.push_back({user, value.path});
        values.back().path.push_back(use.operand_index);
      } else if (opcode == Opcode::kGetTupleElement) {
        if (value.path.empty() || value.path.back() != user->tuple_index()) continue;
        values.push_back({user, value.path});
        values.back().path.pop_back();
      } else if (PassesOperandOn(*user)) {
        values.push_back({user, value.path});
      } else if (CarriesOn(*user)) {
        reach.leaves = true;
      }
    }
  }
  std::sort(reach.next.begin(), reach.next.end(),
            [](const Instruction* a, const Instruction* b) { return a->id() < b->id(); });
  return reach;
}

// A start's or update's value is used by one next step, or leaves the computation.
void CheckChainUsers(const VerifyContext& context, const Instruction& step) {
  for (const Instruction* user : step.users()) {
    if (IsNextStep(*user)) {
      for (int i = 1; i < user->operand_count(); ++i) {
        if (user->operand(i) != &step) continue;
        context.findings.Add(user->loc(), "operand {} of `{}` is `{}`, which may only be operand 0",
                             i, user->name(), step.name());
        return context.findings.NoteDefinition(step);
      }
    } else if (!CarriesOn(*user) && !IsControlDep(*user)) {
      context.findings.Add(user->loc(),
                           "`{}` uses `{}`, which only an async-update or async-done can use",
                           user->name(), step.name());
      return context.findings.NoteDefinition(step);
    }
  }
  const Reach reach = Follow(step, IsNextStep);
  if (reach.next.size() > 1) {
    context.findings.Add(step.loc(), "`{}` is continued by both `{}` and `{}`", step.name(),
                         reach.next[0]->name(), reach.next[1]->name());
    return context.findings.NoteDefinition(*reach.next[1]);
  }
  if (reach.next.empty() && !reach.leaves)
    context.findings.Add(step.loc(), "`{}` has no async-done", step.name());
}

// The async-start of the chain that `step` belongs to, or null after a message.
const Instruction* ChainStart(const VerifyContext& context, const Instruction& step) {
  const Instruction* start = AsyncStartOf(step);
  if (start != nullptr || step.operand_count() == 0) return start;
  context.findings.Add(step.loc(), "operand 0 of `{}`, `{}`, comes from no async-start",
                       step.name(), step.operand(0)->name());
  context.findings.NoteDefinition(*step.operand(0));
  return nullptr;
}

void CheckThread(const VerifyContext& context, const Instruction& step,
                 const Computation& wrapped) {
  const std::string_view thread = step.attrs<AsyncAttrs>().async_execution_thread;
  if (thread == wrapped.execution_thread()) return;
  context.findings.Add(step.loc(), "`{}` runs on thread `{}`, but computation `{}` on `{}`",
                       step.name(), thread, wrapped.name(), wrapped.execution_thread());
  context.findings.NoteDefinition(wrapped);
}

bool IsCollectivesGroup(const Instruction& start) {
  return start.extras() != nullptr &&
         start.extras()->frontend_attributes.contains("_collectives_group");
}

void CheckWrapped(const VerifyContext& context, const Instruction& start,
                  const Computation& wrapped) {
  if (wrapped.execution_thread() != kMainThread || IsCollectivesGroup(start)) return;
  const Instruction* extra = nullptr;
  for (const Instruction* instruction : wrapped.instructions()) {
    const Opcode opcode = instruction->opcode();
    if (instruction == wrapped.root() || opcode == Opcode::kParameter ||
        opcode == Opcode::kGetTupleElement)
      continue;
    if (extra == nullptr) extra = instruction;
  }
  if (extra == nullptr) return;
  context.findings.Add(
      extra->loc(),
      "`{}` is in asynchronous computation `{}`, which may hold only parameters and a root",
      extra->name(), wrapped.name());
  context.findings.NoteDefinition(start);
}

// The start that a first-class done waits for, or null after a message.
const Instruction* StartOf(const VerifyContext& context, const Instruction& done) {
  const Instruction* start = TraceValue(done.operand(0));
  const AsyncPair* const pair = AsyncPairOf(done.opcode());
  if (start != nullptr && pair != nullptr && pair->start == start->opcode()) return start;
  context.findings.Add(done.loc(), "operand 0 of `{}`, `{}`, is not the start that `{}` waits for",
                       done.name(), done.operand(0)->name(), done.opcode_text());
  context.findings.NoteDefinition(*done.operand(0));
  return nullptr;
}

// A tuple of all that the computation takes.
Shape ParametersOf(const Computation& computation) {
  std::vector<Shape> shapes;
  for (const Instruction* parameter : computation.parameters())
    shapes.push_back(parameter->shape());
  return Shape::Tuple(shapes);
}

// Whether `prefix` is `()` or the first leaves of `whole`, as exact as the options ask.
bool IsExactPrefix(const VerifyContext& context, Shape prefix, Shape whole) {
  if (!prefix.IsTuple() || !whole.IsTuple())
    return prefix == Shape::Tuple({}) ||
           Agree(prefix, whole, ExactWhereLayoutsCount(context.options));
  if (prefix.elements().size() > whole.elements().size()) return false;
  for (size_t i = 0; i < prefix.elements().size(); ++i) {
    if (!IsExactPrefix(context, prefix.elements()[i], whole.elements()[i])) return false;
  }
  return true;
}

// What operands bound so far are called with. False after a message.
bool CheckBound(const VerifyContext& context, const Instruction& step, const Instruction& start) {
  const Computation& wrapped = *start.call(0);
  const Shape bound = step.shape().element(0);
  const int count = bound.element_count_of_tuple();
  if (count > wrapped.parameter_count()) {
    context.findings.Add(step.loc(),
                         "`{}` has bound {} operands, but computation `{}` has {} parameters",
                         step.name(), count, wrapped.name(), wrapped.parameter_count());
    context.findings.NoteDefinition(start);
    return false;
  }
  for (int i = 0; i < count; ++i) {
    if (SameIgnoringLayout(bound.element(i), wrapped.parameter(i)->shape())) continue;
    context.findings.Add(
        step.loc(), "`{}` binds `{}` to parameter `{}` of computation `{}`, which has shape `{}`",
        step.name(), bound.element(i), wrapped.parameter(i)->name(), wrapped.name(),
        wrapped.parameter(i)->shape());
    context.findings.NoteDefinition(*wrapped.parameter(i));
    return false;
  }
  return true;
}

}  // namespace

void CheckOneUser(const VerifyContext& context, const Instruction& start) {
  const Opcode done = AsyncPairOf(start.opcode())->done;
  const Instruction* first = nullptr;
  for (const Instruction* user : start.users()) {
    if (IsControlDep(*user)) continue;
    if (first != nullptr) {
      context.findings.Add(start.loc(), "`{}` is used by both `{}` and `{}`, expected one `{}`",
                           start.name(), first->name(), user->name(), Text(done));
      return context.findings.NoteDefinition(*user);
    }
    first = user;
    if (user->opcode() == done || CarriesOn(*user)) continue;
    context.findings.Add(start.loc(), "`{}` is used by `{}`, expected its `{}`", start.name(),
                         user->name(), Text(done));
    return context.findings.NoteDefinition(*user);
  }
  const Reach reach =
      Follow(start, [done](const Instruction& user) { return user.opcode() == done; });
  if (reach.next.size() > 1) {
    context.findings.Add(start.loc(), "`{}` reaches both `{}` and `{}`, expected one `{}`",
                         start.name(), reach.next[0]->name(), reach.next[1]->name(), Text(done));
    return context.findings.NoteDefinition(*reach.next[1]);
  }
  if (reach.next.empty() && !reach.leaves)
    context.findings.Add(start.loc(), "`{}` has no `{}`", start.name(), Text(done));
}

void VerifyAsyncStart(const VerifyContext& context, const Instruction& start) {
  const Computation& wrapped = *start.call(0);
  CheckThread(context, start, wrapped);
  CheckWrapped(context, start, wrapped);
  CheckChainUsers(context, start);
  if (!IsExactPrefix(context, start.shape().element(0), ParametersOf(wrapped)) ||
      !IsExactPrefix(context, start.shape().element(1), wrapped.root()->shape())) {
    context.findings.Add(start.loc(),
                         "`{}` is declared `{:l}`, but computation `{}` is `{:l}` -> `{:l}`",
                         start.name(), start.shape(), wrapped.name(), ParametersOf(wrapped),
                         wrapped.root()->shape());
    return context.findings.NoteDefinition(wrapped);
  }
  const OutputOperandAliases& aliases = start.attrs<AsyncAttrs>().output_to_operand_aliasing;
  for (const OutputOperandAlias& alias : aliases) {
    if (!alias.output.empty()) continue;
    return context.findings.Add(
        start.loc(), "`output_to_operand_aliasing` of `{}` names the whole output, expected a part",
        start.name());
  }
  // Against the wrapped computation, whatever is bound so far.
  const Shape parameters = ParametersOf(wrapped);
  const Shape output =
      start.shape().WithElement(0, parameters).WithElement(1, wrapped.root()->shape());
  VerifyAliasIndices(context, start, aliases, output, parameters.elements());
}

void VerifyAsyncUpdate(const VerifyContext& context, const Instruction& update) {
  const Instruction* start = ChainStart(context, update);
  if (start == nullptr || !CheckBound(context, update, *start)) return;
  CheckChainUsers(context, update);
  const OutputOperandAliases& aliases = update.attrs<AsyncAttrs>().output_to_operand_aliasing;
  for (const OutputOperandAlias& alias : aliases) {
    const auto is_context = [](const ShapeIndex& index) { return !index.empty() && index[0] >= 2; };
    if (alias.operand == 0 && is_context(alias.output) && is_context(alias.operand_index)) continue;
    context.findings.Add(update.loc(),
                         "`output_to_operand_aliasing` of `{}` names output {} and index {} of "
                         "operand {}, expected contexts "
                         "of operand 0",
                         update.name(), ToString(alias.output), ToString(alias.operand_index),
                         alias.operand);
    return;
  }
  VerifyAliasIndices(context, update, aliases);
}

void VerifyAsyncDone(const VerifyContext& context, const Instruction& done) {
  const Instruction* start = ChainStart(context, done);
  if (start == nullptr) return;
  const Computation& wrapped = *start->call(0);
  const auto bound = done.operand(0)->shape().element(0).elements().size();
  if (bound != static_cast<size_t>(wrapped.parameter_count())) {
    context.findings.Add(
        done.loc(),
        "`{}` ends a chain that has bound {} operands, but computation `{}` has {} parameters",
        done.name(), bound, wrapped.name(), wrapped.parameter_count());
    return context.findings.NoteDefinition(*start);
  }
  if (SameIgnoringLayout(done.shape(), wrapped.root()->shape())) return;
  context.findings.Add(done.loc(), "`{}` has shape `{}`, but computation `{}` returns `{}`",
                       done.name(), done.shape(), wrapped.name(), wrapped.root()->shape());
  context.findings.NoteDefinition(*start);
}

void VerifyTransferStart(const VerifyContext& context, const Instruction& start) {
  CheckOneUser(context, start);
}

void VerifyTransferDone(const VerifyContext& context, const Instruction& done) {
  const Instruction* start = StartOf(context, done);
  if (start == nullptr) return;
  if (start != done.operand(0) || start->attrs_ptr() == done.attrs_ptr()) return;
  const auto text = [](const Instruction& half) {
    const ChannelAttrs& attrs = half.attrs<ChannelAttrs>();
    const std::string channel =
        attrs.channel_id.has_value() ? fmt::format("channel {}", *attrs.channel_id) : "no channel";
    return channel + (attrs.is_host_transfer ? " to the host" : "");
  };
  context.findings.Add(done.loc(), "`{}` has {}, but `{}` has {}", done.name(), text(done),
                       start->name(), text(*start));
  context.findings.NoteDefinition(*start);
}

void VerifyPairStart(const VerifyContext& context, const Instruction& start) {
  CheckOneUser(context, start);
}

void VerifyPairDone(const VerifyContext& context, const Instruction& done) {
  StartOf(context, done);
}

}  // namespace hlo::internal

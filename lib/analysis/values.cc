#include "lib/analysis/values.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/analysis/call_graph.h"
#include "lib/analysis/forwarding.h"
#include "lib/analysis/same_values.h"
#include "lib/ir/async_chain.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {
namespace {

using Ids = std::vector<ValueId>;

Ids Copy(absl::Span<const ValueId> span) { return Ids(span.begin(), span.end()); }

// Drops the values that are others, and numbers those that stay anew.
void DropSameValues(std::vector<Value>& values, Ids& leaves) {
  const Ids same = FindSameValues(values);
  Ids numbers(values.size());
  ValueId kept = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto source = static_cast<size_t>(same[i]);
    numbers[i] = source == i ? kept++ : numbers[source];
    if (source == i && numbers[i] != same[i])
      values[static_cast<size_t>(numbers[i])] = std::move(values[i]);
  }
  if (static_cast<size_t>(kept) == values.size()) return;
  values.resize(static_cast<size_t>(kept));
  for (ValueId& leaf : leaves) leaf = numbers[static_cast<size_t>(leaf)];
  for (ValueId id = 0; id < kept; ++id) {
    Ids& inputs = values[static_cast<size_t>(id)].inputs;
    for (ValueId& input : inputs) input = numbers[static_cast<size_t>(input)];
    std::erase(inputs, id);
  }
}

}  // namespace

Values::Values(const Module& module, ValuesOptions options)
    : module_(&module), options_(options), order_(ProgramOrder(module)) {
  values_.reserve(order_.size());
  leaves_.reserve(order_.size());
  ranges_.reserve(order_.size());
  for (const Instruction* parameter : module.entry()->parameters())
    Set(*parameter, NewLeaves(*parameter));
  for (const ProgramStep& step : order_) {
    switch (step.kind) {
      case ProgramStep::Kind::kVisit: Visit(*step.instruction); break;
      case ProgramStep::Kind::kBegin: Begin(*step.instruction); break;
      case ProgramStep::Kind::kEnter: Enter(step); break;
      case ProgramStep::Kind::kLeave: Leave(step); break;
      case ProgramStep::Kind::kEnd: End(*step.instruction); break;
    }
  }
  DropSameValues(values_, leaves_);
}

// ---- building ----

ValueId Values::New(const Instruction& def, int64_t leaf, Shape shape, Value::Kind kind) {
  values_.push_back({&def, leaf, shape, kind, {}});
  return static_cast<ValueId>(values_.size()) - 1;
}

Ids Values::NewLeaves(const Instruction& def, Value::Kind kind) {
  Ids ids;
  ForEachLeaf(def.shape(), [&](Shape leaf, const ShapeIndex&) {
    ids.push_back(New(def, static_cast<int64_t>(ids.size()), leaf, kind));
  });
  return ids;
}

void Values::Set(const Instruction& instruction, absl::Span<const ValueId> leaves) {
  ranges_[&instruction] = {static_cast<uint32_t>(leaves_.size()),
                           static_cast<uint32_t>(leaves.size())};
  leaves_.insert(leaves_.end(), leaves.begin(), leaves.end());
}

void Values::AddInputs(absl::Span<const ValueId> to, absl::Span<const ValueId> from) {
  for (size_t i = 0; i < to.size() && i < from.size(); ++i) {
    if (to[i] != from[i]) values_[static_cast<size_t>(to[i])].inputs.push_back(from[i]);
  }
}

// The argument of a call becomes the parameter, or one of the values that it stands for.
void Values::Pass(const Instruction& parameter, absl::Span<const ValueId> argument,
                  bool is_shared) {
  const Ids given = Copy(argument);  // Set moves what spans look at
  if (!is_shared) return Set(parameter, given);
  if (!Has(parameter)) Set(parameter, NewLeaves(parameter, Value::Kind::kShared));
  AddInputs(Of(parameter), given);
}

void Values::Visit(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kParameter) return;
  if (kAsyncSteps.Has(opcode)) return VisitAsync(instruction);
  const std::vector<LeafSource> sources = ForwardedLeaves(instruction, options_.dense);
  if (sources.empty() && instruction.shape().IsArray()) {
    const ValueId id = New(instruction, 0, instruction.shape(), Value::Kind::kDefined);
    return Set(instruction, {&id, 1});
  }
  if (sources.empty()) return Set(instruction, NewLeaves(instruction));
  Ids ids;
  size_t leaf = 0;
  ForEachLeaf(instruction.shape(), [&](Shape shape, const ShapeIndex&) {
    const LeafSource source = sources[leaf];
    ids.push_back(source.operand < 0
                      ? New(instruction, static_cast<int64_t>(leaf), shape, Value::Kind::kDefined)
                      : Of(*instruction.operand(source.operand))[static_cast<size_t>(source.leaf)]);
    ++leaf;
  });
  Set(instruction, ids);
}

void Values::Begin(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kWhile) BeginLoop(instruction);
}

void Values::BeginLoop(const Instruction& loop) {
  const Ids initial = Copy(Of(*loop.operand(0)));
  const Ids state = NewLeaves(loop, Value::Kind::kLoopState);
  AddInputs(state, initial);
  Set(loop, state);
}

void Values::Enter(const ProgramStep& step) {
  const Instruction& caller = *step.instruction;
  const Computation& callee = step.callee();
  const bool is_shared = HasSeveralCallers(callee);
  const Opcode opcode = caller.opcode();
  if (opcode == Opcode::kWhile) return Pass(*callee.parameter(0), Of(caller), is_shared);
  if (opcode == Opcode::kConditional)
    return Pass(*callee.parameter(0), Of(*caller.operand(step.call + 1)), is_shared);
  for (int i = 0; i < callee.parameter_count(); ++i) {
    // An asynchronous computation may get its last operands later.
    if (i < caller.operand_count()) {
      Pass(*callee.parameter(i), Of(*caller.operand(i)), is_shared);
    } else if (!Has(*callee.parameter(i))) {
      Set(*callee.parameter(i), NewLeaves(*callee.parameter(i), Value::Kind::kShared));
    }
  }
}

void Values::Leave(const ProgramStep& step) {
  const Instruction& caller = *step.instruction;
  if (caller.opcode() == Opcode::kWhile && step.call == 1)
    AddInputs(Of(caller), Copy(Of(*step.callee().root())));
}

void Values::End(const Instruction& instruction) {
  // Loops are complete when their bodies are left.
  if (instruction.opcode() == Opcode::kCall) return EndCall(instruction);
  if (instruction.opcode() == Opcode::kAsyncStart) return EndAsyncStart(instruction);
  if (instruction.opcode() != Opcode::kConditional) return;
  const Ids result = NewLeaves(instruction, Value::Kind::kBranch);
  for (const Computation* branch : instruction.calls()) AddInputs(result, Of(*branch->root()));
  Set(instruction, result);
}

void Values::EndCall(const Instruction& call) {
  const Instruction& root = *call.to_apply()->root();
  if (!HasSeveralCallers(*call.to_apply())) return Set(call, Copy(Of(root)));
  const Ids result = NewLeaves(call, Value::Kind::kShared);
  AddInputs(result, Of(root));
  Set(call, result);
}

// (operands, result so far, contexts)
void Values::EndAsyncStart(const Instruction& start) {
  Ids known;
  for (const Instruction* operand : start.operands()) {
    const Ids of = Copy(Of(*operand));
    known.insert(known.end(), of.begin(), of.end());
  }
  const Shape shape = start.shape();
  const Computation& callee = *start.call(0);
  const bool is_whole = shape.element_count_of_tuple() > 1 && !HasSeveralCallers(callee) &&
                        LeafCount(shape.element(1)) == LeafCount(callee.root()->shape());
  if (is_whole) {
    const Ids of = Copy(Of(*callee.root()));
    known.insert(known.end(), of.begin(), of.end());
  }
  Ids ids;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    const size_t number = ids.size();
    ids.push_back(number < known.size()
                      ? known[number]
                      : New(start, static_cast<int64_t>(number), leaf, Value::Kind::kDefined));
  });
  Set(start, ids);
}

// An update binds more operands and may show more of the result; the done gives the result.
void Values::VisitAsync(const Instruction& instruction) {
  const Instruction* const start = AsyncStartOf(instruction);
  if (start == nullptr || start->call_count() == 0 || !Has(*start->call(0)->root()))
    return Set(instruction, NewLeaves(instruction));
  const Computation& callee = *start->call(0);
  const Ids result = Copy(Of(*callee.root()));
  const bool is_shared = HasSeveralCallers(callee);
  if (instruction.opcode() == Opcode::kAsyncDone) {
    if (!is_shared && std::ssize(result) == LeafCount(instruction.shape()))
      return Set(instruction, result);
    const Ids mine = NewLeaves(instruction, Value::Kind::kShared);
    AddInputs(mine, result);
    return Set(instruction, mine);
  }
  const Shape before = instruction.operand(0)->shape();
  Ids known = Copy(Of(*instruction.operand(0)));
  const int bound = before.element(0).element_count_of_tuple();
  known.resize(static_cast<size_t>(LeafCount(before.element(0))));
  for (int i = 1; i < instruction.operand_count(); ++i) {
    const Ids late = Copy(Of(*instruction.operand(i)));
    known.insert(known.end(), late.begin(), late.end());
    if (bound + i - 1 < callee.parameter_count())
      AddInputs(Of(*callee.parameter(bound + i - 1)), late);
  }
  const Shape shape = instruction.shape();
  if (!is_shared && LeafCount(shape.element(1)) == std::ssize(result))
    known.insert(known.end(), result.begin(), result.end());
  Ids ids;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    const size_t number = ids.size();
    ids.push_back(number < known.size() ? known[number]
                                        : New(instruction, static_cast<int64_t>(number), leaf,
                                              Value::Kind::kDefined));
  });
  Set(instruction, ids);
}

// ---- questions ----

absl::Span<const ValueId> Values::Of(const Instruction& instruction) const {
  const auto it = ranges_.find(&instruction);
  if (it == ranges_.end()) return {};
  return absl::MakeConstSpan(leaves_).subspan(it->second.begin, it->second.count);
}

bool Values::Reads(const Instruction& instruction) const {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kWhile || opcode == Opcode::kConditional) return true;
  if (opcode == Opcode::kCall || opcode == Opcode::kParameter) return false;
  const absl::Span<const ValueId> leaves = Of(instruction);
  if (leaves.empty()) return LeafCount(instruction.shape()) > 0 || instruction.HasSideEffect();
  return std::any_of(leaves.begin(), leaves.end(), [&](ValueId value) {
    return (*this)[value].def == &instruction && (*this)[value].kind == Value::Kind::kDefined;
  });
}

std::string Values::Mistake(const Module& module) const {
  const Values fresh(module, options_);
  for (const ProgramStep& step : fresh.order_) {
    const absl::Span<const ValueId> now = fresh.Of(*step.instruction),
                                    known = Of(*step.instruction);
    if (now != known)
      return fmt::format("instruction `{}` has other values now", step.instruction->name());
  }
  if (fresh.count() == count()) return "";
  return fmt::format("there are {} values, not {}", fresh.count(), count());
}

}  // namespace hlo

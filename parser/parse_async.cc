// Asynchronous operations: the generic form and its sugar.
//
//   s = ((f32[8]), f32[4], u32[]) slice-start(x), slice={[0:4]}
//
// becomes a computation `async_wrapped` that holds a parameter per element of tuple element 0 and
// the `slice`, and an `async-start` that calls it. `slice-update` and `slice-done` become
// `async-update` and `async-done`; operands which an update binds late become further parameters of
// the computation. XLA writes the attributes of the wrapped operation at the start only; here an
// update or done may repeat them, and the operands in the shape of a start or update need not stand
// in a tuple of their own: `(f32[8], f32[4], u32[])` with one operand means
// `((f32[8]), f32[4], u32[])`.
#include <utility>

#include "lib/ir/compare.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/async_pairs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

constexpr std::string_view kSuffixes[] = {"-start", "-update", "-done"};

// Values through which a producer is looked for.
constexpr int kMaxSteps = 1000;
// Hand values of an operand on; all others make values of their own.
constexpr OpcodeSet kPassThrough = {Opcode::kGetTupleElement, Opcode::kTuple,
                                    Opcode::kOptimizationBarrier, Opcode::kCopy, Opcode::kWhile};

bool PassesThrough(const Instruction& value) {
  if (value.opcode() != Opcode::kCustomCall) return kPassThrough.Has(value.opcode());
  return value.operand_count() > 0 && HandsOperandOn(value);
}

bool CallsComputation(Opcode opcode) {
  return opcode == Opcode::kCall || opcode == Opcode::kFusion;
}

}  // namespace

// `draft` gets the wrapped opcode and the kind of step.
bool Parser::SplitAsyncWord(std::string_view word, Draft& draft) {
  const SourceLoc loc = token().loc();
  for (size_t i = 0; i < 3; ++i) {
    if (!word.ends_with(kSuffixes[i])) continue;
    const std::string_view wrapped = word.substr(0, word.size() - kSuffixes[i].size());
    const std::optional<Opcode> opcode = OpcodeFromText(wrapped);
    if (!opcode)
      return Fail(loc, "unknown opcode `{}`: there is no `{}` to wrap{}", word, wrapped,
                  SuggestOpcode(wrapped));
    const AsyncPair* const own = AsyncPairOf(*opcode);
    if (own != nullptr && own->opcode == *opcode)
      return Fail(loc, "unknown opcode `{}`: the asynchronous forms of `{}` are `{}` and `{}`{}",
                  word, wrapped, Text(own->start), Text(own->done),
                  i == 1 ? ", with nothing between them" : "");
    const bool is_async = *opcode == Opcode::kAsyncStart || *opcode == Opcode::kAsyncUpdate ||
                          *opcode == Opcode::kAsyncDone;
    if (is_async || *opcode == Opcode::kParameter || *opcode == Opcode::kConstant) {
      return Fail(loc, "`{}` cannot be wrapped in an asynchronous operation", wrapped);
    }
    draft.opcode = *opcode;
    draft.sugar = i == 0   ? Draft::Sugar::kStart
                  : i == 1 ? Draft::Sugar::kUpdate
                           : Draft::Sugar::kDone;
    return true;
  }
  return Fail(loc, "unknown opcode `{}`{}", word, SuggestOpcode(word));
}

// Checks the written shape of a step; puts the operands of a start or update into a tuple.
bool Parser::CheckAsyncShape(Draft& draft, bool is_start, bool is_done) {
  const std::string_view what = is_done ? "done" : is_start ? "start" : "update";
  if (!draft.shape.has_value())
    return Fail(draft.opcode_loc, "an asynchronous {} needs its shape written", what);
  if (is_done) return true;
  const Shape shape = *draft.shape;
  if (shape.IsTuple() && shape.elements().size() >= 2 && shape.element(0).IsTuple()) return true;
  // As many elements as there are operands bound so far: those of the start, and what updates add.
  size_t bound = draft.operands.size();
  if (!is_start && bound > 0) {
    const Instruction* before = FindAsync(draft.operands[0]);
    if (before != nullptr && before->shape().IsTuple() && before->shape().element(0).IsTuple())
      bound += before->shape().element(0).elements().size() - 1;
  }
  if (!shape.IsTuple() || shape.elements().size() < bound + 1) {
    return Fail(draft.shape_loc,
                "the shape of an asynchronous {} is `{}`, expected `((operands), result, context)`",
                what, shape);
  }
  const absl::Span<const Shape> flat = shape.elements();
  std::vector<Shape> nested = {Shape::Tuple(flat.subspan(0, bound))};
  nested.insert(nested.end(), flat.begin() + static_cast<int64_t>(bound), flat.end());
  draft.shape = Shape::Tuple(nested);
  return true;
}

void Parser::SetThread(Computation* computation, std::string_view thread) {
  std::vector<Computation*> stack = {computation};
  absl::flat_hash_map<const Computation*, bool> seen;
  while (!stack.empty()) {
    Computation* top = stack.back();
    stack.pop_back();
    if (!seen.try_emplace(top, true).second) continue;
    if (top->execution_thread() != thread) top->set_execution_thread(thread);
    if (!top->MayCall()) continue;
    for (const Instruction* instruction : top->instructions()) {
      for (Computation* callee : instruction->calls()) stack.push_back(callee);
    }
  }
}

// The async-start or -update that `value` is, seen through what only passes values on.
Instruction* Parser::FindAsync(Instruction* value) const {
  int steps = 0;
  return FindAsync(value, {}, steps);
}

// `path`: indices into tuples that lead to the value, outermost last.
Instruction* Parser::FindAsync(Instruction* value, std::vector<int64_t> path, int& steps) const {
  while (value != nullptr && ++steps < kMaxSteps) {
    const Opcode opcode = value->opcode();
    if (kAsyncOps.Has(opcode)) return path.empty() ? value : nullptr;
    if (!PassesThrough(*value)) return nullptr;
    int operand = 0;
    if (opcode == Opcode::kGetTupleElement) path.push_back(value->tuple_index());
    if (opcode == Opcode::kTuple) {
      if (path.empty() || path.back() < 0 || path.back() >= value->operand_count()) return nullptr;
      operand = static_cast<int>(path.back());
      path.pop_back();
    }
    if (opcode == Opcode::kWhile) {
      // What a turn hands on comes before what the loop starts with.
      if (Instruction* found = FindAsync(value->while_body()->root(), path, steps)) return found;
    }
    value = value->operand(operand);
  }
  return nullptr;
}

Computation* Parser::WrappedBy(const Instruction* step) const {
  const auto it = async_wrapped_.find(step);
  return it == async_wrapped_.end() ? nullptr : it->second;
}

Computation* Parser::WrappedByStart(const Draft& step) const {
  if (step.operands.empty()) return nullptr;
  const Instruction* producer = FindAsync(step.operands[0]);
  return producer == nullptr ? nullptr : WrappedBy(producer);
}

// Attributes of the step that also describe the wrapped operation. Where that is a step itself, the
// next reader would hand them on, so this one does.
void Parser::CopyToWrapped(Computation* wrapped, const CommonAttrs& common) {
  if (common.extras == nullptr) return;
  const Extras from = *common.extras;
  for (int steps = 0; wrapped != nullptr && steps < kMaxSteps; ++steps) {
    CopyExtras(from, wrapped->root());
    wrapped = WrappedBy(wrapped->root());
  }
}

void Parser::CopyExtras(const Extras& from, Instruction* root) {
  Extras& to = root->mutable_extras();
  // What does not print would be lost on the next reader, and with it what it has replaced.
  if (from.metadata.IsPrintable()) to.metadata = from.metadata;
  if (from.origin) to.origin = from.origin;
  if (!from.backend_config.empty()) to.backend_config = from.backend_config;
  if (!from.frontend_attributes.empty()) to.frontend_attributes = from.frontend_attributes;
  if (from.statistics) to.statistics = from.statistics;
}

// Gives the wrapped computation the shapes of a sugared update or done; operands bound late become
// parameters.
void Parser::PatchWrapped(Computation* wrapped, absl::Span<const Shape> operands, Shape result) {
  Instruction* root = wrapped->root();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i < static_cast<size_t>(wrapped->parameter_count())) {
      wrapped->parameter(static_cast<int>(i))->set_shape(operands[i]);
      continue;
    }
    Instruction* parameter = wrapped->AddVerbatim(
        Opcode::kParameter, operands[i], {},
        AttrsPtr::Make(ParameterAttrs{static_cast<int64_t>(i), std::nullopt}), {}, "async_param");
    root->AppendOperand(parameter);
    late_bound_.insert(wrapped);
  }
  root->set_shape(result);
}

bool Parser::BuildSugaredStart(Draft& draft, Computation*& wrapped) {
  const Shape shape = *draft.shape;
  std::vector<Shape> parameters(shape.element(0).elements().begin(),
                                shape.element(0).elements().end());
  Shape result = shape.element(1);
  const OperandSpec& spec = Info(draft.opcode).operands;
  // Operands of a fixed number that are not there yet: an update binds them.
  while (spec.max > 0 && static_cast<int>(parameters.size()) < spec.max)
    parameters.push_back(Shape::Array(ElementType::kF32, {1}));
  if (CallsComputation(draft.opcode)) {
    const Signature callee = draft.common.calls[0]->signature();
    result = callee.result;
    for (size_t i = 0; i < callee.parameters.size(); ++i) {
      if (i < parameters.size()) {
        parameters[i] = callee.parameters[i];
      } else {
        parameters.push_back(callee.parameters[i]);
      }
    }
  }
  Scope inner;
  inner.computation = wrapped = NewComputation("async_wrapped", draft.loc);
  Draft op(*module_);
  op.loc = draft.loc;
  op.opcode_loc = draft.opcode_loc;
  op.shape_loc = draft.shape_loc;
  op.opcode = draft.opcode;
  op.name = Text(draft.opcode);
  op.shape = result;
  op.attrs = std::move(draft.attrs);
  op.common.calls = draft.common.calls;
  if (draft.common.extras != nullptr && draft.common.extras->result_accuracy) {
    op.common.mutable_extras().result_accuracy = std::move(draft.common.extras->result_accuracy);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    op.operands.push_back(wrapped->AddVerbatim(
        Opcode::kParameter, parameters[i], {},
        AttrsPtr::Make(ParameterAttrs{static_cast<int64_t>(i), std::nullopt}), {}, "async_param"));
    op.operands.back()->set_loc(draft.loc);
  }
  Instruction* root = nullptr;
  if (!Build(inner, op, root)) return false;
  wrapped->set_root(root);
  finished_.push_back(wrapped);
  draft.common.calls = {wrapped};
  return true;
}

bool Parser::BuildAsync(Scope& scope, Draft& draft, Instruction*& out) {
  any_async_ = true;
  const bool sugared = draft.sugar != Draft::Sugar::kNone;
  const bool is_start = draft.sugar == Draft::Sugar::kStart || draft.opcode == Opcode::kAsyncStart;
  const bool is_done = draft.sugar == Draft::Sugar::kDone || draft.opcode == Opcode::kAsyncDone;
  const Opcode opcode = is_start  ? Opcode::kAsyncStart
                        : is_done ? Opcode::kAsyncDone
                                  : Opcode::kAsyncUpdate;
  if (!CheckAsyncShape(draft, is_start, is_done)) return false;
  Computation* wrapped = nullptr;
  AsyncAttrs attrs = draft.async;
  if (is_start) {
    if (sugared) {
      if (!BuildSugaredStart(draft, wrapped)) return false;
    } else {
      wrapped = draft.common.calls[0];
    }
    // What a new computation calls may be on another thread.
    if (sugared || wrapped->execution_thread() != attrs.async_execution_thread)
      SetThread(wrapped, attrs.async_execution_thread);
  } else {
    if (draft.operands.empty())
      return Fail(draft.opcode_loc, "an asynchronous {} needs an operand",
                  is_done ? "done" : "update");
    Instruction* producer = FindAsync(draft.operands[0]);
    if (producer != nullptr && producer->opcode() == Opcode::kAsyncDone) {
      Fail(draft.opcode_loc,
           "operand `{}` of an asynchronous {} is a done; expected a start or update",
           draft.operands[0]->name(), is_done ? "done" : "update");
      return Note(producer->loc(), fmt::format("`{}` is defined here", producer->name()));
    }
    wrapped = producer == nullptr ? nullptr : WrappedBy(producer);
    if (is_done && draft.operands.size() > 1) {
      Warn(draft.opcode_loc, "an asynchronous done has one operand; the others are dropped");
      draft.operands.resize(1);
    }
    if (wrapped != nullptr && !CheckAsyncStep(draft, wrapped, producer)) return false;
    if (wrapped != nullptr && sugared) {
      const Shape step = is_done ? Shape() : draft.shape->element(0);
      PatchWrapped(wrapped, step.elements(), is_done ? *draft.shape : draft.shape->element(1));
    }
    attrs.async_execution_thread = "main";
    draft.common.calls.clear();
    // Has been compared with the start's.
    if (draft.common.extras != nullptr) draft.common.extras->result_accuracy.reset();
  }
  const std::string_view name = draft.anonymous ? AnonymousName(Text(opcode)) : draft.name;
  out = scope.computation->AddVerbatim(opcode, *draft.shape, draft.operands,
                                       AttrsPtr::Make(std::move(attrs)), draft.common.calls, name);
  out->set_loc(draft.loc);
  scope.last = out;
  if (wrapped != nullptr) {
    async_wrapped_[out] = wrapped;
    CopyToWrapped(wrapped, draft.common);
  }
  ApplyExtras(out, draft.common);
  return true;
}

// An update or done against the computation of its start.
bool Parser::CheckAsyncStep(const Draft& draft, Computation* wrapped, const Instruction* producer) {
  const auto note = [&] {
    return Note(producer->loc(), fmt::format("`{}` is defined here", producer->name()));
  };
  if (draft.sugar != Draft::Sugar::kNone && wrapped->root()->opcode() != draft.opcode) {
    Fail(draft.opcode_loc, "this step wraps `{}`, but `{}` wraps `{}`", Text(draft.opcode),
         producer->name(), Text(wrapped->root()->opcode()));
    return note();
  }
  if (draft.async_has_thread && draft.async.async_execution_thread != wrapped->execution_thread()) {
    Fail(draft.opcode_loc, "this step names thread `{}`, but `{}` runs on `{}`",
         draft.async.async_execution_thread, producer->name(), wrapped->execution_thread());
    return note();
  }
  if (draft.sugar == Draft::Sugar::kNone && !draft.common.calls.empty() &&
      draft.common.calls[0] != wrapped && !StructurallyEqual(*draft.common.calls[0], *wrapped)) {
    Fail(draft.opcode_loc, "this step calls `{}`, but `{}` calls `{}`",
         draft.common.calls[0]->name(), producer->name(), wrapped->name());
    return note();
  }
  return true;
}

}  // namespace hlo

#include "passes/control_flow/while_loop_simplifier.h"

#include <numeric>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "lib/analysis/side_effects.h"
#include "lib/analysis/trip_count.h"
#include "lib/ir/verify_meaning.h"
#include "lib/ops/async_pairs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "passes/control_flow/call_inliner.h"
#include "passes/simplify/dce.h"
#include "passes/util/calls_opcode.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/loop_dependencies.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// Whether a frontend attribute asks for the state of `loop` to stay as it is.
bool KeepsState(const Instruction& loop) {
  for (const std::string_view key : {"xla_disable_while_loop_dce", "xla.disable_while_loop_dce",
                                     "xla_preserve_tuple_indices", "xla.preserve_tuple_indices"}) {
    const std::string_view text = FrontendAttribute(loop, key);
    const absl::string_view value(text.data(), text.size());
    if (value == "1" || absl::EqualsIgnoreCase(value, "true") ||
        absl::EqualsIgnoreCase(value, "yes"))
      return true;
  }
  return false;
}

class LoopSimplifier {
 public:
  LoopSimplifier(Instruction* loop, PassContext& context, SideEffects& effects,
                 const WhileLoopSimplifierOptions& options)
      : loop_(loop),
        body_(loop->while_body()),
        condition_(loop->while_condition()),
        context_(context),
        effects_(effects),
        options_(options) {}

  absl::StatusOr<bool> Run() {
    if (body_ == condition_ || body_->callers().size() != 1 || condition_->callers().size() != 1)
      return false;
    if (!HasMeaning(*loop_)) return false;  // its body returns another tuple than it takes
    if (KeepsState(*loop_)) return false;
    const bool is_tuple = loop_->shape().IsTuple();
    if (is_tuple) {
      using Step = absl::StatusOr<bool> (LoopSimplifier::*)();
      for (Step step :
           {&LoopSimplifier::MergeRepeated, &LoopSimplifier::Flatten, &LoopSimplifier::DropUnneeded,
            &LoopSimplifier::DropConstants, &LoopSimplifier::DecideComparisons}) {
        ASSIGN_OR_RETURN(const bool changed, (this->*step)());
        if (changed) return true;
      }
    }
    if (CallsOpcode(*loop_, kSendRecvOps)) return false;
    bool changed = is_tuple && PropagateScalars();
    ASSIGN_OR_RETURN(const bool removed, Remove());
    if (removed) return true;
    if (!is_tuple || CallsOpcode(*loop_, {Opcode::kDomain})) return changed;
    for (const ElementType type : {ElementType::kS8, ElementType::kU8, ElementType::kS32,
                                   ElementType::kU32, ElementType::kS64, ElementType::kU64}) {
      ASSIGN_OR_RETURN(const bool merged, MergeCounters(type));
      changed |= merged;
    }
    return changed;
  }

 private:
  int64_t count() const { return loop_->shape().element_count_of_tuple(); }
  Instruction* init() const { return loop_->operand(0); }
  Instruction* init(int64_t i) const { return init()->operand(static_cast<int>(i)); }
  Instruction* next(int64_t i) const { return body_->root()->operand(static_cast<int>(i)); }
  bool TuplesAreBuilt() const {
    return init()->opcode() == Opcode::kTuple && body_->root()->opcode() == Opcode::kTuple;
  }
  bool OnlyElementsReadInside() const {
    return OnlyElementsRead(*body_->parameter(0)) && OnlyElementsRead(*condition_->parameter(0));
  }
  bool PassesThrough(int64_t i) const { return IsParameterElement(*next(i), i); }

  // ---- 1 ----

  absl::StatusOr<bool> MergeRepeated() {
    if (!TuplesAreBuilt() || !OnlyElementsReadInside() || loop_->has_control_edges()) return false;
    std::vector<int64_t> same(static_cast<size_t>(count()));
    absl::c_iota(same, 0);
    for (int64_t i = 0; i < count(); ++i) {
      for (int64_t k = 0; k < i; ++k) {
        if (same[static_cast<size_t>(k)] != k || init(k) != init(i) || !MoveAlike(k, i)) continue;
        same[static_cast<size_t>(i)] = k;
        break;
      }
    }
    std::vector<bool> keep;
    std::vector<Instruction*> unchanging;  // null: it changes
    for (int64_t i = 0; i < count(); ++i) {
      keep.push_back(same[static_cast<size_t>(i)] == i);
      unchanging.push_back(PassesThrough(i) ? init(i) : nullptr);
    }
    return Drop(keep, "repeated elements",
                [&](Builder& builder, int64_t i, const std::function<Instruction*(int64_t)>& read) {
                  Instruction* const before = unchanging[static_cast<size_t>(i)];
                  const bool is_after = builder.computation() == loop_->parent();
                  return is_after && before != nullptr ? before
                                                       : read(same[static_cast<size_t>(i)]);
                });
  }

  // Equal elements stay equal: both pass through, or get the same update at the same place.
  bool MoveAlike(int64_t a, int64_t b) const {
    if (PassesThrough(a) && PassesThrough(b)) return true;
    const Instruction* x = next(a);
    const Instruction* y = next(b);
    if (x->opcode() != Opcode::kDynamicUpdateSlice || y->opcode() != x->opcode()) return false;
    if (!IsParameterElement(*x->operand(0), a) || !IsParameterElement(*y->operand(0), b))
      return false;
    for (int i = 1; i < x->operand_count(); ++i) {
      if (x->operand(i) != y->operand(i)) return false;
    }
    return x->operand_count() == y->operand_count();
  }

  // ---- 2 ----

  // Whether element `i` is what an asynchronous operation or a transfer started: its end wants it
  // as it came.
  bool CarriesAsyncChain(int64_t i) const {
    const auto starts = [](const Instruction* value) { return YieldsUnderWay(value->opcode()); };
    const auto ends = [](const Instruction* value) {
      return EndsPair(value->opcode()) || value->opcode() == Opcode::kAsyncUpdate;
    };
    const auto is_ended = [&](const Instruction* state) {
      return absl::c_any_of(state->users(), [&](const Instruction* element) {
        return element->opcode() == Opcode::kGetTupleElement && element->tuple_index() == i &&
               absl::c_any_of(element->users(), ends);
      });
    };
    return starts(init(i)) || starts(next(i)) || is_ended(loop_) || is_ended(body_->parameter(0));
  }

  absl::StatusOr<bool> Flatten() {
    const auto elements = loop_->shape().elements();
    if (absl::c_none_of(elements, [](Shape s) { return s.IsTuple(); })) return false;
    if (!TuplesAreBuilt() || !context_.MayRewrite()) return false;
    for (int64_t i = 0; i < count(); ++i) {
      if (CarriesAsyncChain(i)) return false;
    }
    StateChange change;
    Builder outer(loop_);
    struct Place {
      int64_t element;
      ShapeIndex index;
    };
    std::vector<Place> places;                       // of the new elements
    std::vector<int64_t> first_of(elements.size());  // new element
    const auto read = [](Builder& builder, Instruction* value, const ShapeIndex& index) {
      for (int64_t i : index) value = ReadElement(builder, value, i);
      return value;
    };
    for (size_t i = 0; i < elements.size(); ++i) {
      first_of[i] = static_cast<int64_t>(places.size());
      ForEachLeaf(elements[i], [&](Shape, const ShapeIndex& index) {
        places.push_back({static_cast<int64_t>(i), index});
        change.init.push_back(read(outer, init(static_cast<int64_t>(i)), index));
        change.old_leaf.push_back(static_cast<int64_t>(change.old_leaf.size()));
      });
    }
    const std::function<Instruction*(Builder&, Instruction*, Shape, int64_t&)> build =
        [&build](Builder& builder, Instruction* state, Shape shape, int64_t& at) {
          if (!shape.IsTuple()) return builder.GetTupleElement(state, at++);
          std::vector<Instruction*> parts;
          for (Shape part : shape.elements()) parts.push_back(build(builder, state, part, at));
          return builder.Tuple(parts);
        };
    const std::vector<Shape> old_shapes(elements.begin(), elements.end());
    change.view = [&](Builder& builder, Instruction* state, int64_t i) {
      int64_t at = first_of[static_cast<size_t>(i)];
      return build(builder, state, old_shapes[static_cast<size_t>(i)], at);
    };
    change.next = [&](Builder& builder, Instruction*,
                      const std::function<Instruction*(int64_t)>& old_next, int64_t k) {
      const Place& place = places[static_cast<size_t>(k)];
      return read(builder, old_next(place.element), place.index);
    };
    context_.Passed(*loop_, "the tuples inside its state are flattened");
    RETURN_IF_ERROR(ChangeLoopState(loop_, change));
    context_.Count("flattened loops");
    return true;
  }

  // ---- 3 ----

  absl::StatusOr<bool> DropUnneeded() {
    if (count() == 0 || loop_->has_control_edges()) return false;
    if (body_->root()->opcode() != Opcode::kTuple || !OnlyElementsReadInside()) return false;
    const std::vector<bool> unneeded = UnneededElements(*loop_, effects_);
    std::vector<bool> keep;
    for (bool drop : unneeded) keep.push_back(!drop);
    Instruction* before = init();
    const Shape shape = loop_->shape();
    // Nobody reads those that go, but for what passes through and is read after the loop.
    return Drop(keep, "unneeded elements",
                [&](Builder& builder, int64_t i, const std::function<Instruction*(int64_t)>&) {
                  if (builder.computation() == loop_->parent())
                    return ReadElement(builder, before, i);
                  return Placeholder(builder, shape.element(static_cast<int>(i)));
                });
  }

  // A value for readers that are dead themselves.
  static Instruction* Placeholder(Builder& builder, Shape shape) {
    if (shape.IsToken()) return builder.Op(Opcode::kAfterAll, {});
    if (shape.IsArray())
      return builder.Broadcast(builder.Constant(Literal::Zero(shape.element_type())), shape.dims(),
                               {});
    std::vector<Instruction*> elements;
    for (Shape element : shape.elements()) elements.push_back(Placeholder(builder, element));
    return builder.Tuple(elements);
  }

  // ---- 4 ----

  absl::StatusOr<bool> DropConstants() {
    if (!TuplesAreBuilt() || loop_->has_control_edges()) return false;
    std::vector<bool> keep;
    std::vector<Literal> values;
    for (int64_t i = 0; i < count(); ++i) {
      const Instruction* first = init(i);
      const bool constant = first->IsConstant() && !first->literal().is_elided() &&
                            next(i)->IsConstant() && !next(i)->literal().is_elided() &&
                            next(i)->literal() == first->literal();
      keep.push_back(!constant);
      values.push_back(constant ? first->literal() : Literal());
    }
    if (!absl::c_linear_search(keep, true) && count() > 0) {
      // Nothing changes, ever: the state after the loop is the one before.
      if (effects_.Of(*loop_) || !context_.MayRewrite()) return false;
      context_.Count("constant loops");
      context_.Passed(*loop_, "its state never changes");
      loop_->parent()->Replace(loop_, init());
      return true;
    }
    return Drop(keep, "constant elements",
                [&](Builder& builder, int64_t i, const std::function<Instruction*(int64_t)>&) {
                  return builder.Constant(values[static_cast<size_t>(i)]);
                });
  }

  absl::StatusOr<bool> Drop(const std::vector<bool>& keep, std::string_view what,
                            const ViewOfDropped& view) {
    const int64_t dropped = absl::c_count(keep, false);
    if (dropped == 0 || !context_.MayRewrite()) return false;
    context_.Passed(*loop_, "{} of its {} {} dropped", dropped, keep.size(), what);
    RETURN_IF_ERROR(DropLoopElements(loop_, keep, view));
    context_.Count(what, dropped);
    return true;
  }

  // ---- 5 ----

  absl::StatusOr<bool> DecideComparisons() {
    if (!options_.simplify_compare_instrs) return false;
    const std::optional<int64_t> index = InductionIndex(*loop_);
    if (!index) return false;
    const std::optional<CountedLoop> counted = MatchCountedLoop(*loop_, *index);
    if (!counted || counted->step != 1 || counted->trip_count == 0) return false;
    const int64_t first = counted->init;
    const int64_t last = counted->final_value() - 1;
    for (Instruction* compare : body_->instruction_vector()) {
      if (compare->opcode() != Opcode::kCompare || compare->has_control_edges()) continue;
      const Instruction* bound = compare->operand(1);
      if (!IsParameterElement(*compare->operand(0), *index) || !bound->IsConstant() ||
          bound->literal().is_elided() || !compare->shape().IsScalar())
        continue;
      const std::optional<bool> value =
          Decide(compare->attrs<CompareAttrs>().direction, first, last, bound->literal().GetInt());
      if (!value || !context_.MayRewrite()) continue;
      Instruction* constant =
          body_->AddConstant(Literal::Scalar<int64_t>(ElementType::kPred, *value ? 1 : 0));
      constant->set_loc(compare->loc());
      body_->Replace(compare, constant);
      context_.Count("decided comparisons");
      return true;
    }
    return false;
  }

  // `i direction x` for all i in [first, last], if it is always the same.
  static std::optional<bool> Decide(ComparisonDirection direction, int64_t first, int64_t last,
                                    int64_t x) {
    if (direction == ComparisonDirection::kLt) {
      if (x <= first) return false;
      if (x > last) return true;
    }
    if (direction == ComparisonDirection::kGt) {
      if (x < first) return true;
      if (x >= last) return false;
    }
    return std::nullopt;
  }

  // ---- 7 ----

  bool PropagateScalars() {
    if (!TuplesAreBuilt()) return false;
    bool changed = false;
    for (int64_t i = 0; i < count(); ++i) {
      const Instruction* first = init(i);
      if (!first->IsConstant() || first->literal().is_elided() || !first->shape().IsScalar() ||
          !PassesThrough(i))
        continue;
      for (Computation* computation : {body_, condition_}) {
        for (Instruction* element : computation->parameter(0)->users()) {
          if (element->opcode() != Opcode::kGetTupleElement || element->tuple_index() != i ||
              !element->has_uses())
            continue;
          if (!context_.MayRewrite()) return changed;
          Builder builder(computation, element);
          Instruction* constant = builder.Constant(first->literal());
          element->ReplaceAllUsesWith(constant);
          if (element->is_root()) computation->set_root(constant);
          context_.Count("propagated constants");
          changed = true;
        }
      }
    }
    return changed;
  }

  // ---- 8 ----

  absl::StatusOr<bool> Remove() {
    if (loop_->has_control_edges() || HasEffects(*condition_)) return false;
    const std::optional<int64_t> trip_count = TripCount(*loop_, /*max_tried=*/1);
    if (!trip_count || *trip_count > 1) return false;
    Computation& computation = *loop_->parent();
    if (*trip_count == 0) {
      if (!context_.MayRewrite()) return false;
      context_.Count("loops without iterations");
      context_.Passed(*loop_, "it never runs");
      computation.Replace(loop_, init());
      return true;
    }
    if (HasEffects(*body_) || !MayBeInlined(*loop_) ||
        FrontendAttribute(*loop_, "skip-simplify-while-loops_trip-count-one") == "true") {
      context_.Missed(*loop_, "it runs once, but its body must stay a loop");
      return false;
    }
    if (!context_.MayRewrite()) return false;
    Builder builder(&computation, loop_);
    Instruction* call = builder.Call({init()}, body_);
    RETURN_IF_ERROR(builder.status());
    context_.Passed(*loop_, "it runs once: its body stands in its place");
    computation.Replace(loop_, call);
    // The names of what the body does say already that a loop did it.
    OpMetadata metadata = call->metadata();
    metadata.op_name.clear();
    call->set_metadata(metadata);
    InlineBody(call);
    context_.Count("loops with one iteration");
    return true;
  }

  bool HasEffects(const Computation& computation) { return effects_.Of(computation); }

  // ---- 10 ----

  struct Counter {
    int64_t index;
    const Instruction* step;  // a constant
  };

  // The constant c when element `i`, a scalar of `type`, becomes itself plus c.
  const Instruction* StepOf(int64_t i, ElementType type) const {
    const Instruction* sum = next(i);
    if (!sum->shape().IsScalar() || sum->shape().element_type() != type ||
        sum->opcode() != Opcode::kAdd)
      return nullptr;
    for (int side = 0; side < 2; ++side) {
      const Instruction* step = sum->operand(1 - side);
      if (IsParameterElement(*sum->operand(side), i) && step->IsConstant() &&
          !step->literal().is_elided())
        return step;
    }
    return nullptr;
  }

  bool StartsAtZero(int64_t i) const {
    return init(i)->IsConstant() && !init(i)->literal().is_elided() && init(i)->literal().IsAll(0);
  }

  absl::StatusOr<bool> MergeCounters(ElementType type) {
    if (!TuplesAreBuilt()) return false;
    std::vector<Counter> variables;
    int64_t counter = -1;
    for (int64_t i = 0; i < count(); ++i) {
      const Instruction* step = StepOf(i, type);
      if (step == nullptr) continue;
      if (counter < 0 && step->literal().IsAllOnes() && StartsAtZero(i)) {
        counter = i;
      } else {
        variables.push_back({i, step});
      }
    }
    if (static_cast<int64_t>(variables.size()) + (counter >= 0 ? 1 : 0) < 2) return false;
    if (!context_.MayRewrite()) return false;
    std::vector<std::optional<Literal>> step_of(static_cast<size_t>(count()) + 1);
    for (const Counter& variable : variables)
      step_of[static_cast<size_t>(variable.index)] = variable.step->literal();

    StateChange change;
    for (int64_t i = 0; i < count(); ++i) change.init.push_back(init(i));
    const int64_t leaves = LeafCount(loop_->shape());
    for (int64_t leaf = 0; leaf < leaves; ++leaf) change.old_leaf.push_back(leaf);
    const bool new_counter = counter < 0;
    if (new_counter) {
      Builder outer(loop_);
      counter = count();
      change.init.push_back(outer.Constant(Literal::Zero(type)));
      change.old_leaf.push_back(-1);
    }
    // x  =>  x at the start + counter * step
    change.view = [&](Builder& builder, Instruction* state, int64_t i) {
      Instruction* value = builder.GetTupleElement(state, i);
      const std::optional<Literal>& step = step_of[static_cast<size_t>(i)];
      if (!step) return value;
      Instruction* done = builder.GetTupleElement(state, counter);
      return builder.Add(value, builder.Multiply(done, builder.Constant(*step)));
    };
    change.next = [&](Builder& builder, Instruction* state,
                      const std::function<Instruction*(int64_t)>& old_next, int64_t k) {
      if (k == counter && new_counter) {
        Instruction* done = builder.GetTupleElement(state, k);
        return builder.Add(done, builder.Constant(Literal::One(done->shape().element_type())));
      }
      if (step_of[static_cast<size_t>(k)]) return builder.GetTupleElement(state, k);
      return old_next(k);
    };
    RETURN_IF_ERROR(ChangeLoopState(loop_, change));
    context_.Count("merged counters", static_cast<int64_t>(variables.size()));
    return true;
  }

  Instruction* loop_;
  Computation* body_;
  Computation* condition_;
  PassContext& context_;
  SideEffects& effects_;
  const WhileLoopSimplifierOptions& options_;
};

}  // namespace

absl::StatusOr<bool> WhileLoopSimplifier::Run(Module& module, PassContext& context) {
  std::vector<Instruction*> loops;
  for (Computation* computation : module.computations()) {
    if (!computation->MayHold(Opcode::kWhile)) continue;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kWhile) loops.push_back(instruction);
    }
  }
  auto& effects = context.analyses().Get<SideEffects>(module);
  bool changed = false;
  for (Instruction* loop : loops) {
    if (loop->is_dead() || loop->call_count() != 2) continue;
    if (!loop->parent()->is_entry() && loop->parent()->callers().empty()) continue;  // unreachable
    ASSIGN_OR_RETURN(const bool loop_changed,
                     LoopSimplifier(loop, context, effects, options_).Run());
    changed |= loop_changed;
  }
  if (changed) RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return changed;
}

HLO_DEFINE_PASS(WhileLoopSimplifier)

}  // namespace hlo

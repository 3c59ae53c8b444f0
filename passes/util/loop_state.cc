#include "passes/util/loop_state.h"

#include <charconv>

#include "absl/algorithm/container.h"
#include "lib/ops/async_pairs.h"
#include "lib/support/check.h"
#include "lib/types/shape_limits.h"
#include "passes/rewrite.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

// Reads old elements from `state`, each made once.
class Views {
 public:
  Views(const StateChange& change, Builder& builder, Instruction* state, size_t count)
      : change_(change), builder_(builder), state_(state), made_(count, nullptr) {}

  Instruction* operator[](int64_t i) {
    Instruction*& view = made_[static_cast<size_t>(i)];
    if (view == nullptr) view = change_.view(builder_, state_, i);
    return view;
  }

  // The whole old state.
  Instruction* Whole() {
    if (whole_ == nullptr) {
      std::vector<Instruction*> elements;
      for (size_t i = 0; i < made_.size(); ++i)
        elements.push_back((*this)[static_cast<int64_t>(i)]);
      whole_ = builder_.Tuple(elements);
    }
    return whole_;
  }

 private:
  const StateChange& change_;
  Builder& builder_;
  Instruction* state_;
  std::vector<Instruction*> made_;
  Instruction* whole_ = nullptr;
};

// Lets the `uses` of a value of the old form read views of the new one.
void RedirectUses(const std::vector<Use>& uses, Views& views, uint32_t first_new) {
  for (const Use& use : uses) {
    Instruction* user = use.user;
    if (user->is_dead()) continue;
    if (user->opcode() == Opcode::kGetTupleElement && !user->has_control_edges()) {
      ReplaceKeepingExtras(user, views[user->tuple_index()], first_new);
    } else {
      user->ReplaceOperand(use.operand_index, views.Whole());
    }
  }
}

std::vector<Use> UsesOf(const Instruction& value) {
  std::vector<Use> uses(value.uses().begin(), value.uses().end());
  absl::c_sort(uses, [](const Use& a, const Use& b) {
    return std::pair(a.user->id(), a.operand_index) < std::pair(b.user->id(), b.operand_index);
  });
  return uses;
}

// Shardings and origins of values that had the old form.
void UpdateExtras(Instruction* state, const StateChange& change) {
  if (state->extras() == nullptr) return;
  if (const OriginalValue::Node* origin = OriginOf(*state)) {
    const std::vector<OriginalArray> old_leaves = OriginLeaves(*origin);
    std::vector<OriginalArray> leaves;
    for (int64_t leaf : change.old_leaf) {
      const auto old = static_cast<size_t>(leaf);
      leaves.push_back(leaf >= 0 && old < old_leaves.size() ? old_leaves[old] : OriginalArray());
    }
    const OriginalValue::Node changed = OriginOfLeaves(state->shape(), leaves);
    SetOrigin(state, &changed);
  }
  Extras& extras = state->mutable_extras();
  if (!extras.sharding || !extras.sharding->is_tuple) return;
  std::vector<Sharding::Leaf> leaves;
  for (int64_t leaf : change.old_leaf) {
    const auto old = static_cast<size_t>(leaf);
    leaves.push_back(leaf >= 0 && old < extras.sharding->leaves.size()
                         ? extras.sharding->leaves[old]
                         : Sharding::Replicated().leaves[0]);
  }
  extras.sharding = Sharding::Tuple(std::move(leaves));
}

// The number of the first leaf of each element of a tuple.
std::vector<int64_t> FirstLeaves(absl::Span<const Shape> elements) {
  std::vector<int64_t> first;
  int64_t leaf = 0;
  for (const Shape element : elements) {
    first.push_back(leaf);
    leaf += LeafCount(element);
  }
  return first;
}

// The backend config of a loop with the state `old_elements`, for the state `new_elements`; empty
// when it names an element that is gone.
//   "known_induction_variable":{"tuple_index":"2"}  =>  …{"tuple_index":"1"}   when element 0 is gone
std::string ConfigOfNewState(std::string_view config, absl::Span<const Shape> old_elements,
                             absl::Span<const Shape> new_elements, const StateChange& change) {
  constexpr std::string_view kKey = "\"tuple_index\":\"";
  const std::vector<int64_t> old_first = FirstLeaves(old_elements);
  const std::vector<int64_t> new_first = FirstLeaves(new_elements);
  std::string out;
  for (size_t at = 0;;) {
    const size_t key = config.find(kKey, at);
    if (key == std::string_view::npos) return out.append(config.substr(at));
    const size_t begin = key + kKey.size();
    size_t old_index = 0;
    const auto [end, error] =
        std::from_chars(config.data() + begin, config.data() + config.size(), old_index);
    if (error != std::errc() || old_index >= old_elements.size()) return "";
    size_t k = 0;
    while (k < new_elements.size() &&
           (new_elements[k] != old_elements[old_index] || LeafCount(new_elements[k]) == 0 ||
            change.old_leaf[static_cast<size_t>(new_first[k])] != old_first[old_index]))
      ++k;
    if (k == new_elements.size()) return "";
    out.append(config.substr(at, begin - at)).append(std::to_string(k));
    at = static_cast<size_t>(end - config.data());
  }
}

}  // namespace

// What is under way, or a buffer: its reader may be a tuple, which several read.
static bool HasOneReader(const Instruction& value) {
  return YieldsUnderWay(value.opcode()) || HasBuffer(value.shape());
}

Instruction* ReadElement(Builder& builder, Instruction* tuple, int64_t i) {
  const bool may_pass_by = tuple->opcode() == Opcode::kTuple;
  Instruction* const element = may_pass_by ? tuple->operand(static_cast<int>(i)) : nullptr;
  const bool stays = tuple->is_root() || tuple->use_count() > 1;
  if (may_pass_by && !(stays && HasOneReader(*element))) return element;
  return builder.GetTupleElement(tuple, i);
}

Instruction* ThroughTuples(Instruction* value) {
  while (value->opcode() == Opcode::kGetTupleElement &&
         value->operand(0)->opcode() == Opcode::kTuple)
    value = value->operand(0)->operand(static_cast<int>(value->tuple_index()));
  return value;
}

bool OnlyElementsRead(const Instruction& tuple) {
  return !tuple.is_root() && absl::c_all_of(tuple.uses(), [](const Use& use) {
    return use.user->opcode() == Opcode::kGetTupleElement;
  });
}

// Whether one get-tuple-element takes `element` out of the tuple.
static bool IsTakenOnce(const Instruction& tuple, const Instruction& element) {
  const auto takes = [&](const Use& use) {
    return tuple.operand(static_cast<int>(use.user->tuple_index())) == &element;
  };
  return absl::c_count_if(tuple.uses(), takes) == 1;
}

bool MayPassBy(const Instruction& tuple, const Instruction& element) {
  // Control edges keep the tuple. What walks over all uses comes last.
  return !HasOneReader(element) ||
         (!tuple.has_control_edges() && OnlyElementsRead(tuple) && IsTakenOnce(tuple, element));
}

bool IsParameterElement(const Instruction& value, int64_t i) {
  return value.opcode() == Opcode::kGetTupleElement && value.tuple_index() == i &&
         value.operand(0)->opcode() == Opcode::kParameter;
}

absl::Status ChangeLoopState(Instruction* loop, const StateChange& change) {
  const auto old_count = static_cast<size_t>(loop->shape().element_count_of_tuple());
  std::vector<Shape> shapes;
  for (const Instruction* first : change.init) shapes.push_back(first->shape());
  const Shape shape = Shape::Tuple(shapes);
  if (!loop->backend_config().empty()) {
    loop->mutable_extras().backend_config = ConfigOfNewState(
        loop->backend_config(), loop->shape().elements(), shape.elements(), change);
  }
  const uint32_t first_new = loop->module().id_limit();

  for (Computation* computation : {loop->while_condition(), loop->while_body()}) {
    RET_CHECK(computation->callers().size() == 1, "`{}` is shared", computation->name());
    Instruction* state = computation->parameter(0);
    const std::vector<Use> uses = UsesOf(*state);
    state->set_shape(shape);
    UpdateExtras(state, change);
    Builder builder(computation);
    Views views(change, builder, state, old_count);
    const bool is_body = computation == loop->while_body();
    Instruction* root = computation->root();
    if (is_body && root == state) {
      root = views.Whole();
      computation->set_root(root);
    }
    RedirectUses(uses, views, first_new);
    if (is_body) {
      root = computation->root();
      builder.set_origin(root);
      const auto old_next = [&](int64_t i) { return ReadElement(builder, root, i); };
      std::vector<Instruction*> elements;
      for (size_t k = 0; k < shapes.size(); ++k)
        elements.push_back(change.next(builder, state, old_next, static_cast<int64_t>(k)));
      Instruction* new_root = builder.Tuple(elements);
      if (root->sharding() != nullptr) {
        new_root->set_sharding(*root->sharding());
        UpdateExtras(new_root, change);
      }
      computation->set_root(new_root);
      if (!root->has_uses() && !root->has_control_edges()) computation->RemoveUnused(root);
    }
    RETURN_IF_ERROR(builder.status());
  }

  Computation& computation = *loop->parent();
  Builder builder(&computation, loop);
  Instruction* old_init = loop->operand(0);
  const std::vector<Use> uses = UsesOf(*loop);
  Instruction* init = builder.Tuple(change.init);
  SetOriginOfOperands(init);
  loop->ReplaceOperand(0, init);
  loop->set_shape(shape);
  UpdateExtras(loop, change);
  Views views(change, builder, loop, old_count);
  RedirectUses(uses, views, first_new);
  if (loop->is_root()) computation.set_root(views.Whole());
  if (!old_init->is_used() && !old_init->has_control_edges() &&
      old_init->opcode() == Opcode::kTuple)
    computation.RemoveUnused(old_init);
  return builder.status();
}

absl::Status DropLoopElements(Instruction* loop, const std::vector<bool>& keep,
                              const ViewOfDropped& view_of_dropped) {
  Builder outer(loop);
  std::vector<int64_t> kept;
  std::vector<int64_t> new_index(keep.size(), -1);
  StateChange change;
  int64_t leaf = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    const int64_t leaves = LeafCount(loop->shape().element(static_cast<int>(i)));
    if (keep[i]) {
      new_index[i] = static_cast<int64_t>(kept.size());
      kept.push_back(static_cast<int64_t>(i));
      change.init.push_back(ReadElement(outer, loop->operand(0), static_cast<int64_t>(i)));
      for (int64_t k = 0; k < leaves; ++k) change.old_leaf.push_back(leaf + k);
    }
    leaf += leaves;
  }
  change.view = [&](Builder& builder, Instruction* state, int64_t i) {
    const auto read = [&](int64_t old) {
      return builder.GetTupleElement(state, new_index[static_cast<size_t>(old)]);
    };
    return keep[static_cast<size_t>(i)] ? read(i) : view_of_dropped(builder, i, read);
  };
  change.next = [&](Builder&, Instruction*, const std::function<Instruction*(int64_t)>& old_next,
                    int64_t k) { return old_next(kept[static_cast<size_t>(k)]); };
  RETURN_IF_ERROR(outer.status());
  return ChangeLoopState(loop, change);
}

}  // namespace hlo

#include "passes/control_flow/pipelined_store.h"

#include "absl/container/flat_hash_set.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

constexpr OpcodeSet kMovable = {
    Opcode::kAllGather, Opcode::kAllReduce,         Opcode::kBitcast,         Opcode::kBroadcast,
    Opcode::kConvert,   Opcode::kCollectivePermute, Opcode::kConcatenate,     Opcode::kCustomCall,
    Opcode::kPad,       Opcode::kDynamicSlice,      Opcode::kGetTupleElement, Opcode::kReduce,
    Opcode::kReshape,   Opcode::kReduceScatter,     Opcode::kSlice,           Opcode::kTranspose};
// Those that may get one more dimension in front, beside elementwise ones.
constexpr OpcodeSet kStackable = {
    Opcode::kAllGather, Opcode::kAllReduce,   Opcode::kBroadcast, Opcode::kCollectivePermute,
    Opcode::kPad,       Opcode::kConcatenate, Opcode::kReduce,    Opcode::kDynamicSlice,
    Opcode::kReshape,   Opcode::kSlice,       Opcode::kTranspose};
// What stacking makes of operations between holds for these collectives, too.
constexpr OpcodeSet kStackableCollectives = {Opcode::kAllGather, Opcode::kAllReduce,
                                             Opcode::kCollectivePermute, Opcode::kReduceScatter};

constexpr int kFirstStart = 2;  // of the operands of a dynamic-update-slice

bool IsUpdateOfRoot(const Instruction& update) {
  return update.opcode() == Opcode::kDynamicUpdateSlice && update.use_count() == 1 &&
         update.uses()[0].user == update.parent()->root() && !update.has_control_edges();
}

// An update where an earlier step has moved it, to the root perhaps by way of other updates.
bool IsMarkedUpdate(const Instruction& update) {
  if (update.opcode() != Opcode::kDynamicUpdateSlice || update.has_control_edges()) return false;
  const int moving = MovingIndex(update);
  if (moving < 0 || !IsMarked(*update.operand(moving))) return false;
  const Instruction& target = *update.operand(0);
  if (target.opcode() == Opcode::kDynamicUpdateSlice && MovingIndex(target) >= 0 &&
      IsMarked(*target.operand(MovingIndex(target))))
    return false;
  const Instruction* last = &update;
  while (last->use_count() == 1 && last->uses()[0].operand_index == 0 &&
         last->uses()[0].user->opcode() == Opcode::kDynamicUpdateSlice)
    last = last->uses()[0].user;
  return last->use_count() == 1 && last->uses()[0].user == update.parent()->root();
}

// Takes values and gives a token of the state, nothing else.
bool IsTokenSink(const Instruction& op) {
  return op.shape().IsToken() && op.use_count() == 1 && !op.has_control_edges() &&
         op.uses()[0].user == op.parent()->root() && op.operand_count() > 1 &&
         op.operand(op.operand_count() - 1)->shape().IsToken();
}

bool HasGivenLayout(const Instruction& collective) {
  const AttrsPtr& attrs = collective.attrs_ptr();
  return (attrs.Is<AllReduceAttrs>() && attrs.Get<AllReduceAttrs>().constrain_layout) ||
         (attrs.Is<AllGatherAttrs>() && attrs.Get<AllGatherAttrs>().constrain_layout) ||
         (attrs.Is<ReduceScatterAttrs>() && attrs.Get<ReduceScatterAttrs>().constrain_layout);
}

bool IsStaticArray(const Instruction& value) {
  return value.shape().IsArray() && !value.shape().has_dynamic_dims();
}

// Whether `op`, of one iteration, has a form for all of them at once.
bool MayStack(const Instruction& op) {
  if (!kStackable.Has(op.opcode()) && !kStackableCollectives.Has(op.opcode()) &&
      !IsElementwise(op.opcode()))
    return false;
  if (op.HasSideEffect() && !HasTrait(op.opcode(), kCollective)) return false;
  if (!IsStaticArray(op) || HasGivenLayout(op) || op.sharding() != nullptr) return false;
  if (HasTrait(op.opcode(), kCollective) && op.operand_count() != 1) return false;
  if (op.opcode() == Opcode::kReduce && op.operand_count() != 2) return false;
  const bool has_settings = op.opcode() == Opcode::kReduce || op.opcode() == Opcode::kPad ||
                            op.opcode() == Opcode::kDynamicSlice;
  for (int i = 0; i < op.operand_count(); ++i) {
    const Instruction& operand = *op.operand(i);
    if (!IsStaticArray(operand)) return false;
    if (has_settings && i > 0 && (!operand.shape().IsScalar() || !IsInvariant(operand)))
      return false;
  }
  return true;
}

class StoreFinder {
 public:
  StoreFinder(const PipelinedLoop& loop, const PipelineLimits& limits, StoreTarget target,
              PassContext& context)
      : loop_(loop),
        limits_(limits),
        target_(target),
        context_(context),
        order_(loop.body().PostOrder()),
        reads_(static_cast<size_t>(loop.element_count())) {
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
    for (const Instruction* read : loop.state()->users())
      ++reads_[static_cast<size_t>(read->tuple_index())];
  }

  std::vector<PipelinedStore> Find() {
    for (Instruction* collective : order_) {
      if (!limits_.opcodes.Has(collective->opcode()) || IsDelayed(*collective)) continue;
      PipelinedStore store;
      Decision decision = Follow(collective, store);
      if (decision) decision = HasMovableSizes(*collective, store);
      if (!context_.Allowed(*collective, decision)) continue;
      Add(std::move(store));
      if (static_cast<int64_t>(stores_.size()) >= limits_.max_per_loop) break;
    }
    return std::move(stores_);
  }

 private:
  bool IsSink() const { return target_ == StoreTarget::kAfterLoop; }

  // Whether it sinks after all smaller ones.
  bool IsDelayed(const Instruction& collective) const {
    return IsSink() && collective.shape().IsArray() &&
           collective.shape().element_count() >= limits_.delayed_size;
  }

  // From `collective` to the updates that store what is made of it.
  Decision Follow(Instruction* collective, PipelinedStore& store) const {
    if (collective->operand_count() != 1 || !IsStaticArray(*collective) ||
        collective->has_control_edges())
      return No("it has several arrays, a dynamic one, or control edges");
    if (!limits_.use_tree && !collective->has_one_user()) return No("several read its result");
    if (IsSink() && (!kStackableCollectives.Has(collective->opcode()) || !MayStack(*collective)))
      return No("it is not done for all iterations at once");
    absl::flat_hash_set<Instruction*> seen;
    std::vector<Instruction*> stack = {collective};
    while (!stack.empty()) {
      Instruction* const value = stack.back();
      stack.pop_back();
      if (!value->has_uses()) return No("`{}` is not used", value->name());
      for (Instruction* user : value->users()) {
        if (!seen.insert(user).second) continue;
        if (!IsSink() && IsTokenSink(*user)) {
          if (store.sink != nullptr) return No("several operations take it");
          if (Decision decision = MaySinkLater(*user); !decision) return decision;
          store.sink = user;
        } else if (IsEnd(*user) && user->operand(1) == value) {
          if (Decision decision = MayStoreLater(*user); !decision) return decision;
          store.updates.push_back(user);
        } else if (MayMove(*user, *collective)) {
          store.between.push_back(user);
          stack.push_back(user);
        } else {
          return No("`{}` reads it", user->name());
        }
      }
    }
    if (!IsSink() && store.updates.size() + (store.sink != nullptr ? 1 : 0) != 1)
      return No("it is not stored in one array");
    for (const Instruction* update : store.updates) {
      if (seen.contains(update->operand(MovingIndex(*update))))
        return No("it tells where to store it");
    }
    store.collectives = {collective};
    if (store.sink != nullptr && !TakesOnly(*store.sink, store))
      return No("`{}` takes other values, too", store.sink->name());
    if (Decision decision = TakeAlong(store); !decision) return decision;
    for (const Instruction* input : InputsOf(store)) {
      if (!(IsSink() ? IsStaticArray(*input) : input->shape().IsArray()))
        return No("`{}` is not carried", input->name());
    }
    return Yes();
  }

  bool IsEnd(const Instruction& update) const {
    return limits_.level > 0 && !IsSink() ? IsMarkedUpdate(update) : IsUpdateOfRoot(update);
  }

  // Whether nothing notices that `sink` takes its values later.
  Decision MaySinkLater(const Instruction& sink) const {
    const Instruction& token = *sink.operand(sink.operand_count() - 1);
    const int element = StoredElement(sink);
    const bool is_of_state = IsParameterElement(token, element) && token.use_count() == 1 &&
                             reads_[static_cast<size_t>(element)] == 1;
    const bool is_new = token.opcode() == Opcode::kAfterAll && token.operand_count() == 0 &&
                        !token.has_control_edges();
    if (!is_of_state && !is_new) return No("`{}` waits for something else", sink.name());
    return Yes();
  }

  static bool TakesOnly(const Instruction& sink, const PipelinedStore& store) {
    for (int i = 0; i + 1 < sink.operand_count(); ++i) {
      const Instruction* operand = sink.operand(i);
      if (operand != store.collectives.front() && !absl::c_linear_search(store.between, operand))
        return false;
    }
    return true;
  }

  bool MayMove(const Instruction& op, const Instruction& collective) const {
    if (op.has_control_edges() || op.is_root()) return false;
    if (op.HasSideEffect() && !HasTrait(op.opcode(), kCollective)) return false;
    const bool is_known =
        kMovable.Has(op.opcode()) || (limits_.use_tree && IsElementwise(op.opcode()));
    if (!is_known) return false;
    if (IsSink() && (op.opcode() == Opcode::kReduceScatter || !MayStack(op))) return false;
    return &op != &collective;
  }

  // Whether nothing notices that `update` stores its slice later.
  Decision MayStoreLater(const Instruction& update) const {
    const bool is_moved = limits_.level > 0 && !IsSink();  // an earlier step has looked at it
    const Instruction& target = *update.operand(0);
    const int element = StoredElement(update);
    if (!is_moved && (!IsParameterElement(target, element) || target.use_count() != 1 ||
                      reads_[static_cast<size_t>(element)] != 1))
      return No("what `{}` writes to is read or replaced in the loop", update.name());
    int moving = 0;
    for (int i = kFirstStart; i < update.operand_count(); ++i) {
      const Instruction& start = *update.operand(i);
      if (!start.shape().IsScalar()) return No("`{}` has one vector of starts", update.name());
      if (start.IsConstant() && (start.literal().is_elided() || start.literal().GetInt() != 0))
        return No("`{}` does not store whole slices", update.name());
      if (!start.IsConstant()) ++moving;
    }
    if (moving != 1) return No("`{}` does not store slices of one dimension", update.name());
    const Instruction& start = *update.operand(MovingIndex(update));
    if (is_moved) {
      if (!IsMarked(start) || MarkedLevel(start) != limits_.level)
        return No("no earlier step has moved it");
      return Yes();
    }
    if (loop_.counter != 0) return No("for XLA only element 0 of the state counts");
    const std::optional<Progression> starts = ProgressionOf(start, loop_);
    if (!starts || starts->step == 0) return No("the loop does not count where it is stored");
    return IsSink() ? StoresInOrder(update, *starts) : Yes();
  }

  // Iterations store the slices of the first dimension, which has as many as there are iterations,
  // one after the other or from the last one on.
  Decision StoresInOrder(const Instruction& update, const Progression& starts) const {
    const int64_t last = starts.first + starts.step * (loop_.counted.trip_count - 1);
    const bool is_dense =
        (starts.step == 1 && starts.first == 0) || (starts.step == -1 && last == 0);
    if (MovingIndex(update) != kFirstStart || !is_dense ||
        update.shape().dim(0) != loop_.counted.trip_count || update.operand(1)->shape().dim(0) != 1)
      return No("iterations do not store the slices of `{}` in order", update.name());
    if (update.shape().element_type() != update.operand(1)->shape().element_type())
      return No("`{}` is of another element type", update.name());
    for (int d = 1; d < update.shape().rank(); ++d) {
      if (update.shape().dim(d) != update.operand(1)->shape().dim(d))
        return No("`{}` does not store whole slices", update.name());
    }
    return Yes();
  }

  // What is cheaper to make again than to carry: start indices, broadcasts, constants.
  Decision TakeAlong(PipelinedStore& store) const {
    absl::flat_hash_set<const Instruction*> taken(store.between.begin(), store.between.end());
    taken.insert(store.collectives.front());
    const auto take = [&](Instruction* value) {
      if (taken.insert(value).second) store.between.push_back(value);
    };
    const std::vector<Instruction*> ops = store.between;
    for (const Instruction* op : ops) {
      if (op->opcode() == Opcode::kDynamicSlice) {
        for (int i = 1; i < op->operand_count(); ++i) {
          if (!IsInvariant(*op->operand(i)))
            return No("where `{}` starts depends on the iteration", op->name());
          for (Instruction* made : NeededFor({op->operand(i)}, {})) take(made);
        }
        continue;
      }
      for (Instruction* operand : op->operands()) {
        if (operand->opcode() == Opcode::kBroadcast && !operand->has_control_edges() &&
            IsStaticArray(*operand))
          take(operand);
      }
    }
    for (size_t i = 0; i < store.between.size(); ++i) {
      for (Instruction* operand : store.between[i]->operand_vector()) {
        if (operand->IsConstant() && !operand->has_control_edges()) take(operand);
      }
    }
    return Yes();
  }

  // With `process_different_sized_ops=false`, nothing must take more memory than before.
  Decision HasMovableSizes(const Instruction& collective, const PipelinedStore& store) const {
    if (limits_.different_sizes) return Yes();
    for (const Instruction* update : store.updates) {
      if (update->operand(1)->shape() != collective.operand(0)->shape())
        return No("what it reads and what is stored have different sizes");
    }
    for (const Instruction* input : InputsOf(store)) {
      if (input != collective.operand(0) && input->shape().IsEffectiveScalar())
        return No("`{}` would have to be carried for it", input->name());
    }
    return Yes();
  }

  bool Shares(const PipelinedStore& a, const PipelinedStore& b) const {
    if (a.sink != nullptr && a.sink == b.sink) return true;
    return absl::c_any_of(
        a.updates, [&](Instruction* update) { return absl::c_linear_search(b.updates, update); });
  }

  // Makes one of `store` and of those found before that end in the same place.
  void Add(PipelinedStore store) {
    const auto first =
        absl::c_find_if(stores_, [&](const PipelinedStore& s) { return Shares(s, store); });
    if (first == stores_.end()) {
      stores_.push_back(std::move(store));
      Sort(stores_.back().between);
      return;
    }
    if (IsSink()) {
      Merge(store, *first);
      for (auto it = first + 1; it != stores_.end();) {
        if (Shares(*it, store)) {
          Merge(*it, *first);
          it = stores_.erase(it);
        } else {
          ++it;
        }
      }
    } else {
      // The first collective of the store is the one that starts it.
      store.between.push_back(store.collectives.front());
      store.collectives.clear();
      Merge(store, *first);
    }
    Sort(first->between);
  }

  static void Merge(const PipelinedStore& from, PipelinedStore& to) {
    const auto add = [](const std::vector<Instruction*>& values, std::vector<Instruction*>& all,
                        const std::vector<Instruction*>& others) {
      for (Instruction* value : values) {
        if (!absl::c_linear_search(all, value) && !absl::c_linear_search(others, value))
          all.push_back(value);
      }
    };
    add(from.between, to.between, to.collectives);
    add(from.collectives, to.collectives, to.between);
    add(from.updates, to.updates, {});
  }

  void Sort(std::vector<Instruction*>& values) const {
    absl::c_sort(values, [&](const Instruction* a, const Instruction* b) {
      return position_.at(a) < position_.at(b);
    });
  }

  const PipelinedLoop& loop_;
  const PipelineLimits& limits_;
  StoreTarget target_;
  PassContext& context_;
  std::vector<Instruction*> order_;
  std::vector<int> reads_;  // of the elements of the state, in the body
  absl::flat_hash_map<const Instruction*, size_t> position_;
  std::vector<PipelinedStore> stores_;
};

}  // namespace

std::vector<PipelinedStore> FindPipelinedStores(const PipelinedLoop& loop,
                                                const PipelineLimits& limits, StoreTarget target,
                                                PassContext& context) {
  return StoreFinder(loop, limits, target, context).Find();
}

int StoredElement(const Instruction& update) {
  const Instruction* last = &update;
  while (last->uses()[0].user != update.parent()->root()) last = last->uses()[0].user;
  return last->uses()[0].operand_index;
}

int MovingIndex(const Instruction& update) {
  for (int i = kFirstStart; i < update.operand_count(); ++i) {
    if (!update.operand(i)->IsConstant()) return i;
  }
  return -1;
}

std::vector<Instruction*> InputsOf(const PipelinedStore& store) {
  absl::flat_hash_set<const Instruction*> known;
  std::vector<Instruction*> inputs;
  const auto add = [&](Instruction* operand) {
    if (known.insert(operand).second) inputs.push_back(operand);
  };
  // These have been made, though there may be broadcasts among them that are taken along, too.
  for (const Instruction* collective : store.collectives) add(collective->operand(0));
  known.insert(store.between.begin(), store.between.end());
  known.insert(store.collectives.begin(), store.collectives.end());
  for (const Instruction* op : store.between) {
    for (Instruction* operand : op->operands()) add(operand);
  }
  return inputs;
}

bool IsMarked(const Instruction& value) {
  return value.opcode() == Opcode::kCustomCall && value.operand_count() == 2 &&
         value.operand(1)->IsConstant() &&
         value.operand(1)->shape().IsScalarOf(ElementType::kS64) &&
         !value.operand(1)->literal().is_elided() &&
         value.attrs<CustomCallAttrs>().custom_call_target == kInsertedByPreviousStep;
}

int64_t MarkedLevel(const Instruction& mark) { return mark.operand(1)->literal().GetInt(); }

}  // namespace hlo

#include "passes/control_flow/pipeline_forward.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "passes/control_flow/widen_loop.h"
#include "passes/util/loop_state.h"
#include "passes/util/scheduling_annotation.h"
#include "passes/util/send_recv_iterations.h"

namespace hlo {
namespace {

class ForwardPipeline {
 public:
  ForwardPipeline(const PipelinedLoop& loop, const std::vector<PipelinedStore>& stores,
                  const PipelineLimits& limits, IterationCopier& copier)
      : loop_(loop),
        stores_(stores),
        limits_(limits),
        copier_(copier),
        outside_(loop, copier),
        old_count_(loop.element_count()) {}

  absl::Status Run() {
    for (const PipelinedStore& store : stores_) {
      if (store.sink == nullptr) Carry(StartOf(store));
    }
    for (const PipelinedStore& store : stores_) {
      if (!IsReusing(store)) Carry(store.collectives.front()->operand(0));
    }
    for (const PipelinedStore& store : stores_) CarryInputs(store);
    const std::vector<Instruction*> readers = loop_.loop->users();
    ASSIGN_OR_RETURN(const std::vector<Instruction*> before, DoFirstIteration());
    ASSIGN_OR_RETURN(const std::vector<Instruction*> reads, CarryMore(loop_.loop, before));
    for (size_t k = 0; k < carried_.size(); ++k)
      loop_.root()->ReplaceOperand(old_count_ + static_cast<int>(k), carried_[k]);
    SetIterations(loop_, 1, loop_.counted.trip_count - 1);
    for (Instruction* permute : loop_.body().instruction_vector()) {
      if (permute->opcode() != Opcode::kCollectivePermute) continue;
      ChangeSendRecvIterations(permute, [](int64_t first, int64_t last) {
        return std::pair(std::max<int64_t>(0, first - 1), std::max<int64_t>(0, last - 1));
      });
    }
    RETURN_IF_ERROR(FinishAfterLoop(readers));
    StoreInNextIteration(reads);
    return absl::OkStatus();
  }

 private:
  void Carry(Instruction* value) {
    if (slots_.try_emplace(value, carried_.size()).second) carried_.push_back(value);
  }

  static Instruction* StartOf(const PipelinedStore& store) {
    return store.end()->operand(MovingIndex(*store.end()));
  }

  // Whether what the collective reads waits in the place where its result is going to be.
  bool IsReusing(const PipelinedStore& store) const {
    return limits_.reuse_buffer && store.sink == nullptr &&
           store.end()->operand(1)->shape() == store.collectives.front()->operand(0)->shape();
  }

  void CarryInputs(const PipelinedStore& store) {
    Instruction* const first = store.collectives.front()->operand(0);
    const bool is_read = absl::c_any_of(store.between, [&](const Instruction* op) {
      return absl::c_linear_search(op->operands(), first);
    });
    for (Instruction* input : InputsOf(store)) {
      if (input != first || is_read || !IsReusing(store)) Carry(input);
    }
  }

  // The starts of the update of `store`, the moving one being `start`, in `computation`.
  std::vector<Instruction*> StartsIn(Computation& computation, const PipelinedStore& store,
                                     Instruction* start) const {
    const Instruction& update = *store.end();
    std::vector<Instruction*> starts;
    for (int i = 2; i < update.operand_count(); ++i) {
      Instruction* const old = update.operand(i);
      // Constants of the body are made again outside.
      const bool is_outside = old->IsConstant() && old->parent() != &computation;
      starts.push_back(i == MovingIndex(update) ? start
                       : is_outside             ? computation.AddClone(*old, old->shape(), {})
                                                : old);
    }
    return starts;
  }

  // `array` with `value` where the update of `store` stores.
  Instruction* Updated(Instruction* array, Instruction* value,
                       const std::vector<Instruction*>& starts, const PipelinedStore& store) const {
    std::vector<Instruction*> operands = {array, value};
    operands.insert(operands.end(), starts.begin(), starts.end());
    return array->parent()->AddClone(*store.end(), store.end()->shape(), operands);
  }

  // Puts the first iteration, but for what moves, before the loop. Returns what is carried from it.
  absl::StatusOr<std::vector<Instruction*>> DoFirstIteration() {
    Builder b(loop_.loop->parent());
    Instruction* const init = loop_.loop->operand(0);
    CopyMap copies;
    for (Instruction* read : loop_.state()->users())
      copies[read] = ReadElement(b, init, read->tuple_index());
    for (const PipelinedStore& store : stores_) {
      Instruction* const end = store.end();
      if (store.sink != nullptr) {
        copies[end] = ReadElement(b, init, StoredElement(*end));
        continue;
      }
      outside_.CopyIteration(NeededFor({end->operand(0)}, copies), 0, copies);
      copies[end] = copies.at(end->operand(0));
      if (!IsReusing(store)) continue;
      Instruction* const value = store.collectives.front()->operand(0);
      outside_.CopyIteration(NeededFor({value, StartOf(store)}, copies), 0, copies);
      const std::vector<Instruction*> starts =
          StartsIn(*init->parent(), store, copies.at(StartOf(store)));
      copies[end] = Updated(copies.at(end), copies.at(value), starts, store);
    }
    std::vector<Instruction*> wanted = carried_;
    const std::vector<Instruction*> ends = loop_.root()->operand_vector();
    const std::vector<Instruction*> effects = EffectsOf(loop_);
    wanted.insert(wanted.end(), ends.begin(), ends.end());
    wanted.insert(wanted.end(), effects.begin(), effects.end());
    outside_.CopyIteration(NeededFor(wanted, copies), 0, copies);
    b.set_origin(loop_.loop);
    std::vector<Instruction*> state;
    for (const Instruction* end : ends) state.push_back(copies.at(end));
    loop_.loop->ReplaceOperand(0, b.Tuple(state));
    RETURN_IF_ERROR(b.status());
    std::vector<Instruction*> values;
    for (const Instruction* value : carried_) values.push_back(copies.at(value));
    return values;
  }

  // Stores in `array`, or gives to the sink with the token `array`, what is made of the collective
  // of `store`, where `copies` holds the values of the iteration that it belongs to and `copy` adds
  // to them. Returns the new array or token.
  template <class CopyOps>
  Instruction* Store(const PipelinedStore& store, Instruction* array, CopyMap& copies,
                     const CopyOps& copy) {
    Instruction* const collective = store.collectives.front();
    Computation& computation = *array->parent();
    std::vector<Instruction*> starts;
    if (store.sink == nullptr) {
      Instruction* start = copies.at(StartOf(store));
      if (!limits_.last_run && &computation == &loop_.body()) start = Marked(start);
      starts = StartsIn(computation, store, start);
    }
    CopyMap moved = copies;
    if (IsReusing(store)) moved[collective->operand(0)] = Waiting(*collective, array, starts);
    copy({collective}, moved);
    copies[collective] = moved.at(collective);
    if (!limits_.last_run) copies[collective] = Marked(copies.at(collective));
    copy(store.between, copies);
    if (store.sink == nullptr)
      return Updated(array, copies.at(store.end()->operand(1)), starts, store);
    std::vector<Instruction*> operands;
    for (int i = 0; i + 1 < store.sink->operand_count(); ++i)
      operands.push_back(copies.at(store.sink->operand(i)));
    operands.push_back(array);
    return computation.AddClone(*store.sink, store.sink->shape(), operands);
  }

  // What `collective` reads, from its place in `array`.
  static Instruction* Waiting(const Instruction& collective, Instruction* array,
                              const std::vector<Instruction*>& starts) {
    const Shape shape = collective.operand(0)->shape();
    if (shape == array->shape()) return array;
    std::vector<Instruction*> operands = {array};
    operands.insert(operands.end(), starts.begin(), starts.end());
    DynamicSliceAttrs attrs;
    attrs.dynamic_slice_sizes.assign(shape.dims().begin(), shape.dims().end());
    return array->parent()->Add(Opcode::kDynamicSlice, shape, operands,
                                AttrsPtr::Make(std::move(attrs)));
  }

  Instruction* Marked(Instruction* value) const {
    Computation& computation = *value->parent();
    Instruction* const level =
        computation.AddConstant(Literal::Scalar<int64_t>(ElementType::kS64, limits_.level + 1));
    CustomCallAttrs attrs;
    attrs.custom_call_target = kInsertedByPreviousStep;
    return computation.Add(Opcode::kCustomCall, value->shape(), {value, level},
                           AttrsPtr::Make(std::move(attrs)));
  }

  absl::Status FinishAfterLoop(const std::vector<Instruction*>& readers) {
    Builder b(loop_.loop->parent());
    CopyMap copies;
    for (size_t k = 0; k < carried_.size(); ++k)
      copies[carried_[k]] = b.GetTupleElement(loop_.loop, old_count_ + static_cast<int64_t>(k));
    const auto copy = [&](const std::vector<Instruction*>& ops, CopyMap& values) {
      outside_.CopyMoved(ops, loop_.counted.trip_count - 1, values);
    };
    for (const PipelinedStore& store : stores_) {
      const int element = StoredElement(*store.end());
      Instruction* const array = Store(store, b.GetTupleElement(loop_.loop, element), copies, copy);
      if (store.sink != nullptr && HasSchedulingAnnotation(*array))
        RemoveSchedulingAnnotation(array);
      for (Instruction* reader : readers) {
        if (reader->tuple_index() == element) reader->parent()->Replace(reader, array);
      }
    }
    return b.status();
  }

  void StoreInNextIteration(const std::vector<Instruction*>& reads) {
    CopyMap copies;
    for (size_t k = 0; k < carried_.size(); ++k) copies[carried_[k]] = reads[k];
    const auto copy = [&](const std::vector<Instruction*>& ops, CopyMap& values) {
      for (Instruction* op : ops) {
        if (op->IsConstant()) values.try_emplace(op, op);
      }
      copier_.Copy(ops, &loop_.body(), "", values);
    };
    for (const PipelinedStore& store : stores_) {
      Instruction* const end = store.end();
      const int held = store.sink != nullptr ? end->operand_count() - 1 : 0;
      Instruction* array = Store(store, end->operand(held), copies, copy);
      if (IsReusing(store)) {
        const std::vector<Instruction*> starts = StartsIn(loop_.body(), store, StartOf(store));
        array = Updated(array, store.collectives.front()->operand(0), starts, store);
      }
      end->ReplaceAllUsesWith(array);
      loop_.body().Remove(end);
    }
    for (const PipelinedStore& store : stores_) {
      for (auto op = store.between.rbegin(); op != store.between.rend(); ++op) {
        // Two stores may read one constant.
        if (!(*op)->is_dead() && !(*op)->is_used()) loop_.body().Remove(*op);
      }
      loop_.body().Remove(store.collectives.front());
    }
  }

  const PipelinedLoop& loop_;
  const std::vector<PipelinedStore>& stores_;
  const PipelineLimits& limits_;
  IterationCopier& copier_;
  OutsideCopier outside_;
  int old_count_;
  // What iterations hand on to the next one for the sake of what moves there.
  std::vector<Instruction*> carried_;
  absl::flat_hash_map<const Instruction*, size_t> slots_;
};

}  // namespace

absl::Status PipelineForward(const PipelinedLoop& loop, const std::vector<PipelinedStore>& stores,
                             const PipelineLimits& limits, IterationCopier& copier) {
  return ForwardPipeline(loop, stores, limits, copier).Run();
}

}  // namespace hlo

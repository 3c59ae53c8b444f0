#include "passes/control_flow/pipeline_forward.h"

#include "passes/control_flow/widen_loop.h"
#include "passes/util/loop_state.h"

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
      Instruction* const update = store.updates.front();
      Carry(update->operand(MovingIndex(*update)));
    }
    for (const PipelinedStore& store : stores_) Carry(store.collectives.front()->operand(0));
    for (const PipelinedStore& store : stores_) {
      for (Instruction* input : InputsOf(store)) Carry(input);
    }
    const std::vector<Instruction*> readers = loop_.loop->users();
    ASSIGN_OR_RETURN(const std::vector<Instruction*> before, DoFirstIteration());
    ASSIGN_OR_RETURN(const std::vector<Instruction*> reads, CarryMore(loop_.loop, before));
    for (size_t k = 0; k < carried_.size(); ++k)
      loop_.root()->ReplaceOperand(old_count_ + static_cast<int>(k), carried_[k]);
    SetIterations(loop_, 1, loop_.counted.trip_count - 1);
    RETURN_IF_ERROR(FinishAfterLoop(readers));
    StoreInNextIteration(reads);
    return absl::OkStatus();
  }

 private:
  void Carry(Instruction* value) {
    if (slots_.try_emplace(value, carried_.size()).second) carried_.push_back(value);
  }

  // Puts the first iteration, but for what moves, before the loop. Returns what is carried from it.
  absl::StatusOr<std::vector<Instruction*>> DoFirstIteration() {
    Builder b(loop_.loop->parent());
    Instruction* const init = loop_.loop->operand(0);
    CopyMap copies;
    for (Instruction* read : loop_.state()->users())
      copies[read] = ReadElement(b, init, read->tuple_index());
    std::vector<Instruction*> wanted = carried_;
    const std::vector<Instruction*> ends = loop_.root()->operand_vector();
    std::vector<bool> is_stored(ends.size(), false);
    for (const PipelinedStore& store : stores_)
      is_stored[static_cast<size_t>(StoredElement(*store.updates.front()))] = true;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (!is_stored[i]) wanted.push_back(ends[i]);
    }
    outside_.CopyIteration(NeededFor(wanted, copies), 0, copies);
    b.set_origin(loop_.loop);
    std::vector<Instruction*> state;
    for (size_t i = 0; i < ends.size(); ++i)
      state.push_back(is_stored[i] ? ReadElement(b, init, static_cast<int64_t>(i))
                                   : copies.at(ends[i]));
    loop_.loop->ReplaceOperand(0, b.Tuple(state));
    RETURN_IF_ERROR(b.status());
    std::vector<Instruction*> values;
    for (const Instruction* value : carried_) values.push_back(copies.at(value));
    return values;
  }

  // Stores in `array` what is made of the collective of `store`, where `copies` holds the values of
  // the iteration that it belongs to and `copy` adds to them. Returns the new array.
  template <class CopyOps>
  Instruction* Store(const PipelinedStore& store, Instruction* array, CopyMap& copies,
                     const CopyOps& copy) {
    Instruction* const collective = store.collectives.front();
    const Instruction& update = *store.updates.front();
    Computation& computation = *array->parent();
    copy({collective});
    Instruction* start = copies.at(update.operand(MovingIndex(update)));
    if (!limits_.last_run) {
      Instruction*& moved = copies.at(collective);
      moved = Marked(moved);
      if (array->parent() == &loop_.body()) start = Marked(start);
    }
    copy(store.between);
    std::vector<Instruction*> operands = {array, copies.at(update.operand(1))};
    for (int i = 2; i < update.operand_count(); ++i) {
      Instruction* const old = update.operand(i);
      operands.push_back(i == MovingIndex(update) ? start : old);
      // Constants of the body are made again outside.
      if (old->IsConstant() && old->parent() != &computation)
        operands.back() = computation.AddClone(*old, old->shape(), {});
    }
    return computation.AddClone(update, update.shape(), operands);
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
    const auto copy = [&](const std::vector<Instruction*>& ops) {
      outside_.CopyMoved(ops, loop_.counted.trip_count - 1, copies);
    };
    for (const PipelinedStore& store : stores_) {
      const int element = StoredElement(*store.updates.front());
      Instruction* const array = Store(store, b.GetTupleElement(loop_.loop, element), copies, copy);
      for (Instruction* reader : readers) {
        if (reader->tuple_index() == element) reader->parent()->Replace(reader, array);
      }
    }
    return b.status();
  }

  void StoreInNextIteration(const std::vector<Instruction*>& reads) {
    CopyMap copies;
    for (size_t k = 0; k < carried_.size(); ++k) copies[carried_[k]] = reads[k];
    const auto copy = [&](const std::vector<Instruction*>& ops) {
      for (Instruction* op : ops) {
        if (op->IsConstant()) copies.try_emplace(op, op);
      }
      copier_.Copy(ops, &loop_.body(), "", copies);
    };
    for (const PipelinedStore& store : stores_) {
      Instruction* const update = store.updates.front();
      Instruction* const array = Store(store, update->operand(0), copies, copy);
      loop_.root()->ReplaceOperand(StoredElement(*update), array);
      loop_.body().Remove(update);
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

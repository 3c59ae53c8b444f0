#include "passes/control_flow/pipeline_sink.h"

#include "passes/control_flow/stacked_ops.h"
#include "passes/control_flow/widen_loop.h"

namespace hlo {
namespace {

class Sinking {
 public:
  Sinking(const PipelinedLoop& loop, const std::vector<PipelinedStore>& stores)
      : loop_(loop), stores_(stores), outside_(loop.loop->parent()) {}

  absl::Status Run() {
    const int old_count = loop_.element_count();
    const std::vector<Instruction*> readers = loop_.loop->users();
    std::vector<Instruction*> zeros;
    outside_.set_origin(loop_.loop);
    for (const PipelinedStore& store : stores_) {
      for (Instruction* input : InputsOf(store)) {
        if (IsInvariant(*input) || !slots_.try_emplace(input, stacked_.size()).second) continue;
        stacked_.push_back({input, store.updates.front()});
        zeros.push_back(Zeros(input->shape()));
      }
    }
    RETURN_IF_ERROR(outside_.status());
    ASSIGN_OR_RETURN(const std::vector<Instruction*> reads, CarryMore(loop_.loop, zeros));
    for (size_t k = 0; k < stacked_.size(); ++k)
      RETURN_IF_ERROR(StackInLoop(stacked_[k], reads[k], old_count + static_cast<int>(k)));
    std::vector<Instruction*> arrays;
    for (const Value& value : stacked_) {
      const auto element = old_count + static_cast<int64_t>(slots_.at(value.input));
      arrays.push_back(outside_.GetTupleElement(loop_.loop, element));
    }
    for (const PipelinedStore& store : stores_)
      RETURN_IF_ERROR(DoAfterLoop(store, arrays, readers));
    for (const PipelinedStore& store : stores_) RemoveFromLoop(store);
    SetIterations(loop_, 0, loop_.counted.trip_count);
    return outside_.status();
  }

 private:
  struct Value {
    Instruction* input;
    Instruction* update;  // counts the slices
  };

  Shape StackedShape(Shape shape, int64_t count) const {
    DimVec dims = {count};
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    return Shape::Array(shape.element_type(), dims);
  }

  Instruction* Zeros(Shape shape) {
    return outside_.OpWithShape(Opcode::kBroadcast, StackedShape(shape, loop_.counted.trip_count),
                                {outside_.Constant(Literal::Zero(shape.element_type()))});
  }

  // Stores `value` of each iteration in a slice of element `element`, which is `array` before.
  absl::Status StackInLoop(const Value& value, Instruction* array, int element) {
    Builder b(&loop_.body(), value.input);
    Instruction* const slice = b.Reshape(value.input, StackedShape(value.input->shape(), 1).dims());
    Instruction* const index = value.update->operand(MovingIndex(*value.update));
    std::vector<Instruction*> starts(static_cast<size_t>(array->shape().rank()),
                                     b.Constant(Literal::Zero(index->shape().element_type())));
    starts[0] = index;
    loop_.root()->ReplaceOperand(element, b.DynamicUpdateSlice(array, slice, starts));
    return b.status();
  }

  absl::Status DoAfterLoop(const PipelinedStore& store, const std::vector<Instruction*>& arrays,
                           const std::vector<Instruction*>& readers) {
    StackedOps ops(loop_.loop->parent(), loop_.counted.trip_count);
    std::vector<Instruction*> invariant;
    for (Instruction* input : InputsOf(store)) {
      if (const auto slot = slots_.find(input); slot != slots_.end()) {
        ops.SetStacked(input, arrays[slot->second]);
      } else {
        invariant.push_back(input);
      }
    }
    for (const Instruction* made : NeededFor(invariant, {})) ops.Add(*made);
    for (const Instruction* collective : store.collectives) ops.Add(*collective);
    for (const Instruction* op : store.between) ops.Add(*op);
    for (const Instruction* update : store.updates) {
      Instruction* whole = ops.Stacked(update->operand(1));
      if (!SameDimensions(whole->shape(), update->shape()))
        whole = outside_.Reshape(whole, update->shape().dims());
      for (Instruction* reader : readers) {
        if (reader->tuple_index() == StoredElement(*update))
          reader->parent()->Replace(reader, whole);
      }
    }
    return ops.status();
  }

  void RemoveFromLoop(const PipelinedStore& store) {
    Computation& body = loop_.body();
    for (Instruction* update : store.updates) {
      loop_.root()->ReplaceOperand(StoredElement(*update), update->operand(0));
      body.Remove(update);
    }
    std::vector<Instruction*> moved = store.collectives;
    moved.insert(moved.end(), store.between.begin(), store.between.end());
    for (auto op = moved.rbegin(); op != moved.rend(); ++op) {
      // Two stores may read one constant.
      if (!(*op)->is_dead() && !(*op)->is_used()) body.Remove(*op);
    }
  }

  const PipelinedLoop& loop_;
  const std::vector<PipelinedStore>& stores_;
  Builder outside_;
  std::vector<Value> stacked_;
  absl::flat_hash_map<const Instruction*, size_t> slots_;
};

}  // namespace

absl::Status SinkCollectives(const PipelinedLoop& loop, const std::vector<PipelinedStore>& stores) {
  return Sinking(loop, stores).Run();
}

}  // namespace hlo

#include "tools/run/single_shard.h"

#include <algorithm>
#include <vector>

#include "lib/ir/async_chain.h"
#include "lib/ir/builder.h"
#include "lib/ir/outline.h"
#include "lib/ops/async_pairs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/diagnostic.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "lib/types/shape_limits.h"
#include "lib/types/shape_util.h"
#include "passes/util/layout_copy.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

using InstructionOr = absl::StatusOr<Instruction*>;

bool MeetsOthers(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return HasTrait(opcode, kCollective) || kSendRecvOps.Has(opcode) || kDeviceIds.Has(opcode);
}

// Stands in a computation in the place of an instruction that meets others. A start becomes the
// state that its chain carries, with the result in its place, and a done takes that out, so it is
// nothing to either how the chain gets from the one to the other.
class LocalValue {
 public:
  LocalValue(Instruction& old, int64_t replica, int64_t partition)
      : old_(old), replica_(replica), partition_(partition), builder_(old.parent()) {
    builder_.set_origin(&old);
  }

  InstructionOr Make() {
    const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                  [this](const Row& r) { return r.opcode == old_.opcode(); });
    ASSIGN_OR_RETURN(Instruction * value, row == std::end(kRows) ? Result() : (this->*row->make)());
    RETURN_IF_ERROR(AddLocation(builder_.status(), old_.loc()));
    return value;
  }

 private:
  struct Row {
    Opcode opcode;
    InstructionOr (LocalValue::*make)();
  };
  static const Row kRows[11];  // all others: Result

  InstructionOr PartitionId() { return Number(partition_); }
  InstructionOr ReplicaId() { return Number(replica_); }
  InstructionOr Number(int64_t number) {
    return builder_.ScalarConstant(old_.shape().element_type(), static_cast<double>(number));
  }

  InstructionOr Send() { return TransferState(old_.operand(0), old_.operand(1)); }
  InstructionOr Recv() {
    ASSIGN_OR_RETURN(Instruction * data, Zeros(old_.shape().element(0)));
    return TransferState(data, old_.operand(0));
  }
  InstructionOr TransferState(Instruction* data, Instruction* token) {
    ASSIGN_OR_RETURN(Instruction * context, Zeros(old_.shape().element(1)));
    Instruction* const parts[] = {data, context, token};
    return builder_.Tuple(parts);
  }
  InstructionOr SendDone() { return Element(old_.operand(0), 2); }
  InstructionOr RecvDone() {
    Instruction* const parts[] = {Element(old_.operand(0), 0), Element(old_.operand(0), 2)};
    return builder_.Tuple(parts);
  }

  // What was given, the result, contexts.
  InstructionOr PairState() {
    const bool is_one = !old_.shape().element(0).IsTuple() || IsInPlace();
    Instruction* const given = is_one ? old_.operand(0) : builder_.Tuple(old_.operand_vector());
    ASSIGN_OR_RETURN(Instruction * result, Result(old_.shape().element(1)));
    std::vector<Instruction*> parts = {given, result};
    for (int i = 2; i < old_.shape().element_count_of_tuple(); ++i) {
      ASSIGN_OR_RETURN(Instruction * context, Zeros(old_.shape().element(i)));
      parts.push_back(context);
    }
    return builder_.Tuple(parts);
  }
  InstructionOr PairDone() { return Element(old_.operand(0), 1); }
  // An all-reduce-start gives the result itself.
  InstructionOr ReduceDone() { return old_.operand(0); }

  bool IsInPlace() const {
    const Opcode opcode = old_.opcode();
    return kPermutes.Has(opcode) && !old_.attrs<CollectivePermuteAttrs>().slice_sizes.empty();
  }

  // What the device is given, made of its own operands. What is written in place is the second of
  // them.
  InstructionOr Result() { return Result(old_.shape()); }
  InstructionOr Result(Shape shape) {
    const bool writes = IsInPlace() || old_.opcode() == Opcode::kRaggedAllToAll;
    Instruction* value = nullptr;
    if (writes) {
      value = Fit(old_.operand(1), shape);
    } else if (!shape.IsTuple()) {
      value = Fit(old_.operand(0), shape);
    } else if (shape.element_count_of_tuple() <= old_.operand_count()) {
      std::vector<Instruction*> values;
      for (int i = 0; i < shape.element_count_of_tuple(); ++i)
        values.push_back(Fit(old_.operand(i), shape.element(i)));
      value = builder_.Tuple(values);
    }
    if (value == nullptr || !builder_.status().ok() || !Compatible(value->shape(), shape)) {
      return Unsupported(old_.loc(),
                         "`{}` gives `{}`, whose sizes only the run knows; make them static first "
                         "(--passes=dynamic-padder)",
                         old_.name(), shape);
    }
    return CopyWithLayouts(value, shape);
  }

  // `x` repeated and cut along each dimension until it has this shape.
  Instruction* Fit(Instruction* x, Shape shape) {
    if (shape.IsTuple()) {
      std::vector<Instruction*> values;
      for (int i = 0; i < shape.element_count_of_tuple(); ++i)
        values.push_back(Fit(Element(x, i), shape.element(i)));
      return builder_.Tuple(values);
    }
    Instruction* const whole = x;
    for (int d = 0; d < shape.rank(); ++d) {
      const int64_t want = shape.dim(d), have = x->shape().dim(d);
      if (want == have) continue;
      if (want > have && have > 0) {
        const std::vector<Instruction*> copies(static_cast<size_t>(CeilDiv(want, have)), x);
        x = builder_.Concatenate(copies, d);
      }
      DimVec starts(static_cast<size_t>(shape.rank()), 0),
          limits(x->shape().dims().begin(), x->shape().dims().end());
      limits[static_cast<size_t>(d)] = std::min(want, limits[static_cast<size_t>(d)]);
      if (limits[static_cast<size_t>(d)] != x->shape().dim(d))
        x = builder_.Slice(x, starts, limits);
    }
    // A value of its own, as the collective's result was: the operand may be changed later.
    return x == whole ? builder_.Copy(x) : x;
  }

  InstructionOr Zeros(Shape shape) {
    if (shape.IsToken()) return builder_.OpWithShape(Opcode::kAfterAll, shape, {});
    if (shape.IsTuple()) {
      std::vector<Instruction*> elements;
      for (const Shape element : shape.elements()) {
        ASSIGN_OR_RETURN(Instruction * zeros, Zeros(element));
        elements.push_back(zeros);
      }
      return builder_.Tuple(elements);
    }
    if (!shape.IsArray() || shape.has_dynamic_dims()) {
      return Unsupported(old_.loc(), "`{}` gets `{}` from another device; {} first (--passes={})",
                         old_.name(), shape,
                         shape.IsArray() ? "make its sizes static" : "make arrays of buffers",
                         shape.IsArray() ? "dynamic-padder" : "buffers-to-arrays");
    }
    Instruction* const zero = builder_.Constant(Literal::Zero(shape.element_type()));
    Instruction* const zeros =
        shape.rank() == 0 ? zero : builder_.Broadcast(zero, shape.dims(), {});
    return CopyWithLayouts(zeros, shape);
  }

  Instruction* Element(Instruction* tuple, int64_t index) {
    if (tuple->opcode() == Opcode::kTuple) return tuple->operand(static_cast<int>(index));
    return builder_.GetTupleElement(tuple, index);
  }

  Instruction& old_;
  const int64_t replica_, partition_;
  Builder builder_;
};

const LocalValue::Row LocalValue::kRows[] = {
    {Opcode::kAllGatherDone, &LocalValue::PairDone},
    {Opcode::kAllGatherStart, &LocalValue::PairState},
    {Opcode::kAllReduceDone, &LocalValue::ReduceDone},
    {Opcode::kCollectivePermuteDone, &LocalValue::PairDone},
    {Opcode::kCollectivePermuteStart, &LocalValue::PairState},
    {Opcode::kPartitionId, &LocalValue::PartitionId},
    {Opcode::kRecv, &LocalValue::Recv},
    {Opcode::kRecvDone, &LocalValue::RecvDone},
    {Opcode::kReplicaId, &LocalValue::ReplicaId},
    {Opcode::kSend, &LocalValue::Send},
    {Opcode::kSendDone, &LocalValue::SendDone},
};

class SingleShard {
 public:
  SingleShard(Module& module, int64_t id) : module_(module), id_(id) {}

  absl::StatusOr<int64_t> Run() {
    const ModuleConfig& config = module_.config();
    const int64_t partitions = std::max<int64_t>(config.num_partitions, 1);
    const int64_t devices = std::max<int64_t>(config.replica_count, 1) * partitions;
    if (id_ >= devices) {
      return Error("`--single-shard={}`: module `{}` runs on {} device{}, numbered from 0", id_,
                   module_.name(), devices, devices == 1 ? "" : "s");
    }
    replica_ = id_ / partitions;
    partition_ = id_ % partitions;
    RETURN_IF_ERROR(MoveOutOfAsyncBodies());
    for (Computation* computation : module_.PostOrder()) {
      for (Instruction* instruction : computation->PostOrder()) {
        if (!instruction->is_dead() && MeetsOthers(*instruction))
          RETURN_IF_ERROR(ReplaceOne(*computation, *instruction));
      }
    }
    // A schedule names what has gone.
    if (count_ > 0) module_.ClearSchedule();
    module_.config().replica_count = module_.config().num_partitions = 1;
    RETURN_IF_ERROR(VerifyRunnable(module_));
    return count_;
  }

 private:
  // A computation that is started may hold one operation only: a call of what becomes of it.
  absl::Status MoveOutOfAsyncBodies() {
    for (Computation* computation : module_.PostOrder()) {
      Instruction* const root = computation->root();
      if (IsAsyncBody(*computation) && MeetsOthers(*root))
        RETURN_IF_ERROR(Outline({root}, "own_part").status());
    }
    return absl::OkStatus();
  }

  absl::Status ReplaceOne(Computation& computation, Instruction& old) {
    const bool is_done = EndsPair(old.opcode());
    if (!is_done) ++count_;
    // What waited for others need not wait any more.
    old.DropControlEdges();
    Instruction* const state = is_done ? old.operand(0) : nullptr;
    if (old.is_used()) {
      ASSIGN_OR_RETURN(Instruction * value, LocalValue(old, replica_, partition_).Make());
      computation.Replace(&old, value);
    } else {
      computation.Remove(&old);
    }
    const bool is_read = state == nullptr || state->is_used();
    if (!is_read && state->opcode() == Opcode::kTuple) computation.RemoveUnused(state);
    return absl::OkStatus();
  }

  Module& module_;
  const int64_t id_;
  int64_t replica_ = 0, partition_ = 0;
  int64_t count_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> KeepSingleShard(Module& module, int64_t id) {
  return SingleShard(module, id).Run();
}

}  // namespace hlo

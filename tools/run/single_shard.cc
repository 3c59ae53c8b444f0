#include "tools/run/single_shard.h"

#include <algorithm>
#include <vector>

#include "lib/ir/builder.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

constexpr OpcodeSet kStarts = {Opcode::kAllReduceStart, Opcode::kAllGatherStart,
                               Opcode::kCollectivePermuteStart, Opcode::kSend, Opcode::kRecv};
constexpr OpcodeSet kDones = {Opcode::kAllReduceDone, Opcode::kAllGatherDone,
                              Opcode::kCollectivePermuteDone, Opcode::kSendDone, Opcode::kRecvDone};
constexpr OpcodeSet kIds = {Opcode::kPartitionId, Opcode::kReplicaId};

bool IsReplaced(Opcode opcode) {
  const bool is_whole = HasTrait(opcode, kCollective) && !kStarts.Has(opcode);
  return is_whole || kDones.Has(opcode) || kIds.Has(opcode);
}

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
    for (Computation* computation : module_.PostOrder()) {
      for (Instruction* instruction : computation->PostOrder()) {
        if (IsReplaced(instruction->opcode()))
          RETURN_IF_ERROR(ReplaceOne(*computation, *instruction));
      }
    }
    module_.config().replica_count = module_.config().num_partitions = 1;
    RETURN_IF_ERROR(VerifyRunnable(module_));
    return count_;
  }

 private:
  absl::Status ReplaceOne(Computation& computation, Instruction& old) {
    ++count_;
    Builder builder(&computation);
    builder.set_origin(&old);
    const bool is_done = kDones.Has(old.opcode());
    Instruction* const start = is_done ? old.operand(0) : nullptr;
    const Instruction& from = is_done ? *start : old;
    Instruction* const value = Value(builder, old, from);
    if (value == nullptr) {
      return Unsupported(old.loc(), "`{}` exchanges parts whose sizes only the run knows",
                         old.name());
    }
    RETURN_IF_ERROR(builder.status());
    computation.Replace(&old, value);
    if (start != nullptr && start->uses().empty()) computation.Remove(start);
    return absl::OkStatus();
  }

  // What stands for `old`, whose operands are those of `from`; null: that cannot be said.
  Instruction* Value(Builder& builder, const Instruction& old, const Instruction& from) {
    const Opcode opcode = from.opcode();
    if (kIds.Has(opcode)) {
      const int64_t number = opcode == Opcode::kPartitionId ? partition_ : replica_;
      return builder.ScalarConstant(old.shape().element_type(), static_cast<double>(number));
    }
    if (opcode == Opcode::kSend) return from.operand(1);
    if (opcode == Opcode::kRecv) {
      Instruction* const parts[] = {Filled(builder, old.shape().element(0)), from.operand(0)};
      return builder.Tuple(parts);
    }
    if (opcode == Opcode::kRaggedAllToAll) return from.operand(1);
    // An all-to-all of tuples, and in-place permutes, have their operands' shapes.
    std::vector<Instruction*> values;
    if (!old.shape().IsTuple()) return Fit(builder, from.operand(0), old.shape());
    if (old.shape().element_count_of_tuple() > from.operand_count()) return nullptr;
    for (int i = 0; i < old.shape().element_count_of_tuple(); ++i)
      values.push_back(Fit(builder, from.operand(i), old.shape().element(i)));
    return builder.Tuple(values);
  }

  static Instruction* Filled(Builder& builder, Shape shape) {
    if (shape.IsTuple()) {
      std::vector<Instruction*> elements;
      for (int i = 0; i < shape.element_count_of_tuple(); ++i)
        elements.push_back(Filled(builder, shape.element(i)));
      return builder.Tuple(elements);
    }
    return builder.Broadcast(builder.ScalarConstant(shape.element_type(), 0), shape.dims(), {});
  }

  // `x` repeated and cut along each dimension until it has this shape.
  static Instruction* Fit(Builder& builder, Instruction* x, Shape shape) {
    Instruction* const whole = x;
    for (int d = 0; d < shape.rank(); ++d) {
      const int64_t want = shape.dim(d), have = x->shape().dim(d);
      if (want == have) continue;
      if (want > have && have > 0) {
        const std::vector<Instruction*> copies(static_cast<size_t>((want + have - 1) / have), x);
        x = builder.Concatenate(copies, d);
      }
      DimVec starts(static_cast<size_t>(shape.rank()), 0),
          limits(x->shape().dims().begin(), x->shape().dims().end());
      limits[static_cast<size_t>(d)] = std::min(want, limits[static_cast<size_t>(d)]);
      if (limits[static_cast<size_t>(d)] != x->shape().dim(d)) x = builder.Slice(x, starts, limits);
    }
    // A value of its own, as the collective's result was: the operand may be changed later.
    return x == whole ? builder.Copy(x) : x;
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

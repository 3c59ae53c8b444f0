// What concerns the run and its device: ids, the counter of rng-get-and-update-state, and what
// gives its operand on one device: collectives, and custom calls that annotate.
#include <algorithm>

#include "backends/gpu/emit/core/frame.h"
#include "lib/analysis/leaves.h"
#include "lib/eval/collective_groups.h"
#include "lib/eval/custom_calls.h"
#include "lib/ir/module.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"

namespace hlo::gpu {
namespace {

PlanStep::Late LateOf(Opcode opcode) {
  return opcode == Opcode::kReplicaId     ? PlanStep::Late::kReplicaId
         : opcode == Opcode::kPartitionId ? PlanStep::Late::kPartitionId
                                          : PlanStep::Late::kCounter;
}

bool IsDone(Opcode opcode) {
  return opcode == Opcode::kAllGatherDone || opcode == Opcode::kAllReduceDone ||
         opcode == Opcode::kCollectivePermuteDone;
}

// The leaves of the operands that carry data, and of the result for which they are meant: as many,
// of the same shapes. The -start forms of some hold their operands in front, too.
struct Exchange {
  std::vector<Shape> from, to;
  std::vector<int> also_to;  // leaves that stand for the operands
  int first_from = 0, first_to = 0;
};
Exchange ExchangeOf(const Instruction& collective) {
  Exchange exchange;
  const Opcode opcode = collective.opcode();
  for (const Instruction* operand : collective.operands()) {
    const std::vector<Shape> leaves = LeafShapes(operand->shape());
    exchange.from.insert(exchange.from.end(), leaves.begin(), leaves.end());
  }
  exchange.to = LeafShapes(collective.shape());
  const bool keeps_operands = kOperandsKeepingStarts.Has(opcode);
  const auto operands = exchange.from.size();
  if (keeps_operands && exchange.to.size() >= 2 * operands) {
    for (size_t i = 0; i < operands; ++i) exchange.also_to.push_back(static_cast<int>(i));
    exchange.first_to = static_cast<int>(operands);
    exchange.to =
        std::vector<Shape>(exchange.to.begin() + static_cast<std::ptrdiff_t>(operands),
                           exchange.to.begin() + static_cast<std::ptrdiff_t>(2 * operands));
  }
  // What a -done form reads: the results after the operands.
  const Opcode source = collective.operand_count() > 0 ? collective.operand(0)->opcode() : opcode;
  if (IsDone(opcode) && kOperandsKeepingStarts.Has(source)) {
    exchange.first_from = static_cast<int>(exchange.to.size());
    const auto begin = exchange.from.begin() + exchange.first_from;
    exchange.from = std::vector<Shape>(begin, begin + std::ssize(exchange.to));
  }
  return exchange;
}

// A permute without a pair that leads here gives zeros, as does a broadcast that leaves it out.
bool GivesZeros(const Instruction& collective) {
  if (collective.opcode() == Opcode::kCollectiveBroadcast)
    return GroupOf(collective, 0, DeviceMesh()).empty();
  if (!kPermutes.Has(collective.opcode())) return false;
  const auto& pairs = collective.attrs<CollectivePermuteAttrs>().source_target_pairs;
  return std::none_of(pairs.begin(), pairs.end(),
                      [](const auto& pair) { return pair.first == 0 && pair.second == 0; });
}

}  // namespace

Decision TakesRuntimeNumber(const Instruction&) { return Yes(); }

absl::Status EmitRuntimeNumber(const FamilyRequest& request) {
  const Instruction& instruction = request.root;
  const GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "number";
  const PlanStep::Late late = LateOf(instruction.opcode());
  const int integers = LateIntegers(late);
  const auto body = [&](GpuFusionEmitter&, KernelBuilder& k) -> absl::Status {
    return k.If(k.b().CreateICmpEQ(k.ThreadIndex(), k.Index(0)), [&] {
      const int buffer = frame.outputs[0].buffer;
      const auto bits = static_cast<unsigned>(BitWidth(frame.outputs[0].shape.element_type()));
      for (int i = 0; i < integers; ++i) {
        llvm::Value* const value = k.b().CreateTrunc(k.WideInteger(i), k.b().getIntNTy(bits));
        k.Store(buffer, k.Index(i), {value, nullptr});
      }
      return absl::OkStatus();
    });
  };
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, kWarpSize, integers, plan, body));
  PlanStep& step = AddLaunch(frame, kernel, 1, kWarpSize, {}, plan);
  step.late = late;
  if (late == PlanStep::Late::kCounter)
    step.delta = instruction.attrs<RngGetAndUpdateStateAttrs>().delta;
  return absl::OkStatus();
}

Decision TakesOnOneDevice(const Instruction& collective) {
  const ModuleConfig& config = collective.module().config();
  if (config.replica_count * config.num_partitions != 1)
    return No("the module is for {} devices", config.replica_count * config.num_partitions);
  const Opcode opcode = collective.opcode();
  const bool is_permute = kPermutes.Has(opcode);
  if (opcode == Opcode::kRaggedAllToAll ||
      (is_permute && !collective.attrs<CollectivePermuteAttrs>().slice_sizes.empty()) ||
      (opcode == Opcode::kCollectiveBroadcast &&
       collective.attrs<CollectiveBroadcastAttrs>().has_dynamic_root))
    return No("no kernel family takes `{}`", collective.opcode_text());
  const Exchange exchange = ExchangeOf(collective);
  if (exchange.from.size() != exchange.to.size())
    return No("its operands and results differ in number");
  for (size_t i = 0; i < exchange.from.size(); ++i) {
    if (exchange.from[i] != exchange.to[i] || !exchange.to[i].IsArray())
      return No("its result {} is not its operand {}", exchange.to[i], exchange.from[i]);
  }
  return Yes();
}

Decision TakesCopyOfOperand(const Instruction& call) {
  const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
  if (!IsIdentityCustomCall(target)) return No("no kernel family takes its target `{}`", target);
  if (call.operand_count() != 1 || !call.shape().IsArray() || call.shape().has_dynamic_dims() ||
      call.operand(0)->shape().dims() != call.shape().dims())
    return No("`{}` does not give its operand", target);
  return Yes();
}

absl::Status EmitCopyOfOperand(const FamilyRequest& request) {
  AddCopy(0, request.frame.operand_buffers, request.plan);
  return absl::OkStatus();
}

absl::Status EmitOnOneDevice(const FamilyRequest& request) {
  const Instruction& collective = request.root;
  const GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "collective";
  const Exchange exchange = ExchangeOf(collective);
  for (const int leaf : exchange.also_to) AddCopy(leaf, frame.operand_buffers + leaf, plan);
  for (int i = 0; i < static_cast<int>(exchange.to.size()); ++i) {
    const int to = frame.operand_buffers + exchange.first_to + i;
    if (!GivesZeros(collective)) {
      AddCopy(exchange.first_from + i, to, plan);
      continue;
    }
    RETURN_IF_ERROR(AddZeros(frame, to, exchange.to[static_cast<size_t>(i)].element_count(), plan));
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu

#include "passes/control_flow/collective_permute_motion.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/trip_count.h"
#include "passes/control_flow/widen_loop.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

constexpr size_t kMostMovedWithPermute = 8;

const Instruction* BeforeCopies(const Instruction* value) {
  while (value->opcode() == Opcode::kReshape || value->opcode() == Opcode::kCopy)
    value = value->operand(0);
  return value;
}

// The step of a counter that `read` reads and `next` goes on with; none where it is not one
// constant in each iteration.
std::optional<int64_t> StepOfCounter(const Instruction& next, const Instruction& read) {
  if (next.opcode() != Opcode::kAdd && next.opcode() != Opcode::kSubtract) return std::nullopt;
  const int side = next.operand(0) == &read ? 1 : 0;
  const Instruction& step = *next.operand(side);
  if (next.operand(1 - side) != &read || !step.IsConstant() ||
      (next.opcode() == Opcode::kSubtract && side == 0))
    return std::nullopt;
  return KnownInteger(step);
}

// Iterations after which a counter of `bits` bits is what it was.
int64_t Period(int64_t step, int bits) {
  const int zeros = std::countr_zero(static_cast<uint64_t>(step));
  return zeros >= bits ? 1 : int64_t{1} << std::min(bits - zeros, 62);
}

// What element `index` is in the first iteration and in no other one.
std::optional<int64_t> FirstCount(const Instruction& loop, int64_t index, const Instruction& read) {
  const Instruction& start = *loop.operand(0)->operand(static_cast<int>(index));
  const ElementType type = start.shape().element_type();
  if (!start.IsConstant() || start.shape().rank() != 0 || !IsInteger(type)) return std::nullopt;
  const std::optional<int64_t> step =
      StepOfCounter(*loop.while_body()->root()->operand(static_cast<int>(index)), read);
  if (!step) return std::nullopt;
  // Nobody waits for more iterations than these.
  constexpr int64_t kNever = int64_t{1} << 31;
  const int64_t period = Period(*step, BitWidth(type));
  if (period < kNever) {
    const std::optional<int64_t> count = TripCount(loop);
    if (!count || *count > period) return std::nullopt;
  }
  return KnownInteger(start);
}

// What is the same in all iterations, found from the elements that only pass through.
absl::flat_hash_set<const Instruction*> LoopConstants(const Computation& body) {
  constexpr OpcodeSet kSources = {Opcode::kConstant, Opcode::kIota, Opcode::kPartitionId,
                                  Opcode::kReplicaId};
  constexpr OpcodeSet kPassesOn = {Opcode::kBroadcast, Opcode::kDynamicSlice, Opcode::kReduce,
                                   Opcode::kReshape, Opcode::kTranspose};
  absl::flat_hash_set<const Instruction*> constants;
  for (const Instruction* instruction : body.PostOrder()) {
    const Opcode opcode = instruction->opcode();
    const auto operands = instruction->operands();
    bool is_constant = kSources.Has(opcode);
    if (opcode == Opcode::kGetTupleElement) {
      const int64_t i = instruction->tuple_index();
      is_constant = IsParameterElement(*instruction, i) &&
                    IsParameterElement(*BeforeCopies(body.root()->operand(static_cast<int>(i))), i);
    } else if ((IsElementwise(opcode) || kPassesOn.Has(opcode)) && !instruction->HasSideEffect() &&
               instruction->operand_count() > 0) {
      is_constant = absl::c_all_of(
          operands, [&](const Instruction* operand) { return constants.contains(operand); });
    }
    if (is_constant) constants.insert(instruction);
  }
  return constants;
}

// A permute and what stands between it and the end of the body: the last one first.
struct Cluster {
  std::vector<Instruction*> members;
  Instruction* permute = nullptr;
};

std::optional<Cluster> ClusterAtEnd(Instruction* last,
                                    const absl::flat_hash_set<const Instruction*>& constants) {
  Cluster cluster;
  std::vector<Instruction*> queue = {last};
  for (size_t at = 0; at < queue.size(); ++at) {
    Instruction* member = queue[at];
    if (at >= kMostMovedWithPermute || member->use_count() != 1 || member->has_control_edges())
      return std::nullopt;
    if (member->opcode() == Opcode::kCollectivePermute) {
      if (cluster.permute != nullptr || member->operand_count() != 1) return std::nullopt;
      cluster.permute = member;
      continue;
    }
    if (!IsElementwise(member->opcode()) || member->HasSideEffect()) return std::nullopt;
    for (Instruction* operand : member->operands()) {
      if (!constants.contains(operand)) queue.push_back(operand);
    }
  }
  if (cluster.permute == nullptr) return std::nullopt;
  cluster.members = std::move(queue);
  return cluster;
}

class PermuteLoop {
 public:
  PermuteLoop(Instruction* loop, int64_t counter, PassContext& context)
      : loop_(loop), counter_(counter), context_(context) {
    reads_.resize(static_cast<size_t>(loop->shape().element_count_of_tuple()));
    for (Instruction* read : body().parameter(0)->users())
      reads_[static_cast<size_t>(read->tuple_index())].push_back(read);
  }

  absl::StatusOr<bool> Move() {
    const std::vector<Instruction*>& reads = reads_[static_cast<size_t>(counter_)];
    const std::optional<int64_t> first =
        reads.size() == 1 ? FirstCount(*loop_, counter_, *reads[0]) : std::nullopt;
    if (!first) return false;
    init_ = *first;
    const absl::flat_hash_set<const Instruction*> constants = LoopConstants(body());
    bool moved = false;
    for (size_t i = 0; i < reads_.size(); ++i) {
      if (reads_[i].size() != 1 || IsReadElsewhere(static_cast<int64_t>(i))) continue;
      Instruction* const input = reads_[i].front();
      const std::optional<Cluster> cluster =
          ClusterAtEnd(body().root()->operand(static_cast<int>(i)), constants);
      if (!cluster) continue;
      if (cluster->permute->operand(0) == input) {
        context_.Missed(*cluster->permute, "it is at the beginning of the body");
        continue;
      }
      if (input->has_control_edges() || !context_.MayRewrite()) continue;
      context_.Passed(*cluster->permute, "moves to the beginning of the next iteration");
      context_.Count("moved");
      RETURN_IF_ERROR(MoveToBegin(input, static_cast<int>(i), *cluster));
      moved = true;
    }
    return moved;
  }

 private:
  Computation& body() const { return *loop_->while_body(); }

  // By the condition or after the loop.
  bool IsReadElsewhere(int64_t i) const {
    const auto reads = [i](const Instruction* user) {
      return user->opcode() != Opcode::kGetTupleElement || user->tuple_index() == i;
    };
    const std::vector<Instruction*> after = loop_->users();
    const std::vector<Instruction*> before = loop_->while_condition()->parameter(0)->users();
    return loop_->is_root() || absl::c_any_of(after, reads) || absl::c_any_of(before, reads);
  }

  absl::Status MoveToBegin(Instruction* input, int element, const Cluster& cluster) {
    Instruction* const sent = cluster.permute->operand(0);
    const std::vector<Use> uses(input->uses().begin(), input->uses().end());
    absl::flat_hash_map<const Instruction*, Instruction*> copies = {{sent, input}};
    for (auto it = cluster.members.rbegin(); it != cluster.members.rend(); ++it) {
      std::vector<Instruction*> operands;
      for (Instruction* operand : (*it)->operands()) {
        const auto copy = copies.find(operand);
        operands.push_back(copy != copies.end() ? copy->second : operand);
      }
      Instruction* const copy = body().AddClone(**it, (*it)->shape(), operands);
      copy->set_loc((*it)->loc());
      copies[*it] = copy;
    }
    Instruction* const last = cluster.members.front();
    Builder b(&body(), cluster.permute);
    Instruction* const counter = reads_[static_cast<size_t>(counter_)].front();
    Instruction* const is_first = b.Compare(
        counter, b.Constant(Literal::Scalar<int64_t>(counter->shape().element_type(), init_)),
        ComparisonDirection::kEq);
    Instruction* const everywhere =
        b.OpWithShape(Opcode::kBroadcast, last->shape().WithElementType(ElementType::kPred),
                      {is_first}, AttrsPtr::Make(BroadcastAttrs{}));
    Instruction* const begun =
        b.OpWithShape(Opcode::kSelect, last->shape(), {everywhere, input, copies.at(last)});
    RETURN_IF_ERROR(b.status());
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, begun);
    body().root()->ReplaceOperand(element, sent);
    for (Instruction* member : cluster.members) body().Remove(member);
    return absl::OkStatus();
  }

  Instruction* loop_;
  int64_t counter_;
  int64_t init_ = 0;  // of the counter
  PassContext& context_;
  std::vector<std::vector<Instruction*>> reads_;  // in the body, by element
};

}  // namespace

absl::StatusOr<bool> CollectivePermuteMotion::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    for (Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile || loop->operand(0)->opcode() != Opcode::kTuple ||
          !CanCarryMore(*loop) || !loop->while_body()->MayHold(Opcode::kCollectivePermute))
        continue;
      const std::optional<int64_t> counter = InductionIndex(*loop);
      if (!counter) continue;
      ASSIGN_OR_RETURN(const bool moved, PermuteLoop(loop, *counter, context).Move());
      changed |= moved;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(CollectivePermuteMotion)

}  // namespace hlo

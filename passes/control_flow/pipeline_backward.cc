#include "passes/control_flow/pipeline_backward.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "passes/control_flow/widen_loop.h"
#include "passes/util/loop_state.h"
#include "passes/util/send_recv_iterations.h"

namespace hlo {
namespace {

class GatherFinder {
 public:
  GatherFinder(const PipelinedLoop& loop, const PipelineLimits& limits, PassContext& context)
      : loop_(loop), limits_(limits), context_(context), order_(loop.body().PostOrder()) {
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  std::vector<PipelinedGather> Find() const {
    std::vector<PipelinedGather> found;
    for (Instruction* collective : order_) {
      if (!limits_.opcodes.Has(collective->opcode())) continue;
      PipelinedGather gather = {collective, {}};
      if (!context_.Allowed(*collective, Follow(gather))) continue;
      found.push_back(std::move(gather));
      if (static_cast<int64_t>(found.size()) >= limits_.max_per_loop) break;
    }
    return found;
  }

 private:
  bool IsStateRead(const Instruction& value) const {
    return value.opcode() == Opcode::kGetTupleElement && value.operand(0) == loop_.state();
  }

  Decision Follow(PipelinedGather& gather) const {
    const Instruction& collective = *gather.collective;
    if (!collective.shape().IsArray() || collective.shape().has_dynamic_dims() ||
        (collective.has_control_edges() && !limits_.control_edges) || !collective.has_uses())
      return No("it has several results, a dynamic one, none that is used, or control edges");
    absl::flat_hash_set<const Instruction*> members = {&collective};
    std::vector<Instruction*> stack = collective.operand_vector();
    while (!stack.empty()) {
      Instruction* const value = stack.back();
      stack.pop_back();
      if (!members.insert(value).second) continue;
      if (Decision decision = MayBeEarlier(*value); !decision) return decision;
      gather.chain.push_back(value);
      if (IsStateRead(*value)) continue;
      stack.insert(stack.end(), value->operands().begin(), value->operands().end());
    }
    for (const Instruction* value : gather.chain) {
      if (MayBeMadeTwice(*value)) continue;
      for (const Use& use : value->uses()) {
        if (!members.contains(use.user)) return No("`{}` is needed elsewhere, too", value->name());
      }
    }
    absl::c_sort(gather.chain, [&](const Instruction* a, const Instruction* b) {
      return position_.at(a) < position_.at(b);
    });
    return Yes();
  }

  Decision MayBeEarlier(const Instruction& value) const {
    if (value.has_control_edges()) return No("`{}` has control edges", value.name());
    if (IsStateRead(value)) {
      const auto element = static_cast<int>(value.tuple_index());
      if (element != loop_.counter && !loop_.PassesOn(element) && !limits_.variants_in_chain)
        return No("`{}` is another one in each iteration", value.name());
      return Yes();
    }
    const bool is_half =
        HasTrait(value.opcode(), kAsyncStart) || HasTrait(value.opcode(), kAsyncDone);
    if (is_half || (value.HasSideEffect() && !HasTrait(value.opcode(), kCollective)))
      return No("`{}` has effects", value.name());
    return Yes();
  }

  // For XLA's search for what is the same in all iterations that is everything: it begins with all
  // that has no operands, and the state of the loop has none.
  bool MayBeMadeTwice(const Instruction& value) const {
    return limits_.invariants_in_chain || value.shape().IsEffectiveScalar() || IsStateRead(value);
  }

  const PipelinedLoop& loop_;
  const PipelineLimits& limits_;
  PassContext& context_;
  std::vector<Instruction*> order_;
  absl::flat_hash_map<const Instruction*, size_t> position_;
};

class BackwardPipeline {
 public:
  BackwardPipeline(const PipelinedLoop& loop, const std::vector<PipelinedGather>& gathers,
                   IterationCopier& copier)
      : loop_(loop),
        gathers_(gathers),
        copier_(copier),
        outside_(loop, copier),
        old_count_(loop.element_count()) {}

  absl::Status Run() {
    const std::vector<Instruction*> readers = loop_.loop->users();
    const std::vector<Instruction*> ends = loop_.root()->operand_vector();
    ASSIGN_OR_RETURN(const std::vector<Instruction*> before, GatherBeforeLoop());
    ASSIGN_OR_RETURN(const std::vector<Instruction*> reads, CarryMore(loop_.loop, before));
    RETURN_IF_ERROR(DoLastIteration(ends, readers));
    RETURN_IF_ERROR(GatherForNextIteration(reads));
    SetIterations(loop_, 0, loop_.counted.trip_count - 1);
    return StopEarlier();
  }

 private:
  // All that is copied, operands first.
  std::vector<Instruction*> Chains() const {
    std::vector<Instruction*> all;
    for (const PipelinedGather& gather : gathers_) {
      all.insert(all.end(), gather.chain.begin(), gather.chain.end());
      all.push_back(gather.collective);
    }
    return all;
  }

  bool IsCounter(const Instruction& value) const {
    return IsParameterElement(value, loop_.counter);
  }

  // The collectives of the first iteration, and the counter of the second one.
  absl::StatusOr<std::vector<Instruction*>> GatherBeforeLoop() {
    Builder b(loop_.loop->parent());
    CopyMap copies;
    for (Instruction* read : loop_.state()->users())
      copies[read] = ReadElement(b, loop_.loop->operand(0), read->tuple_index());
    outside_.CopyMoved(Chains(), 0, copies);
    std::vector<Instruction*> values;
    for (const PipelinedGather& gather : gathers_) values.push_back(copies.at(gather.collective));
    values.push_back(b.Constant(CounterLiteral(loop_, loop_.counted.init + loop_.counted.step)));
    RETURN_IF_ERROR(b.status());
    return values;
  }

  // After the loop, whose last iteration is left out. `readers` read its result.
  absl::Status DoLastIteration(const std::vector<Instruction*>& ends,
                               const std::vector<Instruction*>& readers) {
    Builder b(loop_.loop->parent());
    CopyMap copies;
    for (Instruction* read : loop_.state()->users()) {
      if (read->tuple_index() < old_count_)
        copies[read] = b.GetTupleElement(loop_.loop, read->tuple_index());
    }
    for (size_t k = 0; k < gathers_.size(); ++k)
      copies[gathers_[k].collective] =
          b.GetTupleElement(loop_.loop, old_count_ + static_cast<int64_t>(k));
    RETURN_IF_ERROR(b.status());
    std::vector<Instruction*> wanted = ends;
    const std::vector<Instruction*> effects = EffectsOf(loop_);
    wanted.insert(wanted.end(), effects.begin(), effects.end());
    outside_.CopyIteration(NeededFor(wanted, copies), loop_.counted.trip_count - 1, copies);
    for (Instruction* reader : readers)
      reader->parent()->Replace(reader,
                                copies.at(ends[static_cast<size_t>(reader->tuple_index())]));
    return absl::OkStatus();
  }

  // `reads`: what the iteration before has gathered, and the counter of the next one.
  absl::Status GatherForNextIteration(const std::vector<Instruction*>& reads) {
    Computation& body = loop_.body();
    Instruction* const root = loop_.root();
    CopyMap copies;
    for (Instruction* read : loop_.state()->users()) {
      const auto element = static_cast<int>(read->tuple_index());
      const bool is_passed_on = element >= old_count_ || loop_.PassesOn(element);
      copies[read] = IsCounter(*read) ? reads.back()
                     : is_passed_on   ? read
                                      : root->operand(element);  // of the next iteration
    }
    for (const PipelinedGather& gather : gathers_) gather.collective->DropControlEdges();
    copier_.Copy(Chains(), &body, "", copies);
    Builder b(&body);
    const auto end = [&](size_t k) { return old_count_ + static_cast<int>(k); };
    for (size_t k = 0; k < gathers_.size(); ++k) {
      Instruction* const old = gathers_[k].collective;
      old->ReplaceAllUsesWith(reads[k]);
      root->ReplaceOperand(end(k), copies.at(old));
    }
    root->ReplaceOperand(
        end(gathers_.size()),
        b.Add(root->operand(loop_.counter), b.Constant(CounterLiteral(loop_, loop_.counted.step))));
    RETURN_IF_ERROR(b.status());
    const std::vector<Instruction*> old = Chains();
    for (auto value = old.rbegin(); value != old.rend(); ++value) {
      if (!(*value)->is_dead() && !(*value)->is_used()) body.Remove(*value);
    }
    for (Instruction* permute : body.instruction_vector()) {
      if (permute->opcode() != Opcode::kCollectivePermute) continue;
      ChangeSendRecvIterations(permute, [&](int64_t first, int64_t last) {
        return std::pair(first, std::min(loop_.counted.trip_count - 2, last));
      });
    }
    return absl::OkStatus();
  }

  absl::Status StopEarlier() {
    Computation& condition = *loop_.loop->while_condition();
    Builder b(&condition);
    Instruction* const old = condition.root();
    const int64_t last = loop_.counted.init + loop_.counted.step * (loop_.counted.trip_count - 1);
    condition.set_root(
        b.Compare(b.GetTupleElement(condition.parameter(0), loop_.counter),
                  b.Constant(CounterLiteral(loop_, last)),
                  loop_.counted.step > 0 ? ComparisonDirection::kLt : ComparisonDirection::kGt));
    condition.RemoveUnused(old);
    return b.status();
  }

  const PipelinedLoop& loop_;
  const std::vector<PipelinedGather>& gathers_;
  IterationCopier& copier_;
  OutsideCopier outside_;
  int old_count_;
};

}  // namespace

std::vector<PipelinedGather> FindPipelinedGathers(const PipelinedLoop& loop,
                                                  const PipelineLimits& limits,
                                                  PassContext& context) {
  return GatherFinder(loop, limits, context).Find();
}

absl::Status PipelineBackward(const PipelinedLoop& loop,
                              const std::vector<PipelinedGather>& gathers,
                              IterationCopier& copier) {
  return BackwardPipeline(loop, gathers, copier).Run();
}

}  // namespace hlo

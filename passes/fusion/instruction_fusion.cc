#include "passes/fusion/instruction_fusion.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/reachability.h"
#include "lib/analysis/region.h"
#include "lib/support/decision.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/fusion_questions.h"
#include "passes/fusion/in_place_update.h"
#include "passes/fusion/index_evaluation.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr int kMostConcatenated = 8;
constexpr int64_t kLongRow = 128;            // of a concatenation along the contiguous dimension
constexpr int kMostReductions = 5;           // in a fusion that takes in one more
constexpr int64_t kVectorBytes = 16 * 1024;  // that a dot keeps at hand

bool IsVectorDot(const Instruction& dot) {
  return dot.opcode() == Opcode::kDot && !IsComplex(dot.shape().element_type()) &&
         dot.attrs<DotAttrs>().lhs_batch_dims.empty() && dot.shape().rank() <= 1;
}

// dot(x, y) + z  as an output fusion
bool IsDotIntoAdd(const Instruction& producer, const Instruction& consumer) {
  return consumer.opcode() == Opcode::kAdd && IsVectorDot(producer) && producer.use_count() == 1;
}

bool IsUnhandyConcatenate(const Instruction& concat) {
  if (concat.opcode() != Opcode::kConcatenate) return false;
  if (concat.operand_count() > kMostConcatenated) return true;
  const int64_t dim = concat.attrs<ConcatenateAttrs>().dimensions.value;
  const Shape shape = concat.shape();
  return shape.rank() > 1 && shape.has_layout() && shape.layout().minor_to_major[0] == dim &&
         shape.dim(static_cast<int>(dim)) >= kLongRow;
}

bool ConvertsToWider(const Instruction& x) {
  return x.opcode() == Opcode::kConvert &&
         BitWidth(x.shape().element_type()) > BitWidth(x.operand(0)->shape().element_type());
}

class ComputationFuser {
 public:
  ComputationFuser(Computation& computation, PassContext& context, bool may_duplicate)
      : computation_(computation), context_(context), may_duplicate_(may_duplicate) {}

  bool Run() {
    queue_ = computation_.PostOrder();
    for (size_t i = 0; i < queue_.size(); ++i) position_[queue_[i]] = i;
    KeepBesideMaximum();
    if (may_duplicate_) FindNotToDuplicate();
    bool changed = false;
    while (!queue_.empty()) {
      Instruction* consumer = queue_.back();
      queue_.pop_back();
      // What nobody reads is left to dce: a fusion of it would have no result.
      const bool is_read = consumer->is_used();
      if (consumer->is_dead() || !is_read || !CanBeFused(*consumer) ||
          (consumer->IsFusion() && consumer->attrs<FusionAttrs>().kind == FusionKind::kCustom))
        continue;
      for (int i : OperandsLatestFirst(*consumer)) {
        Instruction* producer = consumer->operand(i);
        if (!CanBeFused(*producer) || kept_.contains(producer)) continue;
        if (!context_.Allowed(*producer, ShouldFuse(*consumer, i))) continue;
        if (!context_.MayRewrite()) return changed;
        context_.Passed(*producer, "fused into `{}`", consumer->name());
        queue_.push_back(FuseInto(producer, consumer));
        context_.Count("fused");
        changed = true;
        break;
      }
    }
    return changed;
  }

 private:
  std::vector<int> OperandsLatestFirst(const Instruction& consumer) const {
    std::vector<int> order;
    for (int i = 0; i < consumer.operand_count(); ++i) order.push_back(i);
    const auto at = [&](int i) {
      const auto it = position_.find(consumer.operand(i));
      return it == position_.end() ? size_t{0} : it->second;
    };
    absl::c_stable_sort(order, [&](int a, int b) { return at(a) > at(b); });
    return order;
  }

  // x that feeds max(x) and exp(x - broadcast(max)): computed twice, it might round differently.
  void KeepBesideMaximum() {
    for (const Instruction* reduce : queue_) {
      if (reduce->opcode() != Opcode::kReduce || reduce->operand_count() != 2 ||
          CombinerOpcode(*reduce->to_apply()) != Opcode::kMaximum ||
          !HasTrait(reduce->operand(0)->opcode(), kElementwise))
        continue;
      const Instruction* x = reduce->operand(0);
      for (const Instruction* broadcast : reduce->users()) {
        if (broadcast->opcode() != Opcode::kBroadcast) continue;
        for (const Instruction* difference : broadcast->users()) {
          if (difference->opcode() != Opcode::kSubtract || difference->operand(0) != x) continue;
          for (const Instruction* user : difference->users()) {
            if (user->opcode() == Opcode::kExp) kept_.insert(x);
          }
        }
      }
    }
  }

  // ---- what to compute once ----

  // At most one operand is as large as the result.
  static bool IsAtMostUnary(const Instruction& x) {
    int large = 0;
    for (const Instruction* operand : x.operands()) {
      if (operand->opcode() == Opcode::kBroadcast || operand->opcode() == Opcode::kIota ||
          !operand->shape().IsArray())
        continue;
      if (operand->IsConstant() && operand->shape().IsEffectiveScalar()) continue;
      if (TrueRank(operand->shape()) >= TrueRank(x.shape())) ++large;
    }
    return large <= 1;
  }

  static bool ReadsMoreThanItGives(const Instruction& x) {
    absl::flat_hash_set<const Instruction*> operands;
    int64_t elements = 0;
    for (const Instruction* operand : x.operands()) {
      if (operand->shape().IsArray() && operands.insert(operand).second)
        elements += operand->shape().element_count();
    }
    return x.shape().IsArray() && elements > x.shape().element_count();
  }

  void FindNotToDuplicate() {
    std::optional<Reachability> reachability;
    for (size_t i = queue_.size(); i-- > 0;) {
      Instruction* producer = queue_[i];
      if (IsAtMostUnary(*producer) || !ReadsMoreThanItGives(*producer)) continue;
      const std::vector<Instruction*> users = producer->users();
      if (!reachability) reachability.emplace(computation_, /*matrix_limit=*/0);
      size_t last_place = 0;
      for (const Instruction* user : users)
        last_place = std::max(last_place, reachability->PlaceOf(user));
      reached_ = reachability->DependentsOf(producer, last_place);
      verdicts_.clear();
      if (CanBeFused(*producer) && absl::c_all_of(users, [&](const Instruction* user) {
            return FusesOnAllPaths(*producer, *user);
          }))
        continue;
      kept_.insert(producer);
    }
  }

  bool FusesOnAllPaths(const Instruction& producer, const Instruction& consumer) {
    if (&producer == &consumer) return true;
    if (const auto it = verdicts_.find(&consumer); it != verdicts_.end()) return it->second;
    // A tuple of thousands, say, need not be looked through for the operand that it does not take.
    bool fuses =
        CanBeFused(consumer) &&
        (consumer.IsFusion() || consumer.opcode() == Opcode::kDot || CanBeInLoop(consumer));
    for (int i = 0; fuses && i < consumer.operand_count(); ++i) {
      const Instruction* operand = consumer.operand(i);
      if (operand != &producer && !reached_.Has(operand)) continue;
      fuses = !kept_.contains(operand) && ShouldFuse(consumer, i) &&
              FusesOnAllPaths(producer, *operand);
    }
    verdicts_[&consumer] = fuses;
    return fuses;
  }

  // ---- legality and profit ----

  Decision ShouldFuse(const Instruction& consumer, int i) {
    const Instruction& producer = *consumer.operand(i);
    if (consumer.IsFusion() && !consumer.attrs<FusionAttrs>().output_to_operand_aliasing.empty())
      return No("`{}` writes over its operands", consumer.name());
    if (producer.IsConstant() && !producer.shape().IsEffectiveScalar())
      return No("it is a constant array");
    if (IsDotIntoAdd(producer, consumer)) return Yes();
    if (producer.opcode() == Opcode::kAdd &&
        absl::c_any_of(producer.operands(),
                       [&](const Instruction* x) { return IsDotIntoAdd(*x, producer); }))
      return No("it becomes an output fusion itself");
    if (!CanBeInLoop(producer)) return No("`{}` is no part of a loop", producer.opcode_text());
    if (IsUnhandyConcatenate(producer) || IsUnhandyConcatenate(consumer))
      return No("a large concatenation");
    if (IsExpensiveOnCpu(producer) && reads_.Reuses(consumer, i))
      return No("`{}` would compute its elements several times", consumer.name());
    if (const Decision decision = MayBeInside(producer, consumer); !decision) return decision;
    if (producer.opcode() == Opcode::kReduce && ReductionsIn(consumer) > kMostReductions)
      return No("`{}` has {} reductions already", consumer.name(), kMostReductions + 1);
    if (producer.IsConstant() && !consumer.IsFusion()) return No("a constant alone is no fusion");
    if (producer.IsFusion()) return No("it is a fusion");
    if (consumer.IsFusion()) {
      const IndexEvaluation& indices = IndicesIn(consumer);
      if (indices.IsTooOften(producer))
        return No("`{}` would compute it for {} indices", consumer.name(),
                  indices.IndicesOf(producer));
    }
    if (consumer.opcode() == Opcode::kDot && IsMatrixOfVectorDot(consumer, i)) return Yes();
    const bool loop = consumer.IsFusion() ? consumer.attrs<FusionAttrs>().kind == FusionKind::kLoop
                                          : CanBeInLoop(consumer);
    return loop ? Yes() : No("`{}` is no loop", consumer.name());
  }

  // Kept up to date as long as the fusion grows.
  const IndexEvaluation& IndicesIn(const Instruction& fusion) {
    const auto at = indices_.find(&fusion);
    return at != indices_.end() ? at->second : indices_.emplace(&fusion, fusion).first->second;
  }

  Decision MayBeInside(const Instruction& producer, const Instruction& consumer) const {
    if (producer.is_root()) return No("it is the result");
    if (HasSeveralUsers(producer) && (!may_duplicate_ || IsExpensiveOnCpu(producer)) &&
        producer.opcode() != Opcode::kBroadcast && !ConvertsToWider(producer))
      return No("it has several users and is expensive");
    return KeepsUpdateInPlace(producer, consumer);
  }

  static int ReductionsIn(const Instruction& consumer) {
    if (!consumer.IsFusion()) return consumer.opcode() == Opcode::kReduce ? 1 : 0;
    int count = 0;
    for (const Instruction* inner : consumer.fused_computation()->instructions())
      count += inner->opcode() == Opcode::kReduce ? 1 : 0;
    return count;
  }

  static bool IsMatrixOfVectorDot(const Instruction& dot, int i) {
    const Shape other = dot.operand(1 - i)->shape();
    return dot.shape().rank() <= 1 && other.rank() == 1 && other.byte_size() < kVectorBytes &&
           dot.operand(i)->shape().rank() == 2;
  }

  // ---- fusing ----

  Instruction* FuseInto(Instruction* producer, Instruction* consumer) {
    Instruction* fusion = consumer;
    if (!consumer->IsFusion()) {
      const bool output = IsDotIntoAdd(*producer, *consumer);
      const std::string name = fmt::format("{}_fusion", consumer->opcode_text());
      const auto at = position_.find(consumer);
      fusion = Fuse({&consumer, 1},
                    {.kind = output ? FusionKind::kOutput : FusionKind::kLoop, .name = name});
      if (at != position_.end()) position_[fusion] = size_t{at->second};
    }
    const Instruction* inside = Absorb(producer, fusion);
    if (const auto at = indices_.find(fusion); at != indices_.end())
      at->second.TakenIn(*producer, *inside);
    if (!producer->is_used()) computation_.Remove(producer);
    return fusion;
  }

  Computation& computation_;
  PassContext& context_;
  bool may_duplicate_;
  std::vector<Instruction*> queue_;  // taken from the back
  absl::flat_hash_map<const Instruction*, size_t> position_;
  absl::flat_hash_set<const Instruction*> kept_;  // never computed twice, so not fused
  Reachability::Dependents reached_;
  absl::flat_hash_map<const Instruction*, bool> verdicts_;
  absl::flat_hash_map<const Instruction*, IndexEvaluation> indices_;  // of fusions
  ElementReads reads_;
};

}  // namespace

absl::StatusOr<bool> InstructionFusion::Run(Module& module, PassContext& context) {
  return ChangesAny(context.ControlFlowComputations(module), [&](Computation& computation) {
    return ComputationFuser(computation, context, options_.may_duplicate).Run();
  });
}

HLO_DEFINE_PASS(InstructionFusion)

}  // namespace hlo

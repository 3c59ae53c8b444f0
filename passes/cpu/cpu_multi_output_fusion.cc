#include "passes/cpu/cpu_multi_output_fusion.h"

#include <algorithm>
#include <queue>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/reachability.h"
#include "passes/fusion/fuse.h"
#include "passes/simplify/dce.h"

namespace hlo {
namespace {

constexpr size_t kUserSlice = 128;     // users of one operand that are paired with each other
constexpr size_t kMaxDistance = 4096;  // between the places of a pair

bool IsMultiOutput(const Instruction& x) { return x.IsFusion() && x.shape().IsTuple(); }

bool IsLoopFusion(const Instruction& x) {
  if (!x.IsFusion() || x.attrs<FusionAttrs>().kind != FusionKind::kLoop ||
      !x.attrs<FusionAttrs>().output_to_operand_aliasing.empty())
    return false;
  const Computation& body = *x.fused_computation();
  if (body.callers().size() != 1 || body.MayHold(Opcode::kFusion)) return false;
  const std::vector<Instruction*> outputs = FusionOutputs(x);
  return !outputs.empty() && absl::c_all_of(outputs, [](const Instruction* y) {
    return y->shape().IsArray() && y->opcode() != Opcode::kDot && y->opcode() != Opcode::kScatter;
  });
}

bool IsFusibleLoop(const Instruction& x) {
  if (x.has_control_edges() || x.sharding() != nullptr || !x.is_used()) return false;
  if (!x.IsFusion())
    return HasTrait(x.opcode(), kElementwise) && x.operand_count() > 0 && x.shape().IsArray() &&
           !x.HasSideEffect();
  if (!IsLoopFusion(x)) return false;
  if (!IsMultiOutput(x)) return true;
  return !x.is_root() && absl::c_all_of(x.uses(), [](const Use& use) {
    return use.user->opcode() == Opcode::kGetTupleElement;
  });
}

// Operands that an output of a loop overwrites a part of.
std::vector<const Instruction*> OperandsInPlace(const Instruction& x) {
  std::vector<const Instruction*> result;
  if (!x.IsFusion()) return result;
  for (const Instruction* output : FusionOutputs(x)) {
    if (output->opcode() != Opcode::kDynamicUpdateSlice) continue;
    const Instruction* target = output->operand(0);
    while (target->opcode() == Opcode::kBitcast) target = target->operand(0);
    if (target->opcode() == Opcode::kParameter)
      result.push_back(x.operand(static_cast<int>(target->parameter_number())));
  }
  return result;
}

// Memory need be read for it, and more than once.
bool IsWorthSharing(const Instruction& operand) {
  if (operand.IsConstant() && operand.shape().IsEffectiveScalar()) return false;
  return operand.use_count() > 1;
}

std::vector<const Instruction*> SharedOperands(const Instruction& a, const Instruction& b) {
  absl::flat_hash_set<const Instruction*> of_a, seen;
  for (const Instruction* operand : a.operands()) of_a.insert(operand);
  std::vector<const Instruction*> shared;
  for (const Instruction* operand : b.operands()) {
    if (of_a.contains(operand) && seen.insert(operand).second && IsWorthSharing(*operand))
      shared.push_back(operand);
  }
  return shared;
}

int64_t BytesShared(const Instruction& a, const Instruction& b) {
  int64_t bytes = 0;
  for (const Instruction* operand : SharedOperands(a, b)) bytes += operand->shape().byte_size();
  return bytes;
}

class SiblingFuser {
 public:
  SiblingFuser(Computation& computation, PassContext& context, int64_t max_operands)
      : computation_(computation),
        context_(context),
        max_operands_(max_operands),
        reachability_(computation) {}

  bool Run() {
    FindPairs();
    bool changed = false;
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      Instruction *a = Stands(pair.a), *b = Stands(pair.b);
      if (a == b) continue;
      if (a != pair.a || b != pair.b) {
        Push(a, b);
        continue;
      }
      if (!MayMerge(*a, *b)) continue;
      if (reachability_.PlaceOf(a) < reachability_.PlaceOf(b)) std::swap(a, b);
      if (MustStayApart(b, a)) continue;
      if (!context_.MayRewrite()) return changed;
      const bool into_earlier = !a->IsFusion() || (IsMultiOutput(*b) && !IsMultiOutput(*a));
      Instruction *fusion = into_earlier ? b : a, *taken = into_earlier ? a : b;
      context_.Passed(*taken, "fused into `{}`", fusion->name());
      reachability_.Merge({b, a});
      reachability_.StandFor({fusion}, b);
      MergeOutputs(fusion, taken);
      taken_[taken] = fusion;
      context_.Count("fused");
      changed = true;
    }
    return changed;
  }

 private:
  struct Pair {
    int64_t bytes;
    int64_t number;  // of equal ones the last is taken first
    Instruction* a;
    Instruction* b;
    bool operator<(const Pair& other) const {
      return std::pair(bytes, number) < std::pair(other.bytes, other.number);
    }
  };

  void Push(Instruction* a, Instruction* b) {
    const int64_t bytes = BytesShared(*a, *b);
    if (bytes > 0) pairs_.push({bytes, next_number_++, a, b});
  }

  void FindPairs() {
    absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> users_of;
    for (Instruction* a : computation_.PostOrder()) {
      if (!a->IsFusion() || !IsFusibleLoop(*a)) continue;
      absl::flat_hash_set<const Instruction*> paired;
      for (const Instruction* operand : a->operands()) {
        if (!IsWorthSharing(*operand)) continue;
        std::vector<Instruction*>& users = users_of[operand];
        if (users.empty()) {
          users = operand->users();
          absl::c_sort(users, [&](const Instruction* x, const Instruction* y) {
            return reachability_.PlaceOf(x) < reachability_.PlaceOf(y);
          });
        }
        const size_t at = static_cast<size_t>(absl::c_find(users, a) - users.begin());
        const size_t begin = at / kUserSlice * kUserSlice;
        for (size_t i = begin; i < std::min(users.size(), begin + kUserSlice); ++i) {
          Instruction* b = users[i];
          if (b == a || (b->IsFusion() && i > at) || !MayMerge(*a, *b)) continue;
          if (paired.insert(b).second) Push(a, b);
        }
      }
    }
  }

  // The fusion that computes now what `x` did.
  Instruction* Stands(Instruction* x) const {
    for (auto at = taken_.find(x); at != taken_.end(); at = taken_.find(x)) x = at->second;
    return x;
  }

  // All that is asked of a pair but that neither needs the other.
  bool MayMerge(const Instruction& a, const Instruction& b) const {
    if (!a.IsFusion() && !b.IsFusion()) return false;
    if (!IsFusibleLoop(a) || !IsFusibleLoop(b)) return false;
    if (a.operand_count() >= max_operands_ || b.operand_count() >= max_operands_) return false;
    const Shape of_a = a.IsFusion() ? FusionOutputs(a)[0]->shape() : a.shape();
    const Shape of_b = b.IsFusion() ? FusionOutputs(b)[0]->shape() : b.shape();
    if (of_a != of_b) return false;
    const std::vector<const Instruction*> in_place = OperandsInPlace(a);
    const std::vector<const Instruction*> others = OperandsInPlace(b);
    return absl::c_none_of(in_place, [&](const Instruction* operand) {
      return absl::c_linear_search(others, operand);
    });
  }

  // Whether one needs the other, or they are too far apart to look.
  bool MustStayApart(const Instruction* earlier, const Instruction* later) const {
    return reachability_.PlaceOf(later) - reachability_.PlaceOf(earlier) >= kMaxDistance ||
           reachability_.DependsOn(later, earlier);
  }

  Computation& computation_;
  PassContext& context_;
  int64_t max_operands_;
  Reachability reachability_;
  std::priority_queue<Pair> pairs_;
  int64_t next_number_ = 0;
  absl::flat_hash_map<const Instruction*, Instruction*> taken_;  // into which fusion
};

}  // namespace

absl::StatusOr<bool> CpuMultiOutputFusion::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.ControlFlowComputations(module))
    changed |= SiblingFuser(*computation, context, options_.max_operands).Run();
  if (changed) RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return changed;
}

HLO_DEFINE_PASS(CpuMultiOutputFusion)

}  // namespace hlo

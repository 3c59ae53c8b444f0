#include "passes/collectives/collective_permute_cse.h"

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/reachability.h"
#include "lib/ir/builder.h"
#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

// Who sends to whom, in one order.
DevicePairs SortedPairs(const Instruction& permute) {
  DevicePairs pairs = permute.attrs<CollectivePermuteAttrs>().source_target_pairs;
  absl::c_sort(pairs);
  return pairs;
}

bool SendAlike(const Instruction& a, const Instruction& b) {
  return a.attrs<CollectivePermuteAttrs>().channel_id.has_value() ==
             b.attrs<CollectivePermuteAttrs>().channel_id.has_value() &&
         SortedPairs(a) == SortedPairs(b);
}

bool SendsSliceOf(const Instruction& permute, const Instruction* array) {
  const Instruction& sent = *permute.operand(0);
  return sent.opcode() == Opcode::kSlice && sent.operand(0) == array;
}

// Lets `large` no longer wait for `small`, or for what does; false where it needs its result.
bool FreeFrom(const Instruction* small, Instruction* large) {
  const Reachability before(*large->parent());
  if (!before.DependsOn(large, small)) return true;
  const auto predecessors = large->control_predecessors();
  for (Instruction* predecessor :
       std::vector<Instruction*>(predecessors.begin(), predecessors.end())) {
    if (predecessor == small || before.DependsOn(predecessor, small))
      large->RemoveControlPredecessor(predecessor);
  }
  return !Reachability(*large->parent()).DependsOn(large, small);
}

// What `small` gives, of the result of `large`, which holds it.
absl::StatusOr<Instruction*> PartOf(Instruction* large, const Instruction& small) {
  if (small.operand(0) == large->operand(0)) return large;
  Builder builder(&small);
  Instruction* const part =
      builder.OpWithShape(Opcode::kSlice, small.shape(), {large}, small.operand(0)->attrs_ptr());
  RETURN_IF_ERROR(builder.status());
  return part;
}

// Takes what `small` sends from `large`. With control edges it stays, without readers.
absl::Status TakeFrom(Instruction* large, Instruction* small, PassContext& context) {
  context.Passed(*small, "`{}` sends it, too", large->name());
  Computation& computation = *small->parent();
  Instruction* const operand = small->operand(0);
  ASSIGN_OR_RETURN(Instruction * part, PartOf(large, *small));
  part = CopyIfLayoutIsRead(part, *small);
  small->ReplaceAllUsesWith(part);
  if (small->is_root()) computation.set_root(part);
  context.Count("merged");
  if (small->has_control_edges()) return absl::OkStatus();
  computation.Remove(small);
  if (!operand->is_used() && operand->opcode() == Opcode::kSlice && !operand->has_control_edges())
    computation.RemoveUnused(operand);
  return absl::OkStatus();
}

class PermuteMerger {
 public:
  PermuteMerger(Computation& computation, PassContext& context) : context_(context) {
    for (Instruction* permute : computation.PostOrder()) {
      has_control_edges_ = has_control_edges_ || permute->has_control_edges();
      if (permute->opcode() == Opcode::kCollectivePermute && permute->operand_count() == 1 &&
          !permute->shape().has_dynamic_dims())
        permutes_.push_back(permute);
    }
    for (size_t i = 0; i < permutes_.size(); ++i) by_array_[permutes_[i]->operand(0)].push_back(i);
    for (size_t i = 0; i < permutes_.size(); ++i) {
      const Instruction& sent = *permutes_[i]->operand(0);
      if (sent.opcode() == Opcode::kSlice) by_array_[sent.operand(0)].push_back(i);
    }
  }

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (size_t i = 0; i < permutes_.size(); ++i) {
      for (const size_t j : PartnersOf(i)) {
        Instruction *const a = permutes_[i], *const b = permutes_[j];
        if (a == nullptr) break;
        if (b == nullptr || !a->has_uses() || !b->has_uses() || !SendAlike(*a, *b)) continue;
        const bool is_part = a->operand(0) != b->operand(0) && SendsSliceOf(*a, b->operand(0));
        const size_t small = is_part ? i : j, large = is_part ? j : i;
        if (!context_.MayRewrite()) return changed;
        // Without control edges what both read was there before either.
        if (has_control_edges_ && !FreeFrom(permutes_[small], permutes_[large])) continue;
        RETURN_IF_ERROR(TakeFrom(permutes_[large], permutes_[small], context_));
        permutes_[small] = nullptr;
        changed = true;
      }
    }
    return changed;
  }

 private:
  // Later ones that send what this one sends, a slice of it, or what it sends a slice of.
  std::vector<size_t> PartnersOf(size_t i) const {
    std::vector<size_t> partners;
    if (permutes_[i] == nullptr) return partners;
    const Instruction* const sent = permutes_[i]->operand(0);
    const auto add = [&](const Instruction* array, bool whole) {
      const auto it = by_array_.find(array);
      if (it == by_array_.end()) return;
      for (const size_t j : it->second) {
        if (j > i && permutes_[j] != nullptr && (!whole || permutes_[j]->operand(0) == array))
          partners.push_back(j);
      }
    };
    add(sent, /*whole=*/false);
    if (sent->opcode() == Opcode::kSlice) add(sent->operand(0), /*whole=*/true);
    absl::c_sort(partners);
    return partners;
  }

  PassContext& context_;
  bool has_control_edges_ = false;
  std::vector<Instruction*> permutes_;  // null: merged
  // Those that send an array or a slice of it; looked up only.
  absl::flat_hash_map<const Instruction*, std::vector<size_t>> by_array_;
};

}  // namespace

absl::StatusOr<bool> CollectivePermuteCse::RunOnComputation(Computation& computation,
                                                            PassContext& context) {
  if (!computation.MayHold(Opcode::kCollectivePermute)) return false;
  return PermuteMerger(computation, context).Run();
}

HLO_DEFINE_PASS(CollectivePermuteCse)

}  // namespace hlo

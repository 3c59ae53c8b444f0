#include "passes/collectives/collective_permute_cse.h"

#include "absl/container/flat_hash_map.h"
#include "lib/ir/builder.h"
#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

// A part of an array: [starts, limits), by steps.
struct Part {
  Instruction* array = nullptr;
  std::vector<int64_t> starts;
  std::vector<int64_t> limits;
  std::vector<int64_t> strides;

  bool IsSame(const Part& other) const {
    return array == other.array && starts == other.starts && limits == other.limits &&
           strides == other.strides;
  }

  bool Holds(const Part& other) const {
    if (IsSame(other)) return true;
    if (array != other.array) return false;
    for (size_t d = 0; d < starts.size(); ++d) {
      if (strides[d] != 1 || other.starts[d] < starts[d] || other.limits[d] > limits[d])
        return false;
    }
    return true;
  }
};

Part PartOf(Instruction* value) {
  Part part;
  part.array = value;
  if (value->opcode() == Opcode::kSlice) {
    part.array = value->operand(0);
    for (const SliceRange& range : value->attrs<SliceAttrs>().slice) {
      part.starts.push_back(range.start);
      part.limits.push_back(range.limit);
      part.strides.push_back(range.stride);
    }
    return part;
  }
  part.starts.assign(static_cast<size_t>(value->shape().rank()), 0);
  part.limits.assign(value->shape().dims().begin(), value->shape().dims().end());
  part.strides.assign(part.starts.size(), 1);
  return part;
}

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

struct Sent {
  Instruction* permute;
  Part part;
};

// Takes what `small` sends from the result of `large`, which holds it.
absl::Status TakeFrom(const Sent& large, const Sent& small, PassContext& context) {
  context.Passed(*small.permute, "`{}` sends it, too", large.permute->name());
  Computation& computation = *small.permute->parent();
  Instruction* value = large.permute;
  if (!small.part.IsSame(large.part)) {
    std::vector<int64_t> starts = small.part.starts, limits = small.part.limits;
    for (size_t d = 0; d < starts.size(); ++d) {
      starts[d] -= large.part.starts[d];
      limits[d] -= large.part.starts[d];
    }
    Builder builder(&computation, small.permute);
    value = builder.Slice(value, starts, limits, small.part.strides);
    RETURN_IF_ERROR(builder.status());
  }
  Instruction* operand = small.permute->operand(0);
  computation.Replace(small.permute, CopyIfLayoutIsRead(value, *small.permute));
  if (!operand->is_used() && operand->opcode() == Opcode::kSlice && !operand->has_control_edges())
    computation.RemoveUnused(operand);
  context.Count("merged");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> CollectivePermuteCse::RunOnComputation(Computation& computation,
                                                            PassContext& context) {
  if (!computation.MayHold(Opcode::kCollectivePermute)) return false;
  absl::flat_hash_map<const Instruction*, std::vector<Sent>> sent_of;  // looked up only
  bool changed = false;
  for (Instruction* permute : computation.PostOrder()) {
    if (permute->opcode() != Opcode::kCollectivePermute || permute->operand_count() != 1 ||
        permute->has_control_edges() || permute->shape().has_dynamic_dims())
      continue;
    const Sent sent = {permute, PartOf(permute->operand(0))};
    std::vector<Sent>& all = sent_of[sent.part.array];
    const auto holder = absl::c_find_if(all, [&](const Sent& earlier) {
      return earlier.part.Holds(sent.part) && SendAlike(*earlier.permute, *permute);
    });
    if (holder != all.end()) {
      if (!context.MayRewrite()) return changed;
      RETURN_IF_ERROR(TakeFrom(*holder, sent, context));
      changed = true;
      continue;
    }
    // Earlier ones of parts: what both read was there before either, so that nothing goes round.
    for (auto earlier = all.begin(); earlier != all.end();) {
      if (!sent.part.Holds(earlier->part) || !SendAlike(*earlier->permute, *permute)) {
        ++earlier;
        continue;
      }
      if (!context.MayRewrite()) return changed;
      RETURN_IF_ERROR(TakeFrom(sent, *earlier, context));
      earlier = all.erase(earlier);
      changed = true;
    }
    all.push_back(sent);
  }
  return changed;
}

HLO_DEFINE_PASS(CollectivePermuteCse)

}  // namespace hlo

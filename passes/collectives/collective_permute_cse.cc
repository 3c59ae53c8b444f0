#include "passes/collectives/collective_permute_cse.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/builder.h"

namespace hlo {
namespace {

// A part of an array: [starts, limits).
struct Part {
  Instruction* array = nullptr;
  std::vector<int64_t> starts;
  std::vector<int64_t> limits;

  bool Holds(const Part& other) const {
    if (array != other.array) return false;
    for (size_t d = 0; d < starts.size(); ++d) {
      if (other.starts[d] < starts[d] || other.limits[d] > limits[d]) return false;
    }
    return true;
  }
};

Part PartOf(Instruction* value) {
  Part part;
  part.array = value;
  if (value->opcode() == Opcode::kSlice) {
    for (const SliceRange& range : value->attrs<SliceAttrs>().slice) {
      if (range.stride != 1) break;
      part.starts.push_back(range.start);
      part.limits.push_back(range.limit);
    }
    if (static_cast<int>(part.starts.size()) == value->shape().rank()) {
      part.array = value->operand(0);
      return part;
    }
  }
  part.starts.assign(static_cast<size_t>(value->shape().rank()), 0);
  part.limits.assign(value->shape().dims().begin(), value->shape().dims().end());
  return part;
}

bool SendAlike(const Instruction& a, const Instruction& b) {
  const auto& mine = a.attrs<CollectivePermuteAttrs>();
  const auto& other = b.attrs<CollectivePermuteAttrs>();
  return mine.channel_id.has_value() == other.channel_id.has_value() &&
         mine.source_target_pairs == other.source_target_pairs;
}

}  // namespace

absl::StatusOr<bool> CollectivePermuteCse::RunOnComputation(Computation& computation,
                                                            PassContext& context) {
  if (!computation.MayHold(Opcode::kCollectivePermute)) return false;
  struct Sent {
    Instruction* permute;
    Part part;
  };
  absl::flat_hash_map<const Instruction*, std::vector<Sent>> sent_of;  // looked up only
  bool changed = false;
  for (Instruction* permute : computation.PostOrder()) {
    if (permute->opcode() != Opcode::kCollectivePermute || permute->operand_count() != 1 ||
        permute->has_control_edges() || permute->shape().has_dynamic_dims())
      continue;
    const Part part = PartOf(permute->operand(0));
    std::vector<Sent>& all = sent_of[part.array];
    const auto earlier = std::find_if(all.begin(), all.end(), [&](const Sent& sent) {
      return sent.part.Holds(part) && SendAlike(*sent.permute, *permute);
    });
    if (earlier == all.end()) {
      all.push_back({permute, part});
      continue;
    }
    if (!context.MayRewrite()) return changed;
    context.Passed(*permute, "`{}` sends it already", earlier->permute->name());
    Instruction* value = earlier->permute;
    if (part.limits != earlier->part.limits || part.starts != earlier->part.starts) {
      std::vector<int64_t> starts = part.starts, limits = part.limits;
      for (size_t d = 0; d < starts.size(); ++d) {
        starts[d] -= earlier->part.starts[d];
        limits[d] -= earlier->part.starts[d];
      }
      Builder builder(&computation);
      builder.set_origin(permute);
      value = builder.Slice(value, starts, limits);
      RETURN_IF_ERROR(builder.status());
    }
    Instruction* operand = permute->operand(0);
    computation.Replace(permute, value);
    if (!operand->is_used() && operand->opcode() == Opcode::kSlice && !operand->has_control_edges())
      computation.RemoveUnused(operand);
    context.Count("merged");
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(CollectivePermuteCse)

}  // namespace hlo

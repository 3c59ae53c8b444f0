#include "passes/collectives/all_reduce_combiner.h"

#include <algorithm>
#include <map>

#include "lib/analysis/reachability.h"
#include "lib/analysis/region.h"
#include "passes/rewrite.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

// The all-reduces of one computation.
class Combiner {
 public:
  Combiner(Computation& computation, PassContext& context, const AllReduceCombinerOptions& options)
      : computation_(computation), context_(context), options_(options) {}

  absl::StatusOr<bool> Run() {
    Collect();
    bool changed = false;
    for (auto& [key, members] : groups_) {
      while (members.size() > 1) {
        if (!reachability_)
          reachability_ =
              context_.analyses().Get<Reachabilities>(computation_.module()).Of(computation_);
        const std::vector<Instruction*> chosen = Choose(members);
        if (chosen.size() < 2) continue;
        if (!context_.MayRewrite()) return changed;
        RETURN_IF_ERROR(Combine(chosen));
        context_.Count("combined", static_cast<int64_t>(chosen.size()));
        changed = true;
      }
    }
    return changed;
  }

 private:
  static std::string KeyOf(const Instruction& reduce) {
    const auto& attrs = reduce.attrs<AllReduceAttrs>();
    return fmt::format("{} {} {} {} {}", Text(*CombinerOpcode(*reduce.to_apply())),
                       Text(reduce.shape().element_type()), attrs.channel_id.has_value(),
                       attrs.use_global_device_ids, attrs.replica_groups.ToString(true));
  }

  void Collect() {
    const std::vector<Instruction*> order = computation_.PostOrder();
    for (const Instruction* instruction : order) {
      if (instruction->opcode() == Opcode::kDomain) return;
    }
    for (Instruction* reduce : order) {
      if (reduce->opcode() != Opcode::kAllReduce || reduce->has_control_edges() ||
          reduce->operand_count() != 1 || !reduce->shape().IsArray() ||
          !CombinerOpcode(*reduce->to_apply()) ||
          !FrontendAttribute(*reduce, "_scheduling_group_id").empty() ||
          reduce->shape().byte_size() > options_.combine_threshold_in_bytes)
        continue;
      groups_[KeyOf(*reduce)].push_back(reduce);
    }
  }

  // Takes from `members` the first one and those that go with it.
  std::vector<Instruction*> Choose(std::vector<Instruction*>& members) const {
    std::vector<Instruction*> chosen;
    int64_t bytes = 0;
    for (Instruction* member : members) {
      bytes += member->shape().byte_size();
      if (bytes > options_.combine_threshold_in_bytes ||
          static_cast<int64_t>(chosen.size()) >= options_.combine_threshold_count ||
          NeedsOneOf(*member, chosen))
        break;
      chosen.push_back(member);
    }
    if (chosen.empty()) chosen.push_back(members[0]);
    members.erase(members.begin(), members.begin() + static_cast<int64_t>(chosen.size()));
    return chosen;
  }

  bool NeedsOneOf(const Instruction& member, const std::vector<Instruction*>& chosen) const {
    return std::any_of(chosen.begin(), chosen.end(), [&](const Instruction* other) {
      return reachability_->DependsOn(&member, other);
    });
  }

  absl::Status Combine(const std::vector<Instruction*>& chosen) {
    reachability_->Merge(chosen);
    const uint32_t first_new = computation_.module().id_limit();
    Instruction* first = chosen[0];
    Builder builder(&computation_);
    builder.set_origin(first);
    std::vector<Instruction*> operands;
    std::vector<Shape> shapes;
    for (const Instruction* member : chosen) {
      operands.push_back(member->operand(0));
      shapes.push_back(member->shape());
    }
    Instruction* all = builder.OpWithShape(Opcode::kAllReduce, Shape::Tuple(shapes), operands,
                                           first->attrs_ptr(), {first->to_apply()});
    reachability_->StandsFor(all, first);
    if (std::any_of(chosen.begin(), chosen.end(),
                    [](const Instruction* member) { return member->sharding() != nullptr; })) {
      std::vector<Sharding::Leaf> leaves;
      for (const Instruction* member : chosen)
        leaves.push_back(member->sharding() != nullptr ? member->sharding()->leaves[0]
                                                       : Sharding::Replicated().leaves[0]);
      all->mutable_extras().sharding = Sharding::Tuple(std::move(leaves));
    }
    for (size_t i = 0; i < chosen.size(); ++i) {
      builder.set_origin(chosen[i]);
      Instruction* element = builder.GetTupleElement(all, static_cast<int64_t>(i));
      RETURN_IF_ERROR(builder.status());
      ReplaceKeepingExtras(chosen[i], element, first_new);
    }
    return builder.status();
  }

  Computation& computation_;
  PassContext& context_;
  const AllReduceCombinerOptions& options_;
  std::map<std::string, std::vector<Instruction*>> groups_;  // in post-order
  std::optional<Reachability> reachability_;                 // when there is something to combine
};

}  // namespace

absl::StatusOr<bool> AllReduceCombiner::Run(Module& module, PassContext& context) {
  if (options_.combine_threshold_in_bytes <= 0 || options_.combine_threshold_count <= 0)
    return false;
  const std::vector<Computation*> computations = context.NonFusionComputations(module);
  for (const Computation* computation : computations) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kAllReduce &&
          instruction->attrs<AllReduceAttrs>().constrain_layout)
        return false;
    }
  }
  bool changed = false;
  for (Computation* computation : computations) {
    ASSIGN_OR_RETURN(const bool combined, Combiner(*computation, context, options_).Run());
    changed |= combined;
  }
  return changed;
}

HLO_DEFINE_PASS(AllReduceCombiner)

}  // namespace hlo

#include "passes/collectives/collective_combiner.h"

#include <algorithm>
#include <limits>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/reachability.h"
#include "passes/collectives/merge_notes.h"
#include "passes/rewrite.h"
#include "passes/util/domain_map.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

// Computations of a loop that nobody else calls.
bool IsOfLoop(const Computation& computation) {
  const auto callers = computation.callers();
  return callers.size() == 1 && callers[0].caller->opcode() == Opcode::kWhile;
}

// Along which a gather or a scatter divides its arrays; none for others.
std::optional<int64_t> DividedDimension(const Instruction& collective) {
  const AttrsPtr& attrs = collective.attrs_ptr();
  if (attrs.Is<AllGatherAttrs>()) return attrs.Get<AllGatherAttrs>().dimensions.value;
  if (attrs.Is<ReduceScatterAttrs>()) return attrs.Get<ReduceScatterAttrs>().dimensions.value;
  return std::nullopt;
}

AttrsPtr AttrsAlong(const Instruction& collective, int64_t dimension) {
  if (collective.attrs_ptr().Is<AllGatherAttrs>()) {
    AllGatherAttrs attrs = collective.attrs<AllGatherAttrs>();
    attrs.dimensions.value = dimension;
    return AttrsPtr::Make(std::move(attrs));
  }
  ReduceScatterAttrs attrs = collective.attrs<ReduceScatterAttrs>();
  attrs.dimensions.value = dimension;
  return AttrsPtr::Make(std::move(attrs));
}

// The dimension that most of them have, the first of those; 0 where one of them does not have it.
std::optional<int64_t> MostFrequentDimension(const std::vector<Instruction*>& collectives) {
  std::map<int64_t, int64_t> counts;
  int64_t lowest_rank = std::numeric_limits<int64_t>::max();
  for (const Instruction* collective : collectives) {
    const std::optional<int64_t> dimension = DividedDimension(*collective);
    if (!dimension) return std::nullopt;
    ++counts[*dimension];
    lowest_rank = std::min<int64_t>(lowest_rank, collective->shape().rank());
  }
  const auto most =
      absl::c_max_element(counts, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first < lowest_rank ? most->first : 0;
}

// `shape` with two dimensions swapped, at the same places in memory.
Shape WithSwapped(Shape shape, int64_t a, int64_t b) {
  Layout layout = shape.has_layout() ? shape.layout() : Layout::RowMajor(shape.rank());
  for (int64_t& d : layout.minor_to_major) d = d == a ? b : d == b ? a : d;
  DimVec sizes(shape.dims().begin(), shape.dims().end());
  std::swap(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(b)]);
  return Shape::Array(shape.element_type(), sizes).WithLayout(layout);
}

// The collectives of one computation.
class Combiner {
 public:
  Combiner(Computation& computation, Opcode opcode, const CombineKey& key,
           const CombineLimits& limits, PassContext& context)
      : computation_(computation), opcode_(opcode), key_(key), limits_(limits), context_(context) {}

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
  // What the domains around each instruction say; false where they contradict each other.
  bool CollectDomains() {
    if (!computation_.MayHold(Opcode::kDomain)) return true;
    for (const Domain& domain : FindDomains(computation_)) {
      const absl::StatusOr<Sharding> sharding = ShardingOfDomain(domain);
      if (!sharding.ok()) return false;
      for (const Instruction* member : domain.instructions)
        domains_[member] = IsAbsent(*sharding) ? "" : sharding->ToString();
    }
    return true;
  }

  void Collect() {
    if (!CollectDomains()) return;
    for (Instruction* collective : computation_.PostOrder()) {
      if (collective->opcode() != opcode_ || collective->has_control_edges() ||
          collective->operand_count() != 1 || !collective->shape().IsArray() ||
          !FrontendAttribute(*collective, "_scheduling_group_id").empty() ||
          collective->shape().byte_size() > limits_.bytes)
        continue;
      const std::string key = key_(*collective);
      if (key.empty()) continue;
      const auto domain = domains_.find(collective);
      groups_[domain == domains_.end() ? key : key + " " + domain->second].push_back(collective);
    }
  }

  // Takes from `members` the first one and those that go with it.
  std::vector<Instruction*> Choose(std::vector<Instruction*>& members) const {
    std::vector<Instruction*> chosen;
    // Either way: what was combined before makes earlier members need later ones.
    Reachability::Neighbours connected(*reachability_);  // with those chosen
    int64_t bytes = 0;
    for (Instruction* member : members) {
      bytes += member->shape().byte_size();
      if (bytes > limits_.bytes || static_cast<int64_t>(chosen.size()) >= limits_.count ||
          connected.Has(member))
        break;
      chosen.push_back(member);
      connected.Add(member);
    }
    if (chosen.empty()) chosen.push_back(members[0]);
    members.erase(members.begin(), members.begin() + static_cast<int64_t>(chosen.size()));
    return chosen;
  }

  // Of permutes nothing stays, as in XLA: what a program says of one need not hold for several.
  void SetNotes(const std::vector<Instruction*>& chosen, Instruction* all) const {
    const bool has_notes = opcode_ != Opcode::kCollectivePermute;
    const OpMetadata metadata = has_notes ? MergedMetadata(chosen) : OpMetadata();
    if (all->metadata() != metadata) all->set_metadata(metadata);
    if (!has_notes) return;
    if (FrontendAttributes merged = MergedFrontendAttributes(chosen); !merged.empty())
      all->mutable_extras().frontend_attributes = std::move(merged);
  }

  absl::Status Combine(const std::vector<Instruction*>& chosen) {
    reachability_->Merge(chosen);
    const uint32_t first_new = computation_.module().id_limit();
    Instruction* first = chosen[0];
    Builder builder(&computation_, first);
    const std::optional<int64_t> dimension = MostFrequentDimension(chosen);
    const auto is_turned = [&](const Instruction& member) {
      return dimension && DividedDimension(member) != dimension;
    };
    std::vector<Instruction*> operands;
    std::vector<const Instruction*> made;
    std::vector<Shape> shapes;
    for (const Instruction* member : chosen) {
      Instruction* operand = member->operand(0);
      Shape shape = member->shape();
      if (is_turned(*member)) {
        const int64_t own = *DividedDimension(*member);
        operand = builder.Bitcast(operand, WithSwapped(operand->shape(), *dimension, own));
        made.push_back(operand);
        shape = WithSwapped(shape, *dimension, own);
      }
      operands.push_back(operand);
      shapes.push_back(shape);
    }
    const std::vector<Computation*> calls = first->calls();
    const AttrsPtr attrs = is_turned(*first) ? AttrsAlong(*first, *dimension) : first->attrs_ptr();
    Instruction* all = builder.OpWithShape(opcode_, Shape::Tuple(shapes), operands, attrs, calls);
    made.push_back(all);
    SetNotes(chosen, all);
    if (absl::c_any_of(chosen,
                       [](const Instruction* member) { return member->sharding() != nullptr; })) {
      std::vector<Sharding::Leaf> leaves;
      for (const Instruction* member : chosen)
        leaves.push_back(member->sharding() != nullptr ? member->sharding()->leaves[0]
                                                       : Sharding::Replicated().leaves[0]);
      all->set_sharding(Sharding::Tuple(std::move(leaves)));
    }
    for (size_t i = 0; i < chosen.size(); ++i) {
      builder.set_origin(chosen[i]);
      Instruction* element = builder.GetTupleElement(all, static_cast<int64_t>(i));
      made.push_back(element);
      if (is_turned(*chosen[i])) {
        element = builder.Bitcast(element, chosen[i]->shape());
        made.push_back(element);
      }
      RETURN_IF_ERROR(builder.status());
      ReplaceKeepingExtras(chosen[i], element, first_new);
    }
    reachability_->StandFor(made, first);
    return builder.status();
  }

  Computation& computation_;
  Opcode opcode_;
  const CombineKey& key_;
  const CombineLimits& limits_;
  PassContext& context_;
  absl::flat_hash_map<const Instruction*, std::string> domains_;  // looked up only
  std::map<std::string, std::vector<Instruction*>> groups_;       // in post-order
  std::optional<Reachability> reachability_;  // when there is something to combine
};

}  // namespace

absl::StatusOr<bool> CombineCollectives(Module& module, Opcode opcode, const CombineKey& key,
                                        const CombineLimits& limits, PassContext& context) {
  if (limits.bytes <= 0 || limits.count <= 0) return false;
  return ChangesAny(context.NonFusionComputations(module, {opcode}),
                    [&](Computation& computation) -> absl::StatusOr<bool> {
                      if (!limits.in_loops && IsOfLoop(computation)) return false;
                      return Combiner(computation, opcode, key, limits, context).Run();
                    });
}

}  // namespace hlo

#include "passes/sharding/domain_remover.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "lib/analysis/leaves.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/one_sharding.h"
#include "passes/rewrite.h"
#include "passes/util/caller_sharding.h"
#include "passes/util/sharding_fit.h"

namespace hlo {
namespace {

using LeafShardings = std::vector<std::optional<Sharding::Leaf>>;

// The same leaf for every array of `shape`.
Sharding SameForAll(const Sharding::Leaf& leaf, Shape shape) {
  if (!shape.IsTuple()) return Sharding::Of(leaf);
  return Sharding::Tuple(std::vector<Sharding::Leaf>(static_cast<size_t>(LeafCount(shape)), leaf));
}

// What is known of the leaves of instructions that may get no sharding in the end.
using Known = absl::flat_hash_map<const Instruction*, LeafShardings>;

LeafShardings LeavesOf(const Sharding& sharding, int64_t count) {
  LeafShardings leaves(static_cast<size_t>(count));
  // A single one is that of all.
  const bool is_single = !sharding.is_tuple && sharding.leaves.size() == 1;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (is_single || i < sharding.leaves.size()) leaves[i] = sharding.leaves[is_single ? 0 : i];
  }
  return leaves;
}

LeafShardings KnownOf(const Instruction& instruction, const Known& known) {
  const int64_t count = LeafCount(instruction.shape());
  if (instruction.sharding() != nullptr) return LeavesOf(*instruction.sharding(), count);
  const auto found = known.find(&instruction);
  return found == known.end() ? LeafShardings() : found->second;
}

// Takes `count` leaves of a user, from `first` on, for those of its operand from `to` on. Returns
// whether they contradict what is known.
bool TakeLeaves(const LeafShardings& user, int64_t first, int64_t to, int64_t count,
                LeafShardings& mine) {
  for (int64_t i = 0; i < count; ++i) {
    if (static_cast<size_t>(first + i) >= user.size()) break;
    const std::optional<Sharding::Leaf>& leaf = user[static_cast<size_t>(first + i)];
    if (!leaf.has_value()) continue;
    std::optional<Sharding::Leaf>& own = mine[static_cast<size_t>(to + i)];
    if (own.has_value() && !(*own == *leaf)) return true;
    own = leaf;
  }
  return false;
}

// An array that is read by an instruction of another shape is where that is, not divided as it is.
bool IsSameForAnyShape(const LeafShardings& leaves) {
  return absl::c_all_of(leaves, [](const std::optional<Sharding::Leaf>& leaf) {
    const auto* tiled = leaf.has_value() ? std::get_if<TiledSharding>(&*leaf) : nullptr;
    return tiled != nullptr && tiled->kind != TiledSharding::Kind::kTiled;
  });
}

// What users say of the leaves of an instruction without a sharding, inside of a domain with
// `told`; none where they contradict each other.
LeafShardings FromUsers(const Instruction& instruction, const Sharding& told, const Known& known) {
  const Shape shape = instruction.shape();
  const int64_t count = LeafCount(shape);
  if (!instruction.has_uses()) {
    const bool fits = shape.IsTuple() && FitLeaves(told.leaves, shape);
    return fits ? LeavesOf(told, count) : LeafShardings();
  }
  LeafShardings mine(static_cast<size_t>(count));
  for (const Use& use : instruction.uses()) {
    const Instruction& user = *use.user;
    if (user.opcode() == Opcode::kDomain)
      return LeavesOf(user.attrs<DomainAttrs>().domain.exit, count);
    const LeafShardings of_user = KnownOf(user, known);
    if (of_user.empty()) continue;
    bool conflict = false;
    if (user.opcode() == Opcode::kTuple) {
      conflict = TakeLeaves(of_user, FirstLeaf(user.shape(), use.operand_index), 0, count, mine);
    } else if (user.opcode() == Opcode::kGetTupleElement) {
      conflict = TakeLeaves(of_user, 0, FirstLeaf(shape, user.tuple_index()),
                            LeafCount(user.shape()), mine);
    } else if (SameDimensions(user.shape(), shape) ||
               (shape.IsArray() && user.shape().IsArray() && IsSameForAnyShape(of_user))) {
      conflict = TakeLeaves(of_user, 0, 0, count, mine);
    }
    if (conflict) return {};
  }
  return mine;
}

// The sharding of these leaves, if all are known.
std::optional<Sharding> WholeSharding(const LeafShardings& known, Shape shape) {
  std::vector<Sharding::Leaf> leaves;
  for (const std::optional<Sharding::Leaf>& leaf : known) {
    if (!leaf.has_value()) return std::nullopt;
    leaves.push_back(*leaf);
  }
  if (leaves.empty()) return std::nullopt;
  return shape.IsTuple() ? Sharding::Tuple(std::move(leaves)) : Sharding::Of(leaves[0]);
}

// The one sharding of all instructions that have one; null if there are several, or none.
const Sharding* AgreedSharding(const Domain& domain) {
  const Sharding* common = nullptr;
  for (const Instruction* instruction : domain.instructions) {
    if (instruction->sharding() == nullptr) continue;
    if (common == nullptr) {
      common = instruction->sharding();
      continue;
    }
    if (!SameDomainSharding(*common, *instruction->sharding())) return nullptr;
  }
  return common;
}

// All that hold the value that the instruction holds: the result of a conditional may be another's
// that is the result of a branch of a third.
std::vector<const Instruction*> HoldersOfValue(const Instruction& instruction) {
  std::vector<const Instruction*> holders = {&instruction};
  const auto add = [&holders](const Instruction* other) {
    if (!absl::c_linear_search(holders, other)) holders.push_back(other);
  };
  for (size_t i = 0; i < holders.size(); ++i) {
    const Instruction& holder = *holders[i];
    absl::c_for_each(DividedLike(holder), add);
    if (!holder.is_root() && holder.opcode() != Opcode::kParameter) continue;
    for (const CallSite& site : holder.parent()->callers()) {
      if (absl::c_linear_search(DividedLike(*site.caller), &holder)) add(site.caller);
    }
  }
  return holders;
}

// Makes of `mine` what is said of the value that the instruction holds, if anything is, or none
// where those who hold it contradict each other.
void AgreeWithHolders(const Instruction& instruction, std::optional<Sharding>& mine) {
  const Sharding* said = nullptr;
  for (const Instruction* holder : HoldersOfValue(instruction)) {
    if (holder->sharding() == nullptr) continue;
    if (said != nullptr && !(*said == *holder->sharding())) return mine.reset();
    said = holder->sharding();
  }
  if (said != nullptr) mine = *said;
}

int64_t Normalize(const Domain& domain, const Sharding& told) {
  int64_t set = 0;
  const bool is_told = !domain.entered_by.empty() || !domain.left_by.empty();
  if (is_told && IsAbsent(told)) return 0;  // that there is none
  const Sharding* sharding = is_told ? &told : AgreedSharding(domain);
  if (sharding == nullptr) return 0;
  Known known;
  const Sharding::Leaf* const single = SingleLeaf(*sharding);
  const std::optional<Sharding::Leaf> leaf =
      single != nullptr ? std::optional(*single) : std::nullopt;
  for (size_t i = domain.instructions.size(); i-- > 0;) {
    Instruction* instruction = domain.instructions[i];
    if (instruction->sharding() != nullptr) continue;
    std::optional<Sharding> mine;
    if (!leaf) {
      LeafShardings leaves = FromUsers(*instruction, *sharding, known);
      mine = WholeSharding(leaves, instruction->shape());
      known[instruction] = std::move(leaves);
    } else if (FitsAll(*leaf, instruction->shape())) {
      mine = SameForAll(*leaf, instruction->shape());
    }
    AgreeWithHolders(*instruction, mine);
    if (!mine) continue;
    instruction->set_sharding(std::move(*mine));
    ++set;
  }
  return set;
}

// `value` by way of a tuple, from which it comes with this sharding.
Instruction* ThroughTuple(Instruction* value, const Sharding& sharding) {
  Builder builder(value);
  Instruction* tuple = builder.Tuple({value});
  Instruction* element = builder.GetTupleElement(tuple, 0);
  const Sharding::Leaf* single = SingleLeaf(sharding);
  const bool fits = FitLeaves(sharding.leaves, element->shape());
  if (single != nullptr) {
    element->set_sharding(SameForAll(*single, element->shape()));
  } else if (element->shape().IsTuple() && fits) {
    element->set_sharding(sharding);
  }
  return element;
}

// A domain of no instructions: its sharding needs some.
void KeepCrossing(const Domain& domain, const Sharding& told) {
  if (!domain.is_empty() || IsAbsent(told)) return;
  Instruction* const from = domain.entered_by[0];
  if (!domain.left_by.empty()) {
    domain.left_by[0]->ReplaceOperand(0, ThroughTuple(from, told));
  } else if (from->is_root()) {
    from->parent()->set_root(ThroughTuple(from, told));
    DropShardingThatCallersContradict(*from->parent());
  }
}

}  // namespace

absl::StatusOr<bool> DomainRemover::RunOnComputation(Computation& computation,
                                                     PassContext& context) {
  RETURN_IF_ERROR(CheckDomainKind(options_));
  if (computation.is_fusion() || IsAsyncBody(computation) || !context.MayRewrite()) return false;
  bool changed = false;
  const std::vector<Domain> domains = FindDomains(computation);
  std::vector<Sharding> told;
  for (const Domain& domain : domains) {
    ASSIGN_OR_RETURN(Sharding sharding, ShardingOfDomain(domain));
    told.push_back(std::move(sharding));
  }
  for (size_t i = 0; i < domains.size(); ++i) {
    const int64_t set = Normalize(domains[i], told[i]);
    context.Count("shardings", set);
    changed |= set > 0;
    KeepCrossing(domains[i], told[i]);
  }
  for (Instruction* domain : computation.PostOrder()) {
    if (domain->opcode() != Opcode::kDomain) continue;
    context.Passed(*domain, "removed");
    ReplaceKeepingExtras(domain, domain->operand(0), computation.module().id_limit());
    context.Count("removed");
    changed = true;
  }
  return changed;
}

HLO_DEFINE_PASS(DomainRemover)

}  // namespace hlo

#include "passes/sharding/domain_remover.h"

#include <algorithm>
#include <optional>

#include "lib/analysis/leaves.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

using LeafShardings = std::vector<std::optional<Sharding::Leaf>>;

// Whether every array of `shape` can be divided like this: tiles are of as many dimensions.
bool FitsAll(const Sharding::Leaf& leaf, Shape shape) {
  bool fits = true;
  ForEachLeaf(shape, [&](Shape array, const ShapeIndex&) {
    const int64_t rank = array.IsArray() ? array.rank() : 0;
    if (const auto* tiled = std::get_if<TiledSharding>(&leaf)) {
      fits &= tiled->kind != TiledSharding::Kind::kTiled || tiled->data_rank() == rank;
    } else {
      const std::vector<NamedSharding::Dim>& dims = std::get<NamedSharding>(leaf).dims;
      fits &= dims.empty() || std::ssize(dims) == rank;
    }
  });
  return fits;
}

// The same leaf for every array of `shape`.
Sharding SameForAll(const Sharding::Leaf& leaf, Shape shape) {
  if (!shape.IsTuple()) return Sharding::Of(leaf);
  return Sharding::Tuple(std::vector<Sharding::Leaf>(static_cast<size_t>(LeafCount(shape)), leaf));
}

// The sharding of leaf `i` of a value of `shape`; a single one is that of all.
const Sharding::Leaf* LeafShardingAt(const Sharding& sharding, int64_t i) {
  if (!sharding.is_tuple && sharding.leaves.size() == 1) return &sharding.leaves[0];
  return static_cast<size_t>(i) < sharding.leaves.size() ? &sharding.leaves[static_cast<size_t>(i)]
                                                         : nullptr;
}

// What `sharding`, of a user, says of `count` leaves of its operand from `first` on.
void TakeLeaves(const Sharding& sharding, int64_t first, int64_t to, int64_t count,
                LeafShardings& known, bool& conflict) {
  for (int64_t i = 0; i < count; ++i) {
    const Sharding::Leaf* leaf = LeafShardingAt(sharding, first + i);
    if (leaf == nullptr) continue;
    std::optional<Sharding::Leaf>& mine = known[static_cast<size_t>(to + i)];
    conflict |= mine && !(*mine == *leaf);
    mine = *leaf;
  }
}

// The shardings that users give to an instruction without one; none when they disagree, or when
// nothing is known.
std::optional<Sharding> FromUsers(const Instruction& instruction) {
  LeafShardings known(static_cast<size_t>(LeafCount(instruction.shape())));
  bool conflict = false;
  for (const Use& use : instruction.uses()) {
    const Instruction& user = *use.user;
    const int64_t count = LeafCount(instruction.shape());
    if (user.opcode() == Opcode::kDomain) {
      TakeLeaves(user.attrs<DomainAttrs>().domain.exit, 0, 0, count, known, conflict);
    } else if (user.sharding() == nullptr) {
      continue;
    } else if (user.opcode() == Opcode::kTuple) {
      TakeLeaves(*user.sharding(), FirstLeaf(user.shape(), use.operand_index), 0, count, known,
                 conflict);
    } else if (user.opcode() == Opcode::kGetTupleElement) {
      TakeLeaves(*user.sharding(), 0, FirstLeaf(instruction.shape(), user.tuple_index()),
                 LeafCount(user.shape()), known, conflict);
    } else if (SameDimensions(user.shape(), instruction.shape())) {
      TakeLeaves(*user.sharding(), 0, 0, count, known, conflict);
    }
  }
  const bool is_complete =
      std::all_of(known.begin(), known.end(), [](const auto& leaf) { return leaf.has_value(); });
  if (conflict || !is_complete || known.empty()) return std::nullopt;
  std::vector<Sharding::Leaf> leaves;
  for (const auto& leaf : known) leaves.push_back(*leaf);
  return instruction.shape().IsTuple() ? Sharding::Tuple(std::move(leaves))
                                       : Sharding::Of(leaves[0]);
}

// The one sharding of all instructions that have one; null if there are several, or none.
const Sharding* AgreedSharding(const Domain& domain) {
  const Sharding* common = nullptr;
  for (const Instruction* instruction : domain.instructions) {
    if (instruction->sharding() == nullptr) continue;
    if (common != nullptr && !(*common == *instruction->sharding())) return nullptr;
    common = instruction->sharding();
  }
  return common;
}

// What a loop says of its state, for the parameters and the result of what it runs, and what these
// say, for a loop; null where nothing is said yet. All of them are to say the same.
const Sharding* SaidOfState(const Instruction& instruction) {
  std::vector<const Instruction*> others;
  const auto add_all_of = [&](const Instruction& loop) {
    const Computation& body = *loop.while_body();
    others.insert(others.end(),
                  {&loop, loop.while_condition()->parameter(0), body.parameter(0), body.root()});
  };
  if (instruction.opcode() == Opcode::kWhile) add_all_of(instruction);
  const bool is_parameter = instruction.opcode() == Opcode::kParameter;
  for (const CallSite& site : instruction.parent()->callers()) {
    if (site.caller->opcode() != Opcode::kWhile) continue;
    const bool is_result =
        instruction.is_root() && instruction.parent() == site.caller->while_body();
    if (is_parameter || is_result) add_all_of(*site.caller);
  }
  for (const Instruction* other : others) {
    if (other->sharding() != nullptr) return other->sharding();
  }
  return nullptr;
}

int64_t Normalize(const Domain& domain, const Sharding& told) {
  int64_t set = 0;
  const Sharding* sharding = IsAbsent(told) ? AgreedSharding(domain) : &told;
  if (sharding == nullptr) return 0;
  const Sharding::Leaf* const single = SingleLeaf(*sharding);
  const std::optional<Sharding::Leaf> leaf =
      single != nullptr ? std::optional(*single) : std::nullopt;
  for (size_t i = domain.instructions.size(); i-- > 0;) {
    Instruction* instruction = domain.instructions[i];
    if (instruction->sharding() != nullptr) continue;
    std::optional<Sharding> mine = !leaf ? FromUsers(*instruction)
                                   : FitsAll(*leaf, instruction->shape())
                                       ? std::optional(SameForAll(*leaf, instruction->shape()))
                                       : std::nullopt;
    if (const Sharding* const said = SaidOfState(*instruction)) mine = *said;
    if (!mine) continue;
    instruction->mutable_extras().sharding = std::move(*mine);
    ++set;
  }
  return set;
}

// `value` by way of a tuple, both with this sharding.
Instruction* ThroughTuple(Instruction* value, const Sharding& sharding) {
  Builder builder(value->parent());
  builder.set_origin(value);
  Instruction* tuple = builder.Tuple({value});
  Instruction* element = builder.GetTupleElement(tuple, 0);
  const Sharding::Leaf* single = SingleLeaf(sharding);
  if (single == nullptr) return element;
  tuple->mutable_extras().sharding = SameForAll(*single, tuple->shape());
  element->mutable_extras().sharding = SameForAll(*single, element->shape());
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
  }
}

}  // namespace

absl::StatusOr<bool> DomainRemover::RunOnComputation(Computation& computation,
                                                     PassContext& context) {
  RETURN_IF_ERROR(CheckDomainKind(options_));
  if (computation.is_fusion() || !context.MayRewrite()) return false;
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

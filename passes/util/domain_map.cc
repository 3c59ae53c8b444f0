#include "passes/util/domain_map.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace hlo {
namespace {

bool IsDomainOp(const Instruction& instruction) { return instruction.opcode() == Opcode::kDomain; }

// Sets of instructions, by place in the post-order.
class DomainSets {
 public:
  explicit DomainSets(const std::vector<Instruction*>& order) : parent_(order.size()) {
    for (size_t i = 0; i < order.size(); ++i) {
      parent_[i] = i;
      places_[order[i]] = i;
    }
    for (size_t i = 0; i < order.size(); ++i) {
      if (IsDomainOp(*order[i])) continue;
      for (const Instruction* operand : order[i]->operands()) {
        if (!IsDomainOp(*operand)) Join(i, places_.at(operand));
      }
    }
  }
  size_t Of(const Instruction* instruction) { return Find(places_.at(instruction)); }

 private:
  size_t Find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // The earliest instruction stands for its set.
  void Join(size_t a, size_t b) {
    const size_t one = Find(a), other = Find(b);
    parent_[std::max(one, other)] = std::min(one, other);
  }

  std::vector<size_t> parent_;
  absl::flat_hash_map<const Instruction*, size_t> places_;  // looked up only
};

void AddOnce(std::vector<Instruction*>& list, Instruction* instruction) {
  if (!absl::c_linear_search(list, instruction)) list.push_back(instruction);
}

}  // namespace

absl::Status CheckDomainKind(const DomainOptions& options) {
  if (options.kind == "sharding") return absl::OkStatus();
  return Error("there are no domains of kind `{}`; expected `sharding`", options.kind);
}

Sharding AbsentSharding() { return Sharding::Tuple({}); }

const Sharding::Leaf* SingleLeaf(const Sharding& sharding) {
  if (sharding.leaves.empty()) return nullptr;
  const Sharding::Leaf& first = sharding.leaves[0];
  const bool all_equal =
      absl::c_all_of(sharding.leaves, [&](const Sharding::Leaf& leaf) { return leaf == first; });
  return all_equal ? &first : nullptr;
}

bool SameDomainSharding(const Sharding& a, const Sharding& b) {
  const Sharding::Leaf *const one = SingleLeaf(a), *const other = SingleLeaf(b);
  return one != nullptr && other != nullptr ? *one == *other : a == b;
}

std::vector<Domain> FindDomains(const Computation& computation) {
  const std::vector<Instruction*> order = computation.PostOrder();
  DomainSets sets(order);
  std::vector<Domain> domains;
  absl::flat_hash_map<size_t, size_t> number;  // of a set; looked up only
  for (Instruction* instruction : order) {
    if (IsDomainOp(*instruction)) continue;
    const auto [it, is_new] = number.emplace(sets.Of(instruction), domains.size());
    if (is_new) domains.emplace_back();
    Domain& domain = domains[it->second];
    domain.instructions.push_back(instruction);
    for (Instruction* operand : instruction->operands()) {
      if (IsDomainOp(*operand)) AddOnce(domain.entered_by, operand);
    }
    for (Instruction* user : instruction->users()) {
      if (IsDomainOp(*user)) domain.left_by.push_back(user);
    }
  }
  for (Instruction* instruction : order) {
    if (!IsDomainOp(*instruction)) continue;
    if (IsDomainOp(*instruction->operand(0)))
      domains.push_back({{}, {instruction->operand(0)}, {instruction}});
    if (instruction->is_root()) domains.push_back({{}, {instruction}, {}});
  }
  return domains;
}

absl::StatusOr<Sharding> ShardingOfDomain(const Domain& domain) {
  const Sharding* known = nullptr;
  const Instruction* teller = nullptr;
  const auto check = [&](const Instruction& op, const Sharding& side) -> absl::Status {
    if (known != nullptr && !SameDomainSharding(*known, side))
      return Error(op.loc(), "domain mismatch at `{}`: it says {}, `{}` says {}", op.name(),
                   side.ToString(), teller->name(), known->ToString());
    known = &side;
    teller = &op;
    return absl::OkStatus();
  };
  for (const Instruction* op : domain.entered_by)
    RETURN_IF_ERROR(check(*op, op->attrs<DomainAttrs>().domain.entry));
  for (const Instruction* op : domain.left_by)
    RETURN_IF_ERROR(check(*op, op->attrs<DomainAttrs>().domain.exit));
  return known != nullptr ? *known : AbsentSharding();
}

}  // namespace hlo

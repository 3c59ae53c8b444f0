#include "passes/sharding/domain_isolator.h"

#include <map>

#include "lib/types/shape_limits.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// The sharding of one side of a domain, reduced to a single one where its leaves agree.
Sharding SideOf(const Instruction& instruction) {
  if (instruction.sharding() == nullptr) return AbsentSharding();
  const Sharding::Leaf* single = SingleLeaf(*instruction.sharding());
  return single != nullptr ? Sharding::Of(*single) : *instruction.sharding();
}

// What holds where `operand` is read: a domain says it.
Sharding ExitOf(const Instruction& operand) {
  return operand.opcode() == Opcode::kDomain ? operand.attrs<DomainAttrs>().domain.entry
                                             : SideOf(operand);
}

}  // namespace

absl::StatusOr<bool> DomainIsolator::RunOnComputation(Computation& computation,
                                                      PassContext& context) {
  RETURN_IF_ERROR(CheckDomainKind(options_));
  // Bodies of fusions and asynchronous operations have no devices of their own.
  for (const CallSite& site : computation.callers()) {
    if (site.caller->IsFusion() || site.caller->opcode() == Opcode::kAsyncStart) return false;
  }
  std::map<std::pair<uint32_t, std::string>, Instruction*> made;  // by operand, user's side
  bool changed = false;
  for (Instruction* user : computation.PostOrder()) {
    if (user->opcode() == Opcode::kDomain) continue;
    const Sharding entry = SideOf(*user);
    for (int i = 0; i < user->operand_count(); ++i) {
      Instruction* const operand = user->operand(i);
      // A buffer goes from one operation to the next as it is.
      if (HasBuffer(operand->shape())) continue;
      const Sharding exit = ExitOf(*operand);
      if (exit == entry) continue;
      Instruction*& domain = made[{operand->id(), entry.ToString()}];
      if (domain == nullptr) {
        if (!context.MayRewrite()) return changed;
        context.Passed(*operand, "a domain is put between it and `{}`", user->name());
        DomainAttrs attrs;
        attrs.domain.entry = entry;
        attrs.domain.exit = exit;
        domain = computation.Add(Opcode::kDomain, operand->shape(), {operand},
                                 AttrsPtr::Make(std::move(attrs)));
        domain->set_loc(operand->loc());
        context.Count("domains");
      }
      user->ReplaceOperand(i, domain);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(DomainIsolator)

}  // namespace hlo

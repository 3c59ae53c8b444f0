// Rewriting by rules. A rule is a named function from an instruction to its replacement; the driver
// finds places, replaces, counts.
//
//   // x + 0  =>  x
//   Instruction* AddZero(Instruction* add, Rewriter&) {
//     Instruction* x;
//     return Match(add, m::AddAnyOrder(m::Any(&x), m::Zero())) ? x : nullptr;
//   }
//   constexpr Rule kRules[] = {{"add-zero", Opcode::kAdd, kExceptSpecials, AddZero}};
//
// The driver visits a computation in post-order. After a rewrite it looks again at what was built,
// at its users and at the producers that lost a user. Operands that became unused by a rewrite are
// removed; what was unused before stays. Rewrites are counted per rule (PassContext, --stats). A
// set of rules that does not come to rest is an error that names the busiest rule.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "lib/ir/builder.h"
#include "lib/support/check.h"
#include "passes/pass.h"

namespace hlo {

// Builds replacements: a Builder at the computation of the instruction being rewritten. What it
// builds inherits place and metadata of that instruction.
class Rewriter final : public Builder {
 public:
  Rewriter(Computation* computation, PassContext& context, const Instruction* origin = nullptr)
      : Builder(computation, origin), context_(context) {}
  Module& module() const { return computation()->module(); }
  PassContext& context() const { return context_; }

 private:
  PassContext& context_;
};

struct Rule {
  std::string_view name;
  Opcode root;
  RuleSafety safety;
  // The replacement of `instruction` (of compatible shape), or null when the rule does not apply.
  Instruction* (*apply)(Instruction* instruction, Rewriter& rewriter);
};

// Rules by root opcode, tried in the order they were added.
class RuleSet {
 public:
  RuleSet() = default;
  explicit RuleSet(std::span<const Rule> rules, RuleSafety allowed = kExact) {
    Add(rules, allowed);
  }
  // Adds the rules that are at most as unsafe as `allowed`.
  void Add(std::span<const Rule> rules, RuleSafety allowed = kExact);
  // Whether `replacement` may stand for `old`; what a rule built has an id of `first_new_id` or
  // more. A replacement that is not accepted counts as "the rule does not apply".
  using Accept = bool (*)(const Instruction& old, const Instruction& replacement,
                          uint32_t first_new_id);
  void set_accept(Accept check) { accept_ = check; }
  Accept accept() const { return accept_; }
  std::span<const Rule* const> For(Opcode opcode) const {
    return by_opcode_[static_cast<size_t>(opcode)];
  }
  // The opcodes that some rule is for.
  const OpcodeSet& roots() const { return roots_; }

 private:
  std::array<std::vector<const Rule*>, kOpcodeCount> by_opcode_;
  OpcodeSet roots_;
  Accept accept_ = nullptr;
};

// Applies `rules` to `computation` until none applies; `skip`, if any, is left alone. Returns
// whether something changed.
absl::StatusOr<bool> ApplyRules(Computation& computation, const RuleSet& rules,
                                PassContext& context, const Instruction* skip = nullptr);

// What frontends say of `from` holds for `to`, too, if they say nothing of it.
void PassOnFrontendAttributes(const Instruction& from, Instruction* to);
void PassOnBackendConfig(const Instruction& from, Instruction* to);
// Both: `to` does the work of `from`, which something else replaces.
void PassOnWork(const Instruction& from, Instruction* to);

// Puts `replacement` in the place of `old` and removes `old`. One without sharding or frontend
// attributes takes those of `old` (a parameter no sharding), one built for this (its id is at least
// `first_new_id`) the layout, one of the same operation the name, any the origin. Control edges
// move over; of an older replacement, which may be needed before what `old` waits for, see
// lib/ir/control_edges.h. Where a bitcast reads the layout of `old`, a copy makes it.
void ReplaceKeepingExtras(Instruction* old, Instruction* replacement, uint32_t first_new_id);

// A pass that is a set of rules, run on every computation, callees first:
//
//   AddZeroRemover::AddZeroRemover() : RewritePass(this, kRules) {}
//
// No rule may be less safe than the class says (`kSafety`): it could never run, or the
// pass would lie.
class RewritePass : public Pass {
 public:
  template <class P>
  RewritePass(const P* /*its class*/, std::span<const Rule> rules)
      : rules_(rules, internal::SafetyOf<P>()) {
    for (const Rule& rule : rules) HLO_CHECK(rule.safety <= internal::SafetyOf<P>());
  }
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 protected:
  void SkipEntryComputation() { skip_entry_ = true; }

 private:
  RuleSet rules_;
  bool skip_entry_ = false;
};

}  // namespace hlo

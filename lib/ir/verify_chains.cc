// Asynchronous chains that end never, or more than once, as only their way through loops, calls and
// branches shows.
//
// A chain is a value that is used once: by an update or done, or by what takes it elsewhere. So in
// each computation a chain that starts there, comes in with a parameter, or out of a call, loop or
// conditional
//
//   has an end                  its step, the root, or an operand that a call, loop or branch takes
//   has no second one           but for branches of one conditional, which all take it
//   is not touched              by the condition of a loop
//
// and a loop has one at each end of its body where it has one at the other; so have branches that
// return one. What gets into an instruction that is unknown here is not followed.
#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/verify_internal.h"
#include "lib/ops/async_pairs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/types/shape_util.h"

namespace hlo::internal {
namespace {

constexpr int kMostErrors = 10;
constexpr int64_t kMostParts = 100000;  // tuples of tuples have no end of them

// What holds a chain: the element at `path`, outermost last, of a value.
struct Part {
  const Instruction* of;
  ShapeIndex path;
  friend bool operator==(const Part&, const Part&) = default;
  template <class H>
  friend H AbslHashValue(H state, const Part& part) {
    return H::combine(std::move(state), part.of, part.path);
  }
};

// A use. `operand` of the user holds the chain; -1: the user is the root, and returns it.
struct End {
  const Instruction* user;
  int operand;
  friend bool operator==(const End&, const End&) = default;
};

struct Chain {
  Part part;                 // where it comes from, in its computation
  const Instruction* start;  // the first one found
  std::vector<End> ends = {};
  bool escapes = false;  // to an instruction unknown here
};

bool IsChainStep(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kAsyncUpdate || EndsPair(instruction.opcode());
}

bool IsCondition(const Computation& computation) {
  const auto callers = computation.callers();
  return std::any_of(callers.begin(), callers.end(), [](const CallSite& site) {
    return site.caller->opcode() == Opcode::kWhile && site.call_index == 0;
  });
}

class ChainCheck {
 public:
  void Run(const Module& module, Findings& findings) {
    for (const Instruction* instruction : AllInstructions(module)) {
      if (YieldsUnderWay(instruction->opcode())) Add({instruction, {}}, *instruction);
    }
    for (size_t i = 0; i < chains_.size(); ++i) {
      Follow(i);
      if (parts_ > kMostParts) return;
    }
    for (const Chain& chain : chains_) {
      if (findings.full()) return;
      Check(chain, findings);
    }
  }

 private:
  void Add(Part part, const Instruction& start) {
    if (known_.insert(part).second) chains_.push_back({std::move(part), &start});
  }

  void Follow(size_t index) {
    std::vector<Part> parts = {chains_[index].part};
    for (size_t i = 0; i < parts.size() && ++parts_ <= kMostParts; ++i) {
      const Part part = parts[i];
      holders_.insert(part);
      if (part.of->is_root()) Return(index, part);
      for (const Use& use : part.of->uses()) {
        if (const auto next = Step(index, part, use)) parts.push_back(*next);
      }
    }
  }

  // What holds the chain by this use, in the same computation and as the same chain.
  std::optional<Part> Step(size_t index, const Part& part, const Use& use) {
    const Instruction& user = *use.user;
    const Opcode opcode = user.opcode();
    ShapeIndex path = part.path;
    if (opcode == Opcode::kTuple) {
      path.push_back(use.operand_index);
      return Part{&user, path};
    }
    if (opcode == Opcode::kGetTupleElement) {
      if (path.empty() || path.back() != user.tuple_index()) return std::nullopt;
      path.pop_back();
      return Part{&user, path};
    }
    if (PassesOperandOn(user)) return Part{&user, path};
    const bool takes =
        kProgramCallers.Has(opcode) && (opcode != Opcode::kConditional || use.operand_index > 0);
    if (takes) {
      Take(index, part, user, static_cast<int>(use.operand_index));
    } else if (IsChainStep(user) && path.empty()) {
      chains_[index].ends.push_back({&user, 0});
    } else if (opcode != Opcode::kCustomCall || !path.empty()) {
      chains_[index].escapes = true;  // a custom call that reads a start only orders
    }
    return std::nullopt;
  }

  void Take(size_t index, const Part& part, const Instruction& taker, int operand) {
    const Instruction& start = *chains_[index].start;
    chains_[index].ends.push_back({&taker, operand});
    if (taker.opcode() == Opcode::kWhile) return AddLoop(taker, part.path, start);
    const bool is_call = taker.opcode() == Opcode::kCall;
    const Computation& callee = *taker.call(is_call ? 0 : operand - 1);
    Add({callee.parameter(is_call ? operand : 0), part.path}, start);
  }

  void AddLoop(const Instruction& loop, const ShapeIndex& path, const Instruction& start) {
    Add({loop.while_condition()->parameter(0), path}, start);
    Add({loop.while_body()->parameter(0), path}, start);
    Add({&loop, path}, start);
  }

  void Return(size_t index, const Part& part) {
    const Instruction& start = *chains_[index].start;
    chains_[index].ends.push_back({part.of, -1});
    for (const CallSite& site : part.of->parent()->callers()) {
      const Instruction& caller = *site.caller;
      if (caller.opcode() == Opcode::kWhile) {
        AddLoop(caller, part.path, start);
      } else if (caller.opcode() == Opcode::kCall || caller.opcode() == Opcode::kConditional) {
        Add({&caller, part.path}, start);
      }
    }
  }

  // ---- what was found ----

  static std::string PathText(const Part& part) {
    if (part.path.empty()) return "";
    return " at " + ToString(ShapeIndex(part.path.rbegin(), part.path.rend()));
  }

  static std::string Name(const Chain& chain) {
    const Instruction& of = *chain.part.of;
    const std::string at = PathText(chain.part);
    if (of.opcode() == Opcode::kParameter)
      return fmt::format("the chain that `{}` takes as `{}`{}", of.parent()->name(), of.name(), at);
    if (&of == chain.start && at.empty()) return fmt::format("the chain of `{}`", of.name());
    return fmt::format("the chain that `{}` gives{}", of.name(), at);
  }

  static std::string Text(const End& end) {
    std::string_view how = "given to";
    if (IsChainStep(*end.user)) how = "waited for by";
    if (end.user->opcode() == Opcode::kAsyncUpdate) how = "continued by";
    if (end.operand < 0) how = "returned as";
    return fmt::format("{} `{}`", how, end.user->name());
  }

  static void NoteStart(const Chain& chain, Findings& findings) {
    if (chain.part.of != chain.start) findings.NoteDefinition(*chain.start);
  }

  void Check(const Chain& chain, Findings& findings) const {
    const Instruction& of = *chain.part.of;
    if (of.opcode() == Opcode::kWhile) CheckLoop(chain, findings);
    if (of.opcode() == Opcode::kConditional) CheckBranchesReturn(chain, findings);
    if (chain.escapes) return;
    if (of.opcode() == Opcode::kParameter && IsCondition(*of.parent())) {
      if (chain.ends.empty()) return;
      findings.Add(chain.ends[0].user->loc(),
                   "{} is {}, but that is the condition of a loop, whose body it is for",
                   Name(chain), Text(chain.ends[0]));
      return NoteStart(chain, findings);
    }
    if (chain.ends.empty()) {
      findings.Add(of.loc(), "{} is neither waited for nor passed on", Name(chain));
      return NoteStart(chain, findings);
    }
    CheckOneEnd(chain, findings);
  }

  static void CheckOneEnd(const Chain& chain, Findings& findings) {
    const End& first = chain.ends[0];
    const bool branches = first.user->opcode() == Opcode::kConditional && first.operand > 0;
    for (size_t i = 1; i < chain.ends.size(); ++i) {
      const End& end = chain.ends[i];
      const auto before = chain.ends.begin() + static_cast<int64_t>(i);
      const bool is_new = std::find(chain.ends.begin(), before, end) == before;
      if (branches && end.user == first.user && end.operand > 0 && is_new) continue;
      findings.Add(end.user->loc(), "{} is both {} and {}, which it can be only once", Name(chain),
                   Text(first), Text(end));
      return NoteStart(chain, findings);
    }
    if (!branches) return;
    for (int branch = 0; branch < first.user->call_count(); ++branch) {
      const End wanted{first.user, branch + 1};
      if (std::count(chain.ends.begin(), chain.ends.end(), wanted) > 0) continue;
      findings.Add(first.user->loc(), "{} is {}, but not to its branch {}, where nothing waits",
                   Name(chain), Text(first), branch);
      return NoteStart(chain, findings);
    }
  }

  void CheckLoop(const Chain& chain, Findings& findings) const {
    const Instruction& loop = *chain.part.of;
    const ShapeIndex& path = chain.part.path;
    const bool begins = holders_.contains({loop.operand(0), path});
    const bool returns = holders_.contains({loop.while_body()->root(), path});
    if (begins && returns) return;
    if (begins) {
      findings.Add(loop.loc(), "`{}` begins with a chain{}, but its body returns none there",
                   loop.name(), PathText(chain.part));
    } else {
      findings.Add(loop.loc(), "the body of `{}` returns a chain{}, but the loop begins with none",
                   loop.name(), PathText(chain.part));
    }
    NoteStart(chain, findings);
  }

  void CheckBranchesReturn(const Chain& chain, Findings& findings) const {
    const Instruction& conditional = *chain.part.of;
    for (const Computation* branch : conditional.calls()) {
      if (holders_.contains({branch->root(), chain.part.path})) continue;
      findings.Add(conditional.loc(), "a branch of `{}` returns a chain{}, but `{}` returns none",
                   conditional.name(), PathText(chain.part), branch->name());
      return NoteStart(chain, findings);
    }
  }

  std::vector<Chain> chains_;
  absl::flat_hash_set<Part> known_;    // those of chains_
  absl::flat_hash_set<Part> holders_;  // all parts that hold one
  int64_t parts_ = 0;
};

}  // namespace

absl::Status VerifyChains(const Module& module) {
  Findings findings(kMostErrors);
  ChainCheck().Run(module, findings);
  return findings.ToStatus();
}

}  // namespace hlo::internal

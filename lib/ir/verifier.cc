// The verifier's order of work, and the rules that hold the graph together:
//
//   module        has a name and an entry computation, which no fusion calls
//   computations  lie in the module that lists them, once each; have distinct names and a root of
//                 their own; are not recursive
//   parameters    are numbered 0, 1, … without gap or repetition, and listed by number
//   instructions  belong to the computation that lists them; have an id of their own and a name
//                 that is unique in the module
//   operands      are live instructions of the same computation; every operand slot has one entry
//                 in the use list of its producer
//   calls         go to computations of the module and are listed among the callee's callers; their
//                 number is the table's
//   control edges join instructions of one computation, are known at both ends, and make no cycle together with operands
//
// Everything else relies on these, so the other rules (verify_*.cc) are looked at only when these
// hold.
#include "lib/ir/verifier.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/verify_internal.h"

namespace hlo {
namespace internal {

namespace {

class StructureVerifier {
 public:
  explicit StructureVerifier(const VerifyContext& context)
      : module_(context.module), findings_(context.findings) {}

  void Run() {
    if (module_.name().empty()) findings_.Add({}, "the module has no name");
    VerifyComputations();
    if (!findings_.empty()) return;
    first_slot_.assign(module_.id_limit(), 0);
    names_.reserve(static_cast<size_t>(module_.instruction_count()));
    callers_.resize(module_.computations().size());
    for (const Computation* computation : module_.computations()) VerifyInstructions(*computation);
    if (!findings_.empty()) return;
    slot_used_.assign(slots_, false);
    for (const Computation* computation : module_.computations()) VerifyLists(*computation);
    if (!findings_.empty()) return;
    if (slots_ != use_entries_) {
      findings_.Add({}, "the module has {} operands, but its use lists have {} entries", slots_ - 1,
                    use_entries_ - 1);
    }
    if (calls_ != call_entries_) {
      findings_.Add({}, "the module has {} calls, but its caller lists have {} entries", calls_,
                    call_entries_);
    }
    VerifyCallGraph();
    for (const Computation* computation : out_of_order_) FindCycle(*computation);
  }

 private:
  void VerifyComputations() {
    const Computation* entry = module_.entry();
    absl::flat_hash_set<std::string_view> names;
    for (size_t i = 0; i < module_.computations().size(); ++i) {
      const Computation* computation = module_.computations()[i];
      if (computation == nullptr)
        return findings_.Add({}, "computation {} of the module is null", i);
      if (!computations_.try_emplace(computation, i).second) {
        findings_.Add(computation->loc(), "computation `{}` is listed twice", computation->name());
        continue;
      }
      if (&computation->module() != &module_) {
        findings_.Add(computation->loc(), "computation `{}` belongs to another module",
                      computation->name());
      }
      if (!names.insert(computation->name()).second) {
        findings_.Add(computation->loc(), "computation name `{}` is used twice",
                      computation->name());
      }
    }
    if (entry == nullptr) return findings_.Add({}, "the module has no entry computation");
    if (!computations_.contains(entry))
      findings_.Add({}, "the entry computation is not in the module");
  }

  void VerifyInstructions(const Computation& computation) {
    int count = 0;
    bool in_order = true;
    std::vector<const Instruction*>& callers = callers_[computations_[&computation]];
    for (const Instruction* instruction : computation.instructions()) {
      ++count;
      const SourceLoc loc = instruction->loc();
      if (instruction->is_dead())
        findings_.Add(loc, "`{}` is removed but still listed", instruction->name());
      if (instruction->parent() != &computation) {
        findings_.Add(loc, "`{}` is listed in computation `{}` but has another parent",
                      instruction->name(), computation.name());
      }
      if (instruction->id() >= first_slot_.size()) {
        findings_.Add(loc, "`{}` has id {}, but the module has given {} ids", instruction->name(),
                      instruction->id(), first_slot_.size());
        return;
      }
      if (first_slot_[instruction->id()] != 0) {
        findings_.Add(loc, "`{}` has id {}, which another instruction has as well",
                      instruction->name(), instruction->id());
      }
      if (instruction->name().empty()) {
        findings_.Add(loc, "an instruction of computation `{}` has no name", computation.name());
      } else if (!names_.insert(instruction->name()).second) {
        findings_.Add(loc, "instruction name `{}` is used twice", instruction->name());
      }
      VerifyLinks(computation, *instruction, in_order);
      if (instruction->opcode() == Opcode::kParameter) VerifyNumber(computation, *instruction);
      if (instruction->call_count() > 0) callers.push_back(instruction);
      calls_ += instruction->call_count();
      first_slot_[instruction->id()] = slots_;
      slots_ += static_cast<uint32_t>(instruction->operand_count());
      if (findings_.full()) return;
    }
    // Most computations list every instruction after its operands, which shows that there is no
    // cycle.
    if (!in_order) out_of_order_.push_back(&computation);
    if (count != computation.instruction_count()) {
      findings_.Add(computation.loc(), "computation `{}` has {} instructions but counts {}",
                    computation.name(), count, computation.instruction_count());
    }
    VerifyRoot(computation);
    VerifyParameters(computation);
  }

  // Whether an earlier turn has seen this instruction.
  bool Seen(const Instruction& instruction) const {
    return instruction.id() < first_slot_.size() && first_slot_[instruction.id()] != 0;
  }

  // `in_order` becomes false when something needed comes later.
  void VerifyLinks(const Computation& computation, const Instruction& instruction, bool& in_order) {
    const SourceLoc loc = instruction.loc();
    for (int i = 0; i < instruction.operand_count(); ++i) {
      const Instruction* operand = instruction.operand(i);
      if (operand == nullptr) {
        findings_.Add(loc, "operand {} of `{}` is null", i, instruction.name());
      } else if (operand->is_dead()) {
        findings_.Add(loc, "operand {} of `{}`, `{}`, is removed", i, instruction.name(),
                      operand->name());
      } else if (operand->parent() != &computation) {
        findings_.Add(loc, "operand {} of `{}`, `{}`, is in another computation, `{}`", i,
                      instruction.name(), operand->name(), operand->parent()->name());
        findings_.NoteDefinition(*operand);
      } else {
        in_order = in_order && Seen(*operand);
      }
    }
    for (int i = 0; i < instruction.call_count(); ++i) {
      const Computation* callee = instruction.call(i);
      if (callee == nullptr) {
        findings_.Add(loc, "called computation {} of `{}` is null", i, instruction.name());
      } else if (!computations_.contains(callee)) {
        findings_.Add(loc, "called computation {} of `{}` is not in the module", i,
                      instruction.name());
      }
    }
    const CallSpec& calls = Info(instruction.opcode()).calls;
    if (!calls.is_list && instruction.call_count() != calls.count) {
      findings_.Add(loc, "`{}` calls {} computations, expected {} for `{}`", instruction.name(),
                    instruction.call_count(), calls.count, instruction.opcode_text());
    }
    for (const Instruction* predecessor : instruction.control_predecessors()) {
      in_order = in_order && Seen(*predecessor);
      VerifyControlEdge(computation, *predecessor, instruction, predecessor->control_successors(),
                        instruction);
    }
    for (const Instruction* successor : instruction.control_successors()) {
      VerifyControlEdge(computation, instruction, *successor, successor->control_predecessors(),
                        instruction);
    }
  }

  // How often `instruction` stands in a list of control edges. Long lists are counted once for all.
  int64_t CountIn(absl::Span<Instruction* const> list, const Instruction& instruction) {
    if (list.size() < 64) return std::count(list.begin(), list.end(), &instruction);
    const auto [it, fresh] = counts_.try_emplace(list.data());
    if (fresh) {
      for (const Instruction* item : list) ++it->second[item];
    }
    const auto found = it->second.find(&instruction);
    return found == it->second.end() ? 0 : found->second;
  }

  // An edge seen from the end `here`; `other_list` is that of the other end.
  void VerifyControlEdge(const Computation& computation, const Instruction& from,
                         const Instruction& to, absl::Span<Instruction* const> other_list,
                         const Instruction& here) {
    const Instruction& other = &here == &from ? to : from;
    if (other.is_dead()) {
      findings_.Add(here.loc(), "the control edge from `{}` to `{}` ends at a removed instruction",
                    from.name(), to.name());
    } else if (other.parent() != &computation) {
      findings_.Add(here.loc(), "the control edge from `{}` to `{}` leaves computation `{}`",
                    from.name(), to.name(), computation.name());
      findings_.NoteDefinition(other);
    } else if (CountIn(other_list, here) != 1) {
      findings_.Add(here.loc(), "the control edge from `{}` to `{}` is not known once at both ends",
                    from.name(), to.name());
    }
  }

  void VerifyRoot(const Computation& computation) {
    const Instruction* root = computation.root();
    if (root == nullptr) {
      findings_.Add(computation.loc(), "computation `{}` has no root", computation.name());
    } else if (root->is_dead() || root->parent() != &computation) {
      findings_.Add(computation.loc(),
                    "the root of computation `{}` is not one of its instructions",
                    computation.name());
    }
  }

  void VerifyParameters(const Computation& computation) {
    for (int i = 0; i < computation.parameter_count(); ++i) {
      if (computation.parameter(i) != nullptr) continue;
      findings_.Add(computation.loc(),
                    "computation `{}` has no parameter {}, but one with a higher number",
                    computation.name(), i);
    }
    for (const Instruction* parameter : computation.parameters()) {
      if (parameter == nullptr) continue;
      if (parameter->is_dead() || parameter->parent() != &computation ||
          parameter->opcode() != Opcode::kParameter) {
        findings_.Add(computation.loc(),
                      "the parameter list of computation `{}` names something else",
                      computation.name());
      }
    }
  }

  // The parameter list has `parameter` at its number.
  void VerifyNumber(const Computation& computation, const Instruction& parameter) {
    if (!parameter.attrs_ptr().Is<ParameterAttrs>()) return;  // reported with the attributes
    const int64_t number = parameter.parameter_number();
    const bool listed = number >= 0 && number < computation.parameter_count();
    const Instruction* other = listed ? computation.parameter(static_cast<int>(number)) : nullptr;
    if (other == &parameter) return;
    if (other == nullptr) {
      return findings_.Add(parameter.loc(), "parameter {} of computation `{}` is not listed there",
                           number, computation.name());
    }
    findings_.Add(parameter.loc(), "computation `{}` has two parameters {}, `{}` and `{}`",
                  computation.name(), number, other->name(), parameter.name());
    findings_.NoteDefinition(*other);
  }

  // Use lists and caller lists against operand and call slots: as many entries as slots (Run), and
  // each entry names a slot that no other entry names.
  void VerifyLists(const Computation& computation) {
    for (const Instruction* instruction : computation.instructions()) {
      for (const Use& use : instruction->uses()) {
        ++use_entries_;
        const size_t slot = first_slot_[use.user->id()] + static_cast<size_t>(use.operand_index);
        const bool sound = !use.user->is_dead() && use.user->parent() == &computation &&
                           use.operand_index < use.user->operand_count() &&
                           use.user->operand(use.operand_index) == instruction && !slot_used_[slot];
        if (!sound) {
          findings_.Add(
              instruction->loc(),
              "the use list of `{}` names operand {} of `{}`, which is another instruction",
              instruction->name(), use.operand_index, use.user->name());
          return;
        }
        slot_used_[slot] = true;
      }
    }
    for (const CallSite& site : computation.callers()) {
      const bool sound = !site.caller->is_dead() && computations_.contains(site.caller->parent()) &&
                         site.call_index < site.caller->call_count() &&
                         site.caller->call(site.call_index) == &computation;
      if (!sound) {
        findings_.Add(computation.loc(),
                      "the callers of computation `{}` name a call that goes elsewhere",
                      computation.name());
      }
    }
    call_entries_ += static_cast<int64_t>(computation.callers().size());
  }

  // Depth first over the calls; an edge to a computation that is still open closes a cycle.
  void VerifyCallGraph() {
    enum class State : uint8_t { kNew, kOpen, kDone };
    struct Frame {
      size_t computation;
      size_t at = 0;  // in callers_
      int call = 0;
    };
    std::vector<State> states(module_.computations().size(), State::kNew);
    std::vector<Frame> stack;
    const auto open = [&](size_t computation) {
      states[computation] = State::kOpen;
      stack.push_back({computation});
    };
    for (size_t start = 0; start < states.size(); ++start) {
      if (states[start] != State::kNew) continue;
      open(start);
      while (!stack.empty()) {
        Frame& top = stack.back();
        if (top.at == callers_[top.computation].size()) {
          states[top.computation] = State::kDone;
          stack.pop_back();
          continue;
        }
        const Instruction* caller = callers_[top.computation][top.at];
        if (top.call == caller->call_count()) {
          ++top.at;
          top.call = 0;
          continue;
        }
        const Computation* callee = caller->call(top.call++);
        const size_t index = computations_[callee];
        const State state = states[index];
        if (state == State::kNew) open(index);
        if (state == State::kOpen) {
          findings_.Add(
              caller->loc(),
              "`{}` calls computation `{}`, which is running already: HLO has no recursion",
              caller->name(), callee->name());
          findings_.NoteDefinition(*callee);
        }
      }
    }
  }

  // Depth first over operands and control predecessors. first_slot_[id] is not needed any more: 0
  // new, 1 open, 2 done.
  void FindCycle(const Computation& computation) {
    for (const Instruction* instruction : computation.instructions())
      first_slot_[instruction->id()] = 0;
    struct Frame {
      const Instruction* instruction;
      int next = 0;
    };
    std::vector<Frame> stack;
    for (const Instruction* start : computation.instructions()) {
      if (first_slot_[start->id()] != 0) continue;
      stack.push_back({start});
      first_slot_[start->id()] = 1;
      while (!stack.empty()) {
        Frame& top = stack.back();
        const int operands = top.instruction->operand_count();
        const auto control = top.instruction->control_predecessors();
        if (top.next == operands + static_cast<int>(control.size())) {
          first_slot_[top.instruction->id()] = 2;
          stack.pop_back();
          continue;
        }
        const Instruction* before = top.next < operands
                                        ? top.instruction->operand(top.next)
                                        : control[static_cast<size_t>(top.next - operands)];
        ++top.next;
        if (first_slot_[before->id()] == 1) {
          std::vector<const Instruction*> cycle;
          for (size_t i = stack.size(); i-- > 0;) {
            cycle.push_back(stack[i].instruction);
            if (stack[i].instruction == before) break;
          }
          return ReportCycle(computation, cycle);
        }
        if (first_slot_[before->id()] == 0) {
          first_slot_[before->id()] = 1;
          stack.push_back({before});
        }
      }
    }
  }

  // `cycle`: each instruction is needed by the next one, the last one by the first.
  void ReportCycle(const Computation& computation, const std::vector<const Instruction*>& cycle) {
    constexpr size_t kMost = 8;
    std::string path;
    for (size_t i = 0; i < std::min(cycle.size(), kMost); ++i)
      path += fmt::format("`{}` -> ", cycle[i]->name());
    if (cycle.size() > kMost) path += fmt::format("{} more -> ", cycle.size() - kMost);
    findings_.Add(cycle[0]->loc(), "computation `{}` has a cycle: {}`{}`", computation.name(), path,
                  cycle[0]->name());
  }

  const Module& module_;
  Findings& findings_;
  absl::flat_hash_map<const Computation*, size_t> computations_;
  absl::flat_hash_set<std::string_view> names_;
  std::vector<uint32_t>
      first_slot_;  // by instruction id: number of its first operand slot; 0: not seen yet
  uint32_t slots_ = 1;
  uint32_t use_entries_ = 1;
  std::vector<bool> slot_used_;
  // Long lists of control edges by their address; only looked up.
  absl::flat_hash_map<const void*, absl::flat_hash_map<const Instruction*, int>> counts_;
  std::vector<std::vector<const Instruction*>>
      callers_;  // by index of the computation: its instructions with calls
  std::vector<const Computation*> out_of_order_;  // some instruction stands before what it needs
  int64_t calls_ = 0;
  int64_t call_entries_ = 0;
};

}  // namespace

void VerifyStructure(const VerifyContext& context) { StructureVerifier(context).Run(); }

}  // namespace internal

absl::Status Verify(const Module& module, const VerifierOptions& options) {
  internal::Findings findings(options.max_errors);
  const internal::VerifyContext context{module, options, findings};
  internal::VerifyStructure(context);
  if (!findings.empty()) return findings.ToStatus();
  internal::VerifyOps(context);
  internal::VerifyModuleConfig(context);
  if (findings.empty()) internal::VerifyChannels(context);  // follows attributes and operands
  return findings.ToStatus();
}

}  // namespace hlo

#include "passes/buffers/copy_insertion.h"

#include <limits>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/entry_aliases.h"
#include "lib/analysis/leaves.h"
#include "lib/analysis/place_sets.h"
#include "lib/analysis/schedule.h"
#include "lib/analysis/values.h"
#include "lib/ir/async_chain.h"
#include "passes/buffers/branch_order.h"
#include "passes/buffers/copy_adder.h"
#include "passes/buffers/late_updates.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"
#include "passes/util/caller_sharding.h"

namespace hlo {
namespace {

// Parts of a result that are to be written over operands. That an elementwise operation may is not
// enough.
std::vector<InPlacePair> ForcedPairs(const Instruction& instruction) {
  if (HasTrait(instruction.opcode(), kElementwise) ||
      instruction.opcode() == Opcode::kSetDimensionSize)
    return {};
  return InPlacePairs(instruction);
}

// Whether a fusion makes nothing of `parameter` but elements of its elements, each at its place.
bool IsReadInPlace(const Instruction& parameter) {
  std::vector<const Instruction*> left = {&parameter};
  absl::flat_hash_set<const Instruction*> known;
  while (!left.empty()) {
    const Instruction& value = *left.back();
    left.pop_back();
    for (const Instruction* reader : value.users()) {
      if (reader->opcode() == Opcode::kTuple || !known.insert(reader).second) continue;
      if (!HasTrait(reader->opcode(), kElementwise)) return false;
      left.push_back(reader);
    }
  }
  return true;
}

bool IsLoopInPlace(const Instruction& fusion, const InPlacePair& wanted) {
  if (!fusion.IsFusion()) return false;
  const FusionKind kind = fusion.attrs<FusionAttrs>().kind;
  const Shape operand = fusion.operand(wanted.operand)->shape();
  return (kind == FusionKind::kLoop || kind == FusionKind::kInput) && operand.IsArray() &&
         operand == LeafShapes(fusion.shape())[static_cast<size_t>(wanted.leaf)] &&
         IsReadInPlace(*fusion.fused_computation()->parameter(wanted.operand));
}

bool MayWriteOver(const Instruction& instruction, const InPlacePair& wanted) {
  if (IsLoopInPlace(instruction, wanted)) return true;
  const std::vector<InPlacePair> pairs = InPlacePairs(instruction);
  return absl::c_any_of(pairs, [&](const InPlacePair& pair) {
    return pair.operand == wanted.operand && pair.operand_leaf == wanted.operand_leaf &&
           pair.leaf == wanted.leaf;
  });
}

bool IsReadOnly(const Value& value, const std::vector<EntryAlias>& aliases) {
  if (value.def->IsConstant()) return true;
  if (value.def->opcode() != Opcode::kParameter || !value.def->parent()->is_entry()) return false;
  return absl::c_none_of(aliases, [&](const EntryAlias& alias) {
    return alias.parameter == value.def && static_cast<int64_t>(alias.from) == value.leaf;
  });
}

// How many pairs of values edges may keep apart for one copy; 0: there are to be no edges.
int64_t EdgeLimit(const CopyInsertionOptions& options, const Module& module) {
  if (options.dense || module.is_scheduled()) return 0;
  const int64_t limit = options.use_region_based_live_range_analysis;
  return limit < 0 ? std::numeric_limits<int64_t>::max() : limit;
}

class Inserter {
 public:
  Inserter(Module& module, PassContext& context, const CopyInsertionOptions& options)
      : module_(module),
        context_(context),
        aliases_(EntryAliases(module)),
        dense_(options.dense),
        edge_limit_(EdgeLimit(options, module)) {}

  absl::StatusOr<bool> Run() {
    RETURN_IF_ERROR(CheckFlat());
    // To write a schedule down is a change already: what was before needs no look then.
    const bool is_known = dense_ && !module_.is_scheduled();
    const std::vector<Outline> before = is_known ? std::vector<Outline>() : Outlines();
    if (dense_) {
      RETURN_IF_ERROR(WriteOutCopiesAcrossLoops(module_));
      if (module_.is_scheduled()) UpdateSchedules(module_);
    }
    if (dense_ || edge_limit_ > 0) ScheduleAsItStands();
    RETURN_IF_ERROR(Add());
    Remove();
    if (edge_limit_ > 0) module_.ClearSchedule();
    if (!dense_) RETURN_IF_ERROR(AddSpecialCases());
    const auto copies =
        absl::c_count_if(added_, [](const Instruction* copy) { return !copy->is_dead(); });
    context_.Count("copies", copies);
    return changed_ || copies > 0 || Outlines() != before;
  }

 private:
  // What is tidied up around copies that go again may leave less than there was, or another order.
  using Outline = std::tuple<const Computation*, int, Opcode, std::vector<int64_t>>;
  std::vector<Outline> Outlines() const {
    std::vector<Outline> outlines;
    for (const Computation* computation : module_.computations()) {
      std::vector<int64_t> order;
      if (module_.is_scheduled()) {
        for (const Instruction* instruction : computation->SequenceOrPostOrder())
          order.push_back(instruction->id());
      }
      outlines.emplace_back(computation, computation->instruction_count(),
                            computation->root()->opcode(), std::move(order));
    }
    return outlines;
  }

  absl::Status CheckFlat() const {
    for (const ProgramStep& step : ProgramOrder(module_)) {
      if (step.kind != ProgramStep::Kind::kEnter || !step.again) continue;
      return Error(step.instruction->loc(),
                   "computation `{}` is called more than once; run `flatten-call-graph` before",
                   step.callee().name());
    }
    return absl::OkStatus();
  }

  void ScheduleAsItStands() {
    if (module_.is_scheduled()) return;
    module_.set_scheduled(true);
    UpdateSchedules(module_);
    orders_ = true;
    changed_ = dense_;
  }

  // Pieces of program that run on the main thread. Computations of asynchronous operations hold
  // parameters and a root, and no copies; those of our back ends are programs like others.
  std::vector<Computation*> Program(const Values& values) {
    std::vector<Computation*> program;
    for (Computation* computation : context_.NonFusionComputations(module_)) {
      const bool is_main = computation->execution_thread() == module_.entry()->execution_thread();
      if ((dense_ || (is_main && !IsAsyncBody(*computation))) &&
          (computation->is_entry() || values.Has(*computation->root())))
        program.push_back(computation);
    }
    return program;
  }

  absl::Status Tidy() {
    if (dense_) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool simpler, RunPart(TupleSimplifier(), module_, context_));
    ASSIGN_OR_RETURN(const bool smaller, RunPart(Dce(), module_, context_));
    UpdateSchedules(module_);
    changed_ = changed_ || simpler || smaller;
    return absl::OkStatus();
  }

  // ---- adding ----

  absl::Status Add() {
    const Values values(module_, {.dense = dense_});
    if (orders_) MoveUpdatesLate(values);
    if (edge_limit_ > 0) MoveUpdatesLate(values, ForcedPairs);
    CopyAdder adder(module_, values, dense_);
    for (Computation* computation : Program(values)) {
      for (Instruction* instruction : computation->PostOrder()) AddFor(instruction, adder);
    }
    if (dense_) {
      adder.AddForResults();
    } else {
      adder.AddForEntryAliases();
    }
    return Finish(adder);
  }

  void AddFor(Instruction* instruction, CopyAdder& adder) {
    if (instruction->is_dead()) return;
    if (instruction->opcode() == Opcode::kWhile) return adder.AddForLoop(instruction);
    if (instruction->opcode() == Opcode::kConditional) return adder.AddForConditional(instruction);
    if (const std::optional<StartedChain> chain = ChainAcrossLoop(instruction, dense_))
      return adder.AddForChain(*chain);
    if (dense_) return;
    if (!ForcedPairs(*instruction).empty()) adder.AddForUpdate(instruction);
  }

  absl::Status Finish(CopyAdder& adder) {
    if (module_.is_scheduled()) {
      adder.Schedule();
      UpdateSchedules(module_);
    }
    for (const Instruction* copy : adder.copies()) added_.insert(copy);
    RETURN_IF_ERROR(Tidy());
    // Those of computations that nobody calls went with them.
    absl::flat_hash_set<const Instruction*> left;  // looked up only
    for (Computation* computation : module_.computations()) {
      for (const Instruction* instruction : computation->instructions()) left.insert(instruction);
    }
    tuples_ = adder.tuples();
    std::erase_if(tuples_, [&left](const Instruction* tuple) { return !left.contains(tuple); });
    return absl::OkStatus();
  }

  // ---- removing ----

  void UniteUpdates(const Values& values, PlaceSets& sets) const {
    const auto leaf = [&values](const Instruction& instruction, int64_t number) {
      return values.Of(instruction)[static_cast<size_t>(number)];
    };
    for (const ProgramStep& step : values.order()) {
      if (step.kind != ProgramStep::Kind::kVisit) continue;
      for (const InPlacePair& pair : ForcedPairs(*step.instruction))
        sets.Unite(leaf(*step.instruction, pair.leaf),
                   leaf(*step.instruction->operand(pair.operand), pair.operand_leaf));
    }
  }

  void UniteEntryAliases(const Values& values, PlaceSets& sets) const {
    const Computation& entry = *module_.entry();
    for (const EntryAlias& alias : aliases_)
      sets.Unite(values.Of(*alias.parameter)[alias.from], values.Of(*entry.root())[alias.to]);
  }

  // The sets of places as control flow, updates and aliases force them.
  void Fill(const Values& values, PlaceSets& sets) const {
    if (dense_) sets.TieEnds();
    sets.UniteControlFlow();
    if (dense_) return;
    UniteUpdates(values, sets);
    UniteEntryAliases(values, sets);
  }

  void Remove() {
    std::vector<Instruction*> dropped;
    std::vector<Interference::Edge> edges;
    {
      const Values values(module_, {.dense = dense_});
      const bool has_order = module_.is_scheduled() && edge_limit_ == 0;
      Interference interference(
          values, has_order ? Interference::Order::kProgram : Interference::Order::kDependency,
          dense_ ? Interference::MayShare() : MayWriteOver);
      PlaceSets sets(values, interference);
      Fill(values, sets);
      std::optional<BranchOrder> order;
      if (!dense_ && edge_limit_ == 0) order.emplace(values, sets, interference);
      std::vector<Instruction*> copies = Copies(values);
      // One that goes may let others go.
      for (size_t before = copies.size() + 1; before != copies.size();) {
        before = copies.size();
        std::erase_if(copies, [&](Instruction* copy) {
          // A broadcast is made again for less than a place to keep it.
          const bool may_add_edges =
              edge_limit_ > 0 && copy->operand(0)->opcode() != Opcode::kBroadcast;
          const auto drop = [&] {
            return sets.TryDrop(*copy) ||
                   (may_add_edges && sets.TryDropByEdges(*copy, edge_limit_, edges));
          };
          if (!(order ? order->TryDrop(*copy, drop) : drop())) return false;
          dropped.push_back(copy);
          return true;
        });
      }
    }
    for (Instruction* copy : dropped) {
      changed_ = changed_ || !added_.contains(copy);
      Drop(copy);
    }
    AddEdges(edges);
    CollapseTuples(tuples_);
    if (module_.is_scheduled()) UpdateSchedules(module_);
  }

  std::vector<Instruction*> Copies(const Values& values) const {
    std::vector<Instruction*> copies;
    for (Computation* computation : module_.computations()) {
      if (!computation->MayHold(Opcode::kCopy)) continue;
      for (Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() == Opcode::kCopy && values.Has(*instruction))
          copies.push_back(instruction);
      }
    }
    return copies;
  }

  void AddEdges(absl::Span<const Interference::Edge> edges) {
    for (const auto& [first, second] : edges) {
      // Of copies that went later, others speak.
      if (first->is_dead() || second->is_dead()) continue;
      const_cast<Instruction*>(second)->AddControlPredecessor(const_cast<Instruction*>(first));
      changed_ = true;
    }
  }

  void Drop(Instruction* copy) {
    Instruction* const operand = copy->operand(0);
    copy->ReplaceAllUsesWith(operand);
    if (copy->is_root()) SetRoot(*operand);
    copy->DropControlEdges();
    copy->parent()->Remove(copy);
  }

  // ---- what is left ----

  absl::Status AddSpecialCases() {
    const Values values(module_);
    Interference interference(values, Interference::Order::kProgram);
    PlaceSets sets(values, interference);
    Fill(values, sets);
    CopyAdder adder(module_, values, dense_);
    const std::vector<Computation*> program = Program(values);
    // Roots first: copies where values are made do not change what is known of them.
    for (Computation* computation : program) AddForSharedResults(*computation, values, sets, adder);
    std::vector<std::pair<Instruction*, std::vector<bool>>> made;
    for (ValueId id = 0; id < values.count(); ++id) {
      const Value& value = values[id];
      if (!value.shape.IsArray() || !IsReadOnly(value, aliases_) || !sets.IsShared(id)) continue;
      auto* const def = const_cast<Instruction*>(value.def);
      if (made.empty() || made.back().first != def)
        made.emplace_back(def, std::vector<bool>(values.Of(*def).size(), false));
      made.back().second[static_cast<size_t>(value.leaf)] = true;
    }
    for (const auto& [def, wanted] : made) adder.AddForUsers(def, wanted);
    return Finish(adder);
  }

  // Leaves of results that are read-only, or lie where an earlier one does.
  void AddForSharedResults(Computation& computation, const Values& values, const PlaceSets& sets,
                           CopyAdder& adder) const {
    const bool is_entry = computation.is_entry();
    const Instruction* conditional = nullptr;
    for (const CallSite& site : computation.callers()) {
      if (site.caller->opcode() == Opcode::kConditional) conditional = site.caller;
    }
    if (!is_entry && conditional == nullptr) return;
    const absl::Span<const ValueId> leaves = values.Of(*computation.root());
    if (!is_entry && values.Of(*conditional).size() != leaves.size()) return;
    std::vector<bool> wanted(leaves.size(), false);
    absl::flat_hash_map<ValueId, size_t> first;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const ValueId value = leaves[i];
      if (!values[value].shape.IsArray()) continue;
      if (is_entry && IsReadOnly(values[value], aliases_)) {
        wanted[i] = true;
      } else if (!is_entry && values[values.Of(*conditional)[i]].def != conditional) {
        continue;
      } else if (const auto [it, is_new] = first.try_emplace(sets.SetOf(value), i); !is_new) {
        // The one that has the memory of an argument keeps it.
        const size_t copied = is_entry && IsAliasedResult(i) ? it->second : i;
        wanted[copied] = true;
      }
    }
    adder.AddForRoot(&computation, wanted);
  }

  bool IsAliasedResult(size_t leaf) const {
    return absl::c_any_of(aliases_, [leaf](const EntryAlias& alias) { return alias.to == leaf; });
  }

  Module& module_;
  PassContext& context_;
  const std::vector<EntryAlias> aliases_;  // asked about each value
  const bool dense_;
  const int64_t edge_limit_;
  bool changed_ = false;
  bool orders_ = false;                            // it is for us to say what comes first
  absl::flat_hash_set<const Instruction*> added_;  // copies; looked up and counted only
  std::vector<Instruction*> tuples_;               // that hold some
};

}  // namespace

absl::StatusOr<bool> CopyInsertion::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  return Inserter(module, context, options_).Run();
}

HLO_DEFINE_PASS(CopyInsertion)

}  // namespace hlo

#include "passes/buffers/copy_adder.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/entry_aliases.h"
#include "lib/analysis/leaves.h"
#include "lib/analysis/place_sets.h"
#include "lib/analysis/reachability.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/builder.h"
#include "lib/ops/async_pairs.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// A program for another back end may say that it has seen to loops itself; ours check it.
bool NeedsNoCopies(const Instruction& loop) {
  return HasTrueAttribute(loop, "xla_disable_while_loop_copies") ||
         HasTrueAttribute(loop, "xla.disable_while_loop_copies");
}

// What it reads of the operand that it updates is not what it writes.
bool HasDisjointRegions(const Instruction& update) {
  return HasTrueAttribute(update, "xla.disjoint_read_write_regions") ||
         HasTrueAttribute(update, "xla_disjoint_read_write_regions");
}

// Whether an update may write over `operand` although that is read: by itself, or by others
// that say the same of themselves.
bool IsReadElsewhereOnly(const Instruction& update, const Instruction& operand) {
  return HasDisjointRegions(update) && absl::c_all_of(operand.uses(), [&](const Use& use) {
           return use.user == &update || HasDisjointRegions(*use.user);
         });
}

std::vector<Instruction*> CopiesOf(const LeafCopies& copies) {
  std::vector<Instruction*> list;
  for (Instruction* copy : copies.by_leaf) {
    if (copy != nullptr) list.push_back(copy);
  }
  return list;
}

// What a start holds until its done is not to be copied in between.
void LeaveStarts(const Instruction& state, std::vector<bool>& wanted) {
  if (YieldsUnderWay(state.opcode())) wanted.assign(wanted.size(), false);
  if (state.opcode() != Opcode::kTuple) return;
  size_t leaf = 0;
  for (const Instruction* operand : state.operands()) {
    const auto end = leaf + static_cast<size_t>(LeafCount(operand->shape()));
    for (; leaf < end; ++leaf) {
      if (YieldsUnderWay(operand->opcode())) wanted[leaf] = false;
    }
  }
}

// Loops may be valid and mean nothing: their state has another number of leaves here and there.
bool IsOfOneState(const Instruction& loop) {
  const int64_t leaves = LeafCount(loop.shape());
  const Computation& body = *loop.while_body();
  return LeafCount(loop.operand(0)->shape()) == leaves &&
         LeafCount(body.parameter(0)->shape()) == leaves &&
         LeafCount(body.root()->shape()) == leaves;
}

// Also of the computation's result.
void MoveUses(Instruction* from, Instruction* to) {
  from->ReplaceAllUsesWith(to);
  if (from->is_root()) from->parent()->set_root(to);
}

bool Any(const std::vector<bool>& wanted) { return absl::c_linear_search(wanted, true); }

}  // namespace

// ---- copies of leaves ----

bool CopyAdder::NeedsCopy(Shape leaf) const {
  return leaf.IsArray() && (!dense_ || NeedsMemory(leaf));
}

std::vector<bool> CopyAdder::AllOf(Shape shape) const {
  std::vector<bool> wanted;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) { wanted.push_back(NeedsCopy(leaf)); });
  return wanted;
}

// With `may_reuse`, a tuple that nobody else reads gets the copies as operands.
LeafCopies CopyAdder::CopyLeaves(Instruction* value, const std::vector<bool>& wanted,
                                 bool may_reuse) {
  LeafCopies copies;
  copies.value = Rebuild(value, may_reuse, wanted, copies);
  tuples_.insert(tuples_.end(), copies.tuples.begin(), copies.tuples.end());
  return copies;
}

Instruction* CopyAdder::Rebuild(Instruction* value, bool may_reuse, const std::vector<bool>& wanted,
                                LeafCopies& copies) {
  const size_t first = copies.by_leaf.size();
  if (value->shape().IsTuple()) {
    const auto end = first + static_cast<size_t>(LeafCount(value->shape()));
    const bool any = std::find(wanted.begin() + static_cast<int64_t>(first),
                               wanted.begin() + static_cast<int64_t>(end),
                               true) != wanted.begin() + static_cast<int64_t>(end);
    // What is under way has one reader, its done.
    if (any && !IsUnderWay(*value)) return RebuildTuple(value, may_reuse, wanted, copies);
    copies.by_leaf.resize(end, nullptr);
    return value;
  }
  copies.by_leaf.push_back(nullptr);
  if (!wanted[first]) return value;
  Builder builder(value);
  Instruction* const copy = builder.OpWithShape(Opcode::kCopy, value->shape(), {value});
  copies.by_leaf.back() = copy;
  copies_.push_back(copy);
  return copy;
}

Instruction* CopyAdder::RebuildTuple(Instruction* value, bool may_reuse,
                                     const std::vector<bool>& wanted, LeafCopies& copies) {
  const bool is_tuple = value->opcode() == Opcode::kTuple;
  const bool reuses = may_reuse && is_tuple && value->use_count() <= 1;
  Builder builder(value);
  std::vector<Instruction*> elements;
  for (int i = 0; i < value->shape().element_count_of_tuple(); ++i) {
    // What is under way has one reader: `value`, where that stays.
    Instruction* const element = reuses ? value->operand(i) : ReadElement(builder, value, i);
    if (!is_tuple || element != value->operand(i)) copies.elements.push_back(element);
    elements.push_back(Rebuild(element, reuses, wanted, copies));
  }
  if (!reuses) {
    copies.tuples.push_back(builder.OpWithShape(Opcode::kTuple, value->shape(), elements));
    return copies.tuples.back();
  }
  for (int i = 0; i < value->operand_count(); ++i) {
    if (value->operand(i) != elements[static_cast<size_t>(i)])
      value->ReplaceOperand(i, elements[static_cast<size_t>(i)]);
  }
  copies.tuples.push_back(value);
  return value;
}

// Copies that everyone but themselves reads instead of `value`. Elements that were taken out of it
// before are what is copied, so that little changes when the copies go again.
LeafCopies CopyAdder::CopyForUsers(Instruction* value, const std::vector<bool>& wanted) {
  const std::vector<Use> uses(value->uses().begin(), value->uses().end());
  const bool was_root = value->is_root();
  LeafCopies copies = CopyLeaves(value, wanted, /*may_reuse=*/false);
  std::vector<bool> replaced(copies.elements.size(), false);
  for (const Use& use : uses) {
    Instruction* const user = use.user;
    if (user->opcode() != Opcode::kGetTupleElement || user->has_control_edges()) {
      user->ReplaceOperand(use.operand_index, copies.value);
      continue;
    }
    const auto index = static_cast<size_t>(user->tuple_index());
    Instruction* const element = copies.value->operand(static_cast<int>(index));
    const bool is_copy = element->opcode() == Opcode::kCopy;
    if (!replaced[index] && (is_copy || element->opcode() == Opcode::kGetTupleElement)) {
      Instruction* const fresh = is_copy ? element->operand(0) : element;
      if (is_copy) MoveUses(user, element);
      fresh->ReplaceAllUsesWith(user);
      value->parent()->Remove(fresh);
      *absl::c_find(copies.elements, fresh) = user;
      replaced[index] = true;
    } else {
      MoveUses(user, element);
      value->parent()->Remove(user);
    }
  }
  if (was_root) value->parent()->set_root(copies.value);
  if (!copies.tuples.empty() && !copies.value->is_used())
    value->parent()->RemoveUnused(copies.value);
  std::erase_if(copies.elements, [](const Instruction* i) { return i->is_dead(); });
  std::erase_if(copies.tuples, [](const Instruction* i) { return i->is_dead(); });
  for (Instruction*& copy : copies.by_leaf) {
    if (copy != nullptr && copy->is_dead()) copy = nullptr;
  }
  return copies;
}

void CopyAdder::Place(Computation* computation, const Instruction* before, bool at_begin,
                      const LeafCopies& copies, const std::vector<Instruction*>& order) {
  Addition addition{computation, before, at_begin, copies.elements};
  addition.instructions.insert(addition.instructions.end(), order.begin(), order.end());
  addition.instructions.insert(addition.instructions.end(), copies.tuples.begin(),
                               copies.tuples.end());
  additions_.push_back(std::move(addition));
}

// ---- where they are needed ----

void CopyAdder::AddForLoop(Instruction* loop) {
  if (!dense_ && NeedsNoCopies(*loop)) return;
  if (!IsOfOneState(*loop)) return;
  const absl::Span<const ValueId> state = values_.Of(*loop),
                                  initial = values_.Of(*loop->operand(0));
  std::vector<bool> wanted = AllOf(loop->shape());
  for (size_t i = 0; i < state.size(); ++i) {
    // What the body hands on as it is stays where it was.
    if (state[i] == initial[i]) wanted[i] = false;
  }
  LeaveStarts(*loop->operand(0), wanted);
  LeaveStarts(*loop->while_body()->root(), wanted);
  if (!Any(wanted)) return;

  const LeafCopies before =
      CopyLeaves(loop->operand(0), wanted, /*may_reuse=*/!loop->operand(0)->is_root());
  loop->ReplaceOperand(0, before.value);
  Place(loop->parent(), loop, false, before, CopiesOf(before));

  Computation* const body = loop->while_body();
  const absl::Span<const ValueId> handed = values_.Of(*body->root());
  Instruction* const parameter = body->parameter(0);
  const LeafCopies state_copies = CopyForUsers(parameter, wanted);
  Place(body, nullptr, true, state_copies, CopiesOf(state_copies));

  const LeafCopies result = CopyLeaves(body->root(), wanted, !body->root()->has_uses());
  const std::vector<Instruction*> order = InOrderOfHanding(state, handed, result);
  body->set_root(result.value);
  Place(body, nullptr, false, result, order);
  if (dense_) return;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (state_copies.by_leaf[i] != nullptr)
      result.by_leaf[i]->AddControlPredecessor(state_copies.by_leaf[i]);
  }
}

// Copies at the end of a body, such that one which writes an element of the state comes after those
// that read it. Where they go in a circle, one of them has to begin.
std::vector<Instruction*> CopyAdder::InOrderOfHanding(absl::Span<const ValueId> state,
                                                      absl::Span<const ValueId> result,
                                                      const LeafCopies& copies) {
  absl::flat_hash_map<ValueId, int> readers;  // of elements of the state that are still to be read
  for (size_t i = 0; i < state.size(); ++i) {
    if (copies.by_leaf[i] != nullptr && result[i] != state[i]) ++readers[result[i]];
  }
  std::vector<Instruction*> order;
  std::vector<bool> done(state.size(), false);
  absl::flat_hash_map<ValueId, size_t> leaf_of;
  for (size_t i = 0; i < state.size(); ++i) leaf_of[state[i]] = i;
  const auto is_free = [&](size_t i) {
    const auto it = readers.find(state[i]);
    return it == readers.end() || it->second == 0;
  };
  // Ends at an element that is still read, or was dealt with.
  const auto take = [&](size_t i) {
    while (!done[i]) {
      done[i] = true;
      if (copies.by_leaf[i] == nullptr) return;
      order.push_back(copies.by_leaf[i]);
      if (result[i] == state[i]) return;
      --readers[result[i]];
      const auto next = leaf_of.find(result[i]);
      if (next == leaf_of.end() || !is_free(next->second)) return;
      i = next->second;
    }
  };
  for (size_t i = 0; i < state.size(); ++i) {
    if (is_free(i)) take(i);
  }
  for (size_t i = 0; i < state.size(); ++i) take(i);
  return order;
}

void CopyAdder::AddForConditional(Instruction* conditional) {
  std::vector<bool> wanted = AllOf(conditional->shape());
  const absl::Span<const ValueId> result = values_.Of(*conditional);
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = wanted[i] && values_[result[i]].def == conditional;
  if (!Any(wanted)) return;
  for (Computation* branch : conditional->calls()) {
    if (LeafCount(branch->root()->shape()) == std::ssize(wanted)) AddForRoot(branch, wanted);
  }
}

void CopyAdder::AddForRoot(Computation* computation, const std::vector<bool>& wanted) {
  if (!Any(wanted)) return;
  const LeafCopies copies = CopyLeaves(computation->root(), wanted,
                                       /*may_reuse=*/!computation->root()->has_uses());
  computation->set_root(copies.value);
  Place(computation, nullptr, false, copies, CopiesOf(copies));
}

void CopyAdder::AddForUsers(Instruction* value, std::vector<bool> wanted) {
  for (const Use& use : value->uses()) {
    if (use.user->opcode() == Opcode::kWhile) LeaveStarts(*use.user->while_body()->root(), wanted);
  }
  if (!Any(wanted)) return;
  const LeafCopies copies = CopyForUsers(value, wanted);
  Place(value->parent(), nullptr, true, copies, CopiesOf(copies));
}

void CopyAdder::AddForUpdate(Instruction* instruction) {
  std::vector<std::vector<bool>> wanted(static_cast<size_t>(instruction->operand_count()));
  for (const InPlacePair& pair : InPlacePairs(*instruction)) {
    std::vector<bool>& leaves = wanted[static_cast<size_t>(pair.operand)];
    const std::vector<bool> all = AllOf(instruction->operand(pair.operand)->shape());
    leaves.resize(all.size(), false);
    leaves[static_cast<size_t>(pair.operand_leaf)] = all[static_cast<size_t>(pair.operand_leaf)];
  }
  for (int i = 0; i < instruction->operand_count(); ++i) {
    const std::vector<bool>& leaves = wanted[static_cast<size_t>(i)];
    if (!Any(leaves) || IsReadElsewhereOnly(*instruction, *instruction->operand(i))) continue;
    const LeafCopies copies = CopyLeaves(instruction->operand(i), leaves, /*may_reuse=*/false);
    instruction->ReplaceOperand(i, copies.value);
    Place(instruction->parent(), instruction, false, copies, CopiesOf(copies));
  }
}

void CopyAdder::AddForChain(const StartedChain& chain) {
  Instruction* const begin = chain.begin;
  std::vector<Instruction*> taken;
  // Starts that are dense hand over all their operands.
  const int handed = dense_ ? begin->operand_count() : std::min(begin->operand_count(), 1);
  for (int i = 0; i < handed; ++i) {
    const LeafCopies copies =
        CopyLeaves(begin->operand(i), AllOf(begin->operand(i)->shape()), /*may_reuse=*/false);
    begin->ReplaceOperand(i, copies.value);
    const std::vector<Instruction*> list = CopiesOf(copies);
    Place(begin->parent(), begin, false, copies, list);
    taken.insert(taken.end(), list.begin(), list.end());
  }
  Instruction* const end = chain.end;
  // A program may say itself that the next one begins before this one ends.
  if (end == nullptr || Reachability(*begin->parent()).DependsOn(end, begin)) return;
  begin->AddControlPredecessor(end);
  for (Instruction* copy : taken) copy->AddControlPredecessor(end);
  const std::vector<bool> given = AllOf(end->shape());
  if (!Any(given)) return;
  for (Instruction* copy : CopiesOf(CopyForUsers(end, given))) begin->AddControlPredecessor(copy);
}

void CopyAdder::AddForEntryAliases() {
  Computation* const entry = module_.entry();
  std::vector<bool> results(static_cast<size_t>(LeafCount(entry->root()->shape())), false);
  const std::vector<bool> all = AllOf(entry->root()->shape());
  std::vector<std::pair<size_t, Instruction*>> given;  // leaf of the result, copy of the argument
  const std::vector<EntryAlias> aliases = EntryAliases(module_);
  for (Instruction* parameter : entry->parameters()) {
    const std::vector<bool> arrays = AllOf(parameter->shape());
    std::vector<bool> wanted(arrays.size(), false);
    std::vector<std::pair<size_t, size_t>> pairs;
    for (const EntryAlias& alias : aliases) {
      if (alias.parameter != parameter || !arrays[alias.from] || !all[alias.to]) continue;
      wanted[alias.from] = results[alias.to] = true;
      pairs.emplace_back(alias.from, alias.to);
    }
    if (pairs.empty()) continue;
    const LeafCopies copies = CopyForUsers(parameter, wanted);
    Place(entry, nullptr, true, copies, CopiesOf(copies));
    for (const auto& [from, to] : pairs) given.emplace_back(to, copies.by_leaf[from]);
  }
  if (given.empty()) return;
  const LeafCopies copies = CopyLeaves(entry->root(), results, !entry->root()->has_uses());
  entry->set_root(copies.value);
  Place(entry, nullptr, false, copies, CopiesOf(copies));
  for (const auto& [to, copy] : given) {
    Instruction* const result = copies.by_leaf[to];
    if (copy != nullptr && result != nullptr) result->AddControlPredecessor(copy);
  }
}

void CopyAdder::AddForResults() {
  AddForRoot(module_.entry(), AllOf(module_.entry()->root()->shape()));
}

// ---- afterwards ----

void CopyAdder::Schedule() const {
  absl::flat_hash_map<const Computation*, std::vector<const Addition*>> by_computation;
  std::vector<Computation*> computations;
  for (const Addition& addition : additions_) {
    std::vector<const Addition*>& list = by_computation[addition.computation];
    if (list.empty()) computations.push_back(addition.computation);
    list.push_back(&addition);
  }
  for (Computation* computation : computations) {
    if (!computation->has_schedule()) continue;  // a fusion's body that a conditional runs, too
    std::vector<Instruction*> begin, end, order;
    absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> before;
    absl::flat_hash_set<const Instruction*> added;
    for (const Addition* addition : by_computation[computation]) {
      std::vector<Instruction*>& list = addition->at_begin            ? begin
                                        : addition->before == nullptr ? end
                                                                      : before[addition->before];
      for (Instruction* instruction : addition->instructions) {
        if (added.insert(instruction).second) list.push_back(instruction);
      }
    }
    const auto append = [&order](const std::vector<Instruction*>& list) {
      for (Instruction* instruction : list) {
        if (!instruction->is_dead()) order.push_back(instruction);
      }
    };
    for (Instruction* parameter : computation->parameters()) order.push_back(parameter);
    append(begin);
    for (Instruction* instruction : computation->schedule()) {
      if (instruction->is_dead() || instruction->opcode() == Opcode::kParameter ||
          added.contains(instruction))
        continue;
      if (const auto it = before.find(instruction); it != before.end()) append(it->second);
      order.push_back(instruction);
    }
    append(end);
    computation->set_schedule(std::move(order));
  }
}

void CollapseTuples(absl::Span<Instruction* const> tuples) {
  for (Instruction* tuple : tuples) {
    if (tuple->is_dead() || tuple->opcode() != Opcode::kTuple) continue;
    Computation* const computation = tuple->parent();
    if (!tuple->is_used()) {
      computation->RemoveUnused(tuple);
      continue;
    }
    Instruction* whole = nullptr;
    for (int i = 0; i < tuple->operand_count(); ++i) {
      const Instruction* element = tuple->operand(i);
      const bool fits = element->opcode() == Opcode::kGetTupleElement &&
                        element->tuple_index() == i &&
                        (whole == nullptr || whole == element->operand(0));
      whole = fits ? element->operand(0) : nullptr;
      if (!fits) break;
    }
    if (whole == nullptr || whole->shape() != tuple->shape()) continue;
    tuple->ReplaceAllUsesWith(whole);
    if (tuple->is_root()) computation->set_root(whole);
    computation->RemoveUnused(tuple);
  }
}

}  // namespace hlo

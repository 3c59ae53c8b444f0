// The first half of copy-insertion: adds a copy wherever values that have to lie in one place might
// meet there.
//
// One object per run of the pass. `values` is what is known before anything is added; later
// additions are known by the instructions that they replaced.
#pragma once

#include <vector>

#include "lib/analysis/alias.h"
#include "lib/analysis/values.h"
#include "lib/ir/module.h"
#include "passes/buffers/started_chains.h"

namespace hlo {

// Copies of the leaves of one value.
struct LeafCopies {
  Instruction* value = nullptr;        // with copies in the places of the leaves
  std::vector<Instruction*> by_leaf;   // null: not copied
  std::vector<Instruction*> elements;  // get-tuple-elements that they read
  std::vector<Instruction*> tuples;    // that hold the copies, inner ones first
};

class CopyAdder {
 public:
  // `dense`: as the option of the pass.
  CopyAdder(Module& module, const Values& values, bool dense)
      : module_(module), values_(values), dense_(dense) {}

  void AddForLoop(Instruction* loop);
  void AddForConditional(Instruction* conditional);
  // Copies of operands that an instruction is to write over.
  void AddForUpdate(Instruction* instruction);
  // Copies of what is handed over across the border of a loop, and of what comes back, with edges
  // that keep the two iterations apart.
  void AddForChain(const StartedChain& chain);
  // Copies of donated arguments, and of the results that take their memory.
  void AddForEntryAliases();
  // Copies of the results of the entry.
  void AddForResults();
  // Copies of leaves of a value for all of its users, and of leaves of a computation's result.
  void AddForUsers(Instruction* value, std::vector<bool> wanted);
  void AddForRoot(Computation* computation, const std::vector<bool>& wanted);

  // Puts what was added into the schedules of the computations.
  void Schedule() const;
  const std::vector<Instruction*>& copies() const { return copies_; }
  const std::vector<Instruction*>& tuples() const { return tuples_; }

 private:
  // Where to put instructions: before one, at the beginning, or at the end.
  struct Addition {
    Computation* computation;
    const Instruction* before;
    bool at_begin;
    std::vector<Instruction*> instructions;
  };

  bool NeedsCopy(Shape leaf) const;
  std::vector<bool> AllOf(Shape shape) const;
  LeafCopies CopyLeaves(Instruction* value, const std::vector<bool>& wanted, bool may_reuse);
  Instruction* Rebuild(Instruction* value, bool may_reuse, const std::vector<bool>& wanted,
                       LeafCopies& copies);
  Instruction* RebuildTuple(Instruction* value, bool may_reuse, const std::vector<bool>& wanted,
                            LeafCopies& copies);
  LeafCopies CopyForUsers(Instruction* value, const std::vector<bool>& wanted);
  void Place(Computation* computation, const Instruction* before, bool at_begin,
             const LeafCopies& copies, const std::vector<Instruction*>& order);
  static std::vector<Instruction*> InOrderOfHanding(absl::Span<const ValueId> state,
                                                    absl::Span<const ValueId> result,
                                                    const LeafCopies& copies);

  Module& module_;
  const Values& values_;
  const bool dense_;
  std::vector<Addition> additions_;
  std::vector<Instruction*> copies_;  // all that were added
  std::vector<Instruction*> tuples_;  // all that hold some
};

// Replaces tuples that hold the elements of one value by that value, and removes unused ones.
void CollapseTuples(absl::Span<Instruction* const> tuples);

}  // namespace hlo

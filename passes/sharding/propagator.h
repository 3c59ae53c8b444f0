// Carries shardings through a module until nothing changes: in each computation from groups of
// values that are sharded alike, forward from operands, backward from users; over the borders of
// loops, conditionals and calls as soon as one side changes.
//
// What was looked at and gave nothing is looked at again when a neighbour changed, so the work is
// about the instructions plus the changes. Every step says more than what was known (Improved), so
// there is an end.
#pragma once

#include <vector>

#include "passes/sharding/open_dims.h"
#include "passes/sharding/propagation_rules.h"
#include "passes/sharding/sharding_annotations.h"

namespace hlo {

struct PropagationLimits {
  bool is_spmd = true;
  bool to_output = false;      // of the entry
  bool to_parameters = false;  // of the entry
};

// Where a loop, conditional or call hands values over: it and the instructions that have the same
// sharding. Of a parameter: what it is given.
std::vector<Instruction*> RelatedInstructions(Instruction& instruction,
                                              const ShardedCallers& callers);

class Propagator {
 public:
  Propagator(Module& module, PropagationLimits limits, const ShardedCallers& callers,
             const ShardingAnnotations& annotations);
  // Its sharding is not to change, but along dimensions that are left open.
  void Fix(const Instruction& instruction) { is_fixed_[instruction.id()] = true; }
  // It has its sharding only because it has the value of another instruction.
  void Tie(const Instruction& instruction) { is_tied_[instruction.id()] = true; }
  bool IsFixed(const Instruction& instruction) const { return is_fixed_[instruction.id()]; }
  void RunToFixPoint(int level);
  int64_t forward_count() const { return forward_count_; }
  int64_t backward_count() const { return backward_count_; }

 private:
  struct Body {
    Computation* computation;
    std::vector<Instruction*> order;  // operands first
    bool is_stale = true;             // something in it is to be looked at again
  };

  void Visit(Body& body);
  void FromGroups(const Body& body);
  void Forward(Instruction& instruction);
  void Backward(Instruction& instruction);
  bool ImproveFromGroup(Instruction& instruction, const std::vector<Instruction*>& group);
  bool ImproveForward(Instruction& instruction);
  bool ImproveBackward(Instruction& instruction);
  bool TakeManualFromUsers(Instruction& instruction);
  bool ImproveFromUser(Instruction& instruction, const Instruction& user);
  bool MayBeSplit(const Instruction& instruction, bool is_forward) const;
  // Whether all that have the value of an annotation over the borders of computations can change
  // with it.
  bool MayRefine(Instruction& annotation) const;
  bool MayShare(Instruction& instruction, const DimVec& open) const;
  // All that have the value of `instruction` over the borders of computations, itself first.
  std::vector<Instruction*> Sharers(Instruction& instruction) const;
  // An annotation (with `after`, the conversion after it) was refined.
  void Refined(Instruction& annotation, Instruction* after);
  // After `instruction` changed (with `after`, the one after it): its neighbours look again.
  void Wake(const Instruction& instruction, const Instruction* after = nullptr);
  void WakeOne(std::vector<bool>& seen, const Instruction& instruction);
  // Over the borders of computations, and all that follows.
  void Changed(Instruction& instruction);
  void Spread(Instruction& instruction, std::vector<Instruction*>& changed);
  void SpreadAmong(Instruction& related_to, Instruction& source,
                   std::vector<Instruction*>& changed);

  PropagationLimits limits_;
  PropagationContext context_;
  const ShardedCallers& callers_;
  const ShardingAnnotations& annotations_;
  const Instruction* entry_root_;
  std::vector<Body> bodies_;
  std::vector<size_t> body_of_;  // by serial of the computation
  // By id of the instruction.
  std::vector<bool> is_fixed_, is_tied_, seen_by_group_, seen_forward_, seen_backward_;
  int64_t forward_count_ = 0, backward_count_ = 0;
};

}  // namespace hlo

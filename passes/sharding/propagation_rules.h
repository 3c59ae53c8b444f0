// What the sharding of an instruction follows from: its operands (forward), its users (backward).
//
// Propagation goes through the module several times, more boldly each time ("level"): first through
// what only passes data on, at 1 through everything, at 2 from broadcasts to what they broadcast,
// at 3 into broadcasts.
#pragma once

#include <vector>

#include "passes/sharding/instruction_sharding.h"

namespace hlo {

// The loop, conditional or call that runs each computation whose values are sharded with it.
class ShardedCallers {
 public:
  explicit ShardedCallers(const Module& module) : callers_(module.serial_limit(), nullptr) {}
  void Add(const Computation& computation, Instruction* caller) {
    callers_[computation.serial()] = caller;
  }
  Instruction* Of(const Computation& computation) const { return callers_[computation.serial()]; }

 private:
  std::vector<Instruction*> callers_;  // by serial
};

// What the parameter of a branch or of a called computation is given; null: none, or a loop's.
Instruction* ArgumentOf(const Instruction& parameter, const ShardedCallers& callers);

struct PropagationContext {
  bool is_spmd = true;
  int level = 0;
  const ShardedCallers* callers = nullptr;
  bool may_combine() const { return is_spmd && level > 0; }
  ImproveOptions Keeping() const { return {may_combine(), /*may_reshard=*/false}; }
  // For results that one instruction reads: data moves once, before it or after it.
  ImproveOptions For(const Instruction& instruction) const {
    return {may_combine(), HasOneInnerUser(instruction)};
  }
};

constexpr int kBoldestLevel = 3;

// Whether shardings go through this at the level.
bool PassesAt(const Instruction& instruction, int level);
// One of the custom calls whose result is their operand with other contents.
bool IsPassThroughCall(const Instruction& instruction);
// The operand whose sharding is that of the result, if there is such a one; of several that could
// be, the one that says most.
const Instruction* RepresentativeOperand(const Instruction& instruction);

// Improves the sharding of `instruction` by those of its operands; whether that changed it.
bool ImproveFromOperands(Instruction& instruction, const PropagationContext& context);
// Of those with rules of more than a few lines.
bool ImproveDot(Instruction& dot, const PropagationContext& context);
bool ImproveConvolution(Instruction& convolution, const PropagationContext& context);
bool ImproveGather(Instruction& gather, const PropagationContext& context);
bool ImproveScatter(Instruction& scatter, const PropagationContext& context);

// What `user` would like its operand `instruction` to have.
std::optional<Sharding> ShardingFromUser(const Instruction& instruction, const Instruction& user,
                                         const PropagationContext& context);
std::optional<Sharding> OperandOfDot(const Instruction& operand, const Instruction& dot,
                                     const PropagationContext& context);
std::optional<Sharding> OperandOfConvolution(const Instruction& operand,
                                             const Instruction& convolution,
                                             const PropagationContext& context);
std::optional<Sharding> OperandOfGather(const Instruction& operand, const Instruction& gather,
                                        const PropagationContext& context);
std::optional<Sharding> OperandOfScatter(const Instruction& operand, const Instruction& scatter,
                                         const PropagationContext& context);

}  // namespace hlo

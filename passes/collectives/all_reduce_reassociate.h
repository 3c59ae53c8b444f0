// Combines before devices reduce, so that they reduce once.
//
//   add(all-reduce(x), all-reduce(y)), both to_apply=add      =>   all-reduce(add(x, y)), to_apply=add
//
// Between the all-reduces and the operation there may be reshapes, slices and pads by what changes
// nothing; they stay in front of the operation. With `reassociate_converted_ar` there may be
// conversions to a type that holds all values, too: then the wider type is reduced. Two equal
// dynamic-slices of all-reduces become one after the all-reduce. It has the channel of the first.
//
// Requires: nothing.  Leaves alone: all-reduces that differ in more than their channel, that
// something else reads, or that combine by another operation, or the bits of integers; several
// arrays at once; where more elements would be reduced than before; modules with all-reduces of
// constrained layouts.
#pragma once

#include "lib/support/decision.h"
#include "passes/pass.h"

namespace hlo {

struct AllReduceReassociateOptions {
  bool reassociate_converted_ar = false;

  HLO_OPTIONS(AllReduceReassociateOptions, reassociate_converted_ar)
};

class AllReduceReassociate final : public WithOptions<Pass, AllReduceReassociateOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Instruction* AllReduceBelow(Instruction* value, Opcode combine) const;
  Decision MayCombine(const Instruction& op, const Instruction& a, const Instruction& b) const;
  absl::StatusOr<bool> Reassociate(Instruction* op, PassContext& context);
  absl::StatusOr<bool> ReassociateParts(Instruction* op, PassContext& context);
};

}  // namespace hlo

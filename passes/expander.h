// A pass that writes certain instructions in terms of others: Roots and Matches say which, Expand
// builds the replacement.
//
//   logistic(x)  =>  1 / (1 + exp(-x))
//
// Visits computations but bodies of fusions and async-starts, callees first, in post-order; what an
// expansion builds is not visited again, nor is what has no meaning (lib/ir/verify_meaning.h).
// Sharding, metadata and control edges move to the replacement.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class ExpanderPass : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) final;

 protected:
  // The opcodes that Matches is asked about.
  virtual OpcodeSet Roots() const = 0;
  virtual bool Matches(const Instruction& instruction) const = 0;
  // The value that replaces `instruction`, of a compatible shape; null: it has replaced the
  // instruction itself.
  virtual absl::StatusOr<Instruction*> Expand(Instruction* instruction, Rewriter& rewriter) = 0;
};

}  // namespace hlo

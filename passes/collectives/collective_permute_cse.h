// Sends once what is sent twice.
//
//   a = collective-permute(x), source_target_pairs=P
//   b = collective-permute(slice(x, [2:4])), source_target_pairs=P      =>   b = slice(a, [2:4])
//
// Of two permutes between the same devices that send the same array, or one of them a slice of what
// the other sends, one is taken from the result of the other, whichever comes first. The other then
// waits no longer for it; one that others wait for stays, without readers.
//
// Requires: nothing.  Leaves alone: permutes of several arrays, or in place; two slices of one
// array; permutes that nothing reads, be they the root; unlike XLA, one with a channel and one
// without.
#pragma once

#include "passes/computation_pass.h"

namespace hlo {

class CollectivePermuteCse final : public ComputationPass {
 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo

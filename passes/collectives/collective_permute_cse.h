// Sends once what is sent twice.
//
//   a = collective-permute(x), source_target_pairs=P
//   b = collective-permute(slice(x, [2:4])), source_target_pairs=P      =>   b = slice(a, [2:4])
//
// Of two permutes between the same devices that send the same array, or a part of what the other
// sends, one is taken from the result of the other, whichever comes first. A part is a slice of a
// slice without strides, or of the array itself.
//
// Requires: nothing.  Leaves alone: permutes with control edges, of several arrays, or in place;
// one with a channel and one without.
#pragma once

#include "passes/computation_pass.h"

namespace hlo {

class CollectivePermuteCse final : public ComputationPass {
 protected:
  absl::StatusOr<bool> RunOnComputation(Computation& computation, PassContext& context) override;
};

}  // namespace hlo

// Sends once what is sent twice.
//
//   a = collective-permute(x), source_target_pairs=P
//   b = collective-permute(slice(x, [2:4])), source_target_pairs=P      =>   b = slice(a, [2:4])
//
// The later of two permutes between the same devices that send the same array, or a part of what
// the earlier one sends, is taken from the result of the earlier one. A part is a slice without
// strides, or an array and a slice of it.
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

// Lets equal computations be one, as `subcomputation-unification` does, where it is worth it.
//
//   f { negate(p) }   g { negate(q) }   a = call(x), to_apply=f   b = call(y), to_apply=g     =>   both call f
//
// Compared are computations of at most 128 instructions and 1024 bytes of constants that no
// collective applies; layouts, backend configs and callees count. Option
// `mark_fusion_duplications`: nothing is replaced, fusions whose computation has a twin get the
// frontend attribute `has_duplicates="true"`.
//
// Requires: nothing.  Leaves alone: the entry, computations of fusions and asynchronous operations,
// which have one each, elided constants.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct ComputationDeduplicatorOptions {
  bool mark_fusion_duplications = false;

  HLO_OPTIONS(ComputationDeduplicatorOptions, mark_fusion_duplications)
};

class ComputationDeduplicator final : public WithOptions<Pass, ComputationDeduplicatorOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

// Computes before it gathers: less to compute, and one array to gather instead of two.
//
//   add(all-gather(a), all-gather(b))      =>   all-gather(add(a, b))
//
// Of sums, products, minima, maxima and the bitwise ones, as in XLA.
//
// The new all-gather has the channel and the backend config of the first, and constrains no layout.
//
// Requires: nothing.  Leaves alone: all-gathers that differ in dimension, groups, kind of ids or
// backend config, of other types or layouts, or that something else reads; several arrays at once.
#pragma once

#include "passes/pass.h"

namespace hlo {

class AllGatherOptimizer final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

// Makes one kernel of small loops that do not read each other but have a common reader.
//
//   m = f32[8] fusion(a, b), kind=kLoop, calls={multiply}
//   s = f32[8] fusion(c, d), kind=kLoop, calls={add}
//   t = tuple(m, s)
//     =>   h = (f32[8], f32[8]) fusion(a, b, c, d), kind=kLoop, calls={tuple(multiply, add)}
//          t = tuple(get-tuple-element(h), index=0, get-tuple-element(h), index=1)
//
// Loops over other shapes than each other, which are smaller yet, become one loop over all their
// elements, kind=kInput, from which each takes its slice:
//
//   tuple(slice(c), slice(c))   where c = concatenate(reshape(multiply), reshape(add))
//
// Readers are visited from the last to the first; a new kernel is looked at as a reader again.
// Members have one element type and number of outputs, and together at most 31 outputs (63 of
// instructions that are no fusions) and 4,000 bytes of addresses. Under the older name
// gpu_horizontal_fusion only slices are made, of loops of as many instructions, from the first
// reader to the last, and nothing that is updated in place is taken in.
//
// Requires: nothing. Ensures: narrow elements that are put together are packed.
// Leaves alone: loops that others read, too; large ones (8192*8192 elements and 128 instructions;
// for slices 128*2048 and 30); other layouts than each other's; for slices layouts that are not
// row-major, and loops that read the same parameter, which the result could not share memory with
// any more; control edges and shardings; dynamic shapes; computations that run per element.
#pragma once

#include <string>

#include "passes/pass.h"

namespace hlo {

struct HorizontalLoopFusionOptions {
  std::string prefix;  // of the names of new fusions and their computations
  bool only_entry_computation = false;

  HLO_OPTIONS(HorizontalLoopFusionOptions, prefix, only_entry_computation)
};

class HorizontalLoopFusion final : public WithOptions<Pass, HorizontalLoopFusionOptions> {
 public:
  using WithOptions::WithOptions;
  void set_older() { is_older_ = true; }
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  bool is_older_ = false;
};

}  // namespace hlo

// Finds sorts of which only the first elements are read, and asks for these alone.
//
//   s = (f32[4,100], s32[4,100]) sort(x, iota), dimensions={1}, to_apply=greater
//   v = f32[4,5] slice(gte(s, 0)), slice={[0:4], [0:5]}
//       =>   t = (f32[4,5], s32[4,5]) custom-call(x), custom_call_target="TopK", called_computations={greater},
//                backend_config="{is_stable = false}"
//            v = gte(t, 0)
//
// (Older releases of XLA do not write the backend config.)
//
// The sort has one operand, or a second one that is an s32 iota along the sorted dimension (or the
// broadcast or reshape of one); its comparator is "greater than" on the first two parameters, taken
// as they are, as integers in the order of floats (bitcast-convert with the bits of negative values
// flipped), or chosen by a constant predicate. Every reader is a slice of stride 1 of the first k
// along the sorted dimension and of everything along the others, with the same k. A sort along the
// first dimension goes through transposes, more than two dimensions through reshapes.
//
// Options: `types` lists the element types for which it is done, separated by `;`; `min_size` is
// the least size of the sorted dimension.
//
// Requires: nothing.  Leaves alone: slices that do not start at 0, sorts along inner dimensions,
// other comparators. What is unused then is left to `dce`.
#pragma once

#include "passes/pass.h"
#include "passes/util/type_lists.h"

namespace hlo {

struct TopkRewriterOptions {
  ElementTypeList types{{ElementType::kF32, ElementType::kBF16}};
  int64_t min_size = 0;

  HLO_OPTIONS(TopkRewriterOptions, types, min_size)
};

class TopkRewriter final : public WithOptions<Pass, TopkRewriterOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

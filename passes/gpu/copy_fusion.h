// Lets a kernel write what it computes twice, where the second time was a copy.
//
//   f = f32[8] fusion(x), kind=kLoop, calls={negate}
//   c = f32[8] copy(f)
//     =>   f = (f32[8], f32[8]) fusion(x), kind=kLoop, calls={n = negate, tuple(n, copy(n))}
//          c = get-tuple-element(f), index=1
//
// A bitcast, and the element of a fusion of several outputs, may stand before the copy. Copies of
// 1 MiB or more of one number are filled once more instead, where nothing needs both arrays at a
// time: each is made when it is wanted.
//
//   f = f32[524288] fusion(), calls={broadcast(0)}     r = f32[524288] fusion(), calls={broadcast(0)}
//   c = f32[524288] copy(f)                       =>   c is r, f stays for others
//
// Requires: copies are those that copy-insertion wants.  Ensures: nothing.
// Leaves alone: copies to another layout, of tuples, with control edges; kernels that would have
// too many outputs; fusions that do more than loop over the elements of what they read, that update
// in place or reduce, of kind kCustom, with shardings, or whose tuple is read as a whole;
// computations but the entry, where a copy may share its memory with what the fusion reads.
#pragma once

#include "passes/pass.h"

namespace hlo {

class CopyFusion final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

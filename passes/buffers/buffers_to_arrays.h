// Makes arrays of buffers: for platforms that decide themselves what is written in place.
//
//   b = b(f32[4]) custom-call(x), custom_call_target="Pin"
//   d = b(f32[4]) dynamic-update-slice(b, u, i)                  =>   d = f32[4] dynamic-update-slice(x, u, i)
//   y = f32[4] custom-call(d), custom_call_target="Unpin"             uses of y become uses of d
//
//   b = b(f32[4]) custom-call(), custom_call_target="CreateBuffer"    =>   b = f32[4] broadcast(0)
//
// A buffer has one writer (the verifier says so), so what reads it afterwards reads
// the written value.
//
// Requires: nothing.  Ensures: no shape has a buffer in it.
#pragma once

#include "passes/pass.h"

namespace hlo {

// `shape` with the array of each buffer in its place.
Shape WithoutBuffers(Shape shape);

class BuffersToArrays final : public Pass {
 public:
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

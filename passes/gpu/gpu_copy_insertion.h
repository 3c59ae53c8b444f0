// copy-insertion for a GPU: also copies constants that a library reads.
//
//   c = f32[8,8] constant({…})
//   g = custom-call(p, c), custom_call_target="__cublas$gemm"
//     =>   d = copy(c)
//          g = custom-call(p, d), …
//
// Constants lie where libraries cannot read them. Each is copied once, however many calls
// read it; an operand that may be a constant (a result of a loop or branch) is copied as
// well. Only calls of the entry computation are looked at.
//
// Requires, ensures: as copy-insertion (passes/buffers/copy_insertion.h), whose options these are.
// Leaves alone: other custom calls than those of library_calls.h; operands of those that must be
// constants (epsilons).
#pragma once

#include "passes/buffers/copy_insertion.h"

namespace hlo {

class GpuCopyInsertion final : public WithOptions<Pass, CopyInsertionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

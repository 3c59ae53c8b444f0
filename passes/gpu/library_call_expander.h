// Writes calls of NVIDIA's libraries as plain HLO.
//
//   c = (f32[4,8], s8[64]) custom-call(a, b), custom_call_target="__cublas$lt$matmul", …
//     =>   d = f32[4,8] dot(a, b), …
//          c = tuple(d, broadcast(0))
//
// So a module that was rewritten for a GPU runs everywhere, and can be compared with what it was
// made of. What calls mean is in library_calls.h; workspaces become zeros.
//
// Kernels that a module has as PTX text (ptx_call.h), and convolutions with a graph of operations
// for cuDNN in text, cannot be written as HLO: they are refused. With `keep_ptx` the former are
// left to a platform that runs them, if all their arrays are row-major.
//
// A fusion with such a call in it, which dumps have around a product and the slices that it reads
// and writes, is taken apart first: its instructions stand in its place.
//
// Requires: nothing.  Ensures: no call of that table is left outside of asynchronous computations
// that hold a fusion.
// Leaves alone: other custom calls. Calls that do not fit the table are located errors.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct LibraryCallExpanderOptions {
  bool keep_ptx = false;
  HLO_OPTIONS(LibraryCallExpanderOptions, keep_ptx)
};

class LibraryCallExpander final : public WithOptions<Pass, LibraryCallExpanderOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

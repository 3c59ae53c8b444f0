// Says how every array lies, and copies where one instruction wants it otherwise than
// another has it.
//
//   x {0,1}, ROOT r = negate(x), result {0,1}    =>   c = {1,0} copy(x), n = {1,0} negate(c), ROOT {0,1} copy(n)
//   ROOT t = transpose(x), x {1,0}               =>   t = {0,1} transpose(x), moves nothing; ROOT {1,0} copy(t)
//   ROOT b = broadcast(x), result {0,1}          =>   b = {0,1} broadcast(x)
//   while(x) whose body returns {1,0}            =>   while({1,0} copy(x)), and so are the parameters of body and condition
//
// Begins with what is given: the layouts of the entry, collectives and custom calls with layout
// constraints, infeed, outfeed, send and recv; bitcasts and fusions as they are. Then come what
// the platform prefers (layout_preferences.h, gpu_layout_preferences.h) and what follows from all
// of that (layout_constraints.h); what is left is row-major. Computations are looked at callees
// first, until loops and branches agree with what calls them: the state of a loop lies as its body
// returns it, the result of a conditional as its largest branch does. An operand that only
// conditionals read is copied in the branches. What is sent, and what custom calls with layout
// constraints write over, is copied first.
//
// Options: `platform` is `cpu` (default), `gpu`, or `none`: no preferences. Of `gpu` alone:
// `compute_capability`, which says how convolutions and products of f8 lie; `force_conv_nchw` and
// `force_conv_nhwc`, which say it of convolutions of other types than integers and f8;
// `pack_dot_operands_along_k_dimension`, by which operands that are made of elements below a byte
// lie along the contracted dimensions.
//
// Requires: nothing; XLA's refuses bitcasts. Ensures: layouts agree as the verifier wants it with
// `layout_sensitive`.
// Leaves alone: fusions; asynchronous computations; memory spaces and tiles of the entry's layouts,
// which go to parameters and result, all others go.
#pragma once

#include <string>

#include "passes/pass.h"
#include "passes/util/cuda_capability.h"
#include "passes/util/option_words.h"

namespace hlo {

struct LayoutAssignmentOptions {
  OneOf<"cpu", "gpu", "none"> platform;
  CudaCapability compute_capability;
  bool force_conv_nchw = false;
  bool force_conv_nhwc = false;
  bool pack_dot_operands_along_k_dimension = true;

  HLO_OPTIONS(LayoutAssignmentOptions, platform, compute_capability, force_conv_nchw,
              force_conv_nhwc, pack_dot_operands_along_k_dimension)
};

class LayoutAssignment final : public WithOptions<Pass, LayoutAssignmentOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

// Convolutions of f8, and what follows them, as calls `__cudnn$convForwardGraph` (conv_graph.h).
//
//   c = (f32[…], u8[0]) custom-call(convert(x), multiply(convert(w), broadcast(s))), custom_call_target="__cudnn$convForward"
//   y = maximum(get-tuple-element(c, 0), broadcast(0))
//     =>   g = (f32[…], u8[0]) custom-call(x, w, s), custom_call_target="__cudnn$convForwardGraph",
//                backend_config={…"serialized_graph":"1:[f32]conv();2:[f32]scale(1);3:[f32]relu(2);"…}
//          y = get-tuple-element(g), index=0
//
// Scales of input and filter are taken after the convolution. What follows is taken in as long as
// one operation goes on, and besides at most the largest magnitude is read: add, scales, relu,
// relu6, elu, leaky relu, a clamp before a conversion to f8.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

// Whether there were any.
absl::StatusOr<bool> MakeF8ConvGraphs(Computation& computation, PassContext& context);

}  // namespace hlo

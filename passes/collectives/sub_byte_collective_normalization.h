// Moves packed narrow elements between devices as bytes.
//
//   g = s4[8,8]{1,0:E(4)} all-gather(s4[4,8]{1,0:E(4)} x), dimensions={0}
//     =>   p = s4[4,4,2]{2,1,0:E(4)} bitcast(x)
//          y = s8[4,4]{1,0} bitcast-convert(p)
//          g = s8[8,4]{1,0} all-gather(y), dimensions={0}
//          q = s4[8,4,2]{2,1,0:E(4)} bitcast-convert(g)
//          s4[8,8]{1,0:E(4)} bitcast(q)
//
// So do all-to-all, collective-broadcast and collective-permute.
//
// Requires: layouts with element sizes (sub-byte-size-setter).  Ensures: nothing.
// Leaves alone: minor dimensions that are no whole number of bytes; all-to-alls that would divide
// bytes; collectives of several arrays; dynamic dimensions; layouts with tiles and other
// properties, or that change on the way; computations of asynchronous operations.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class SubByteCollectiveNormalization final : public RewritePass {
 public:
  SubByteCollectiveNormalization();
};

}  // namespace hlo

// Makes one product of several that share an operand.
//
//   a = f32[2,4] dot(x, y)       =>   p = f32[2,9] dot(x, f32[3,9] concatenate(y, z), dimensions={1})
//   b = f32[2,5] dot(x, z)            a = slice(p, [0:2], [0:4]);   b = slice(p, [0:2], [4:9])
//
//   a = f32[2,4] dot(x, y)             =>   p = f32[2,9] dot(x, concatenate(y, transpose(z)))
//   b = f32[5,2] dot(z, transpose(x))       a = slice(p);   b = transpose(slice(p))
//
// Small products are better computed together. Merged are independent dots that contract and batch
// the same dimensions of operands of one type, where what is not shared has one dimension of its
// own, in the order of the module; one of two may be larger than `max_size_to_merge` bytes of
// operands and result.
//
// Requires: nothing.  Leaves alone: dots with control edges, of different precision, algorithm or
// layout, dynamic shapes, sparse operands.
#pragma once

#include <limits>

#include "passes/pass.h"

namespace hlo {

struct DotMergerOptions {
  int64_t max_size_to_merge = std::numeric_limits<int64_t>::max();

  HLO_OPTIONS(DotMergerOptions, max_size_to_merge)
};

class DotMerger final : public WithOptions<Pass, DotMergerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

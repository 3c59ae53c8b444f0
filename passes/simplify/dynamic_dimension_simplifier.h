// Simplifies what programs compute from sizes of dimensions: scalars that are put into vectors and
// taken out again.
//
//   v = s32[3] concatenate(reshape(a), reshape(b), reshape(c))
//   s = s32[] reshape(slice(v), slice={[1:2]})                     =>   s = b
//
//   concatenate(concatenate(a, b), c)     =>   concatenate(a, b, c)      // in one dimension
//   slice(concatenate(…, a, …))           =>   a                         // of vectors, where it is all of a
//   reshape(broadcast(a))                 =>   a                         // of scalars, to a vector and back
//   reshape(reshape(a))                   =>   a                         // of a's shape
//   convert(a), reshape(a)                =>   a                         // of the shape it has
//
// Shapes are equal with their layouts and dynamic dimensions.
//
// Requires: nothing.  Ensures: no such instruction is left.
// Leaves alone: slices that begin after a part whose size is known at run time only, reshapes with
// several dynamic dimensions.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class DynamicDimensionSimplifier final : public RewritePass {
 public:
  DynamicDimensionSimplifier();
};

}  // namespace hlo

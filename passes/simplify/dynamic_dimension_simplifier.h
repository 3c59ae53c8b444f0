// Simplifies what programs compute from sizes of dimensions: scalars that are put into vectors and
// taken out again.
//
//   v = s32[3] concatenate(reshape(a), reshape(b), reshape(c))
//   s = s32[] reshape(slice(v), slice={[1:2]})                     =>   s = b
//
//   concatenate(concatenate(a, b), c)     =>   concatenate(a, b, c)      // in one dimension
//   slice(concatenate(…, a, …))           =>   a                         // of vectors, where it is all of a
//   reshape(slice(reshape(a)))            =>   a                         // of the only element
//   reshape(reshape(a)), reshape(broadcast(a))   =>   a                  // of a's shape; broadcasts of scalars to one element
//   convert(a), reshape(a)                =>   a                         // to the type and sizes it has
//
// Requires: nothing.  Ensures: no such instruction is left.
// Leaves alone: dynamic shapes, broadcasts to several elements.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

class DynamicDimensionSimplifier final : public RewritePass {
 public:
  DynamicDimensionSimplifier();
};

}  // namespace hlo

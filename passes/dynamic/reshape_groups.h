// The dimensions of a reshape in groups that hold the same elements: none can be made smaller.
#pragma once

#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// Dimensions [in_begin, in_end) of the operand become [out_begin, out_end) of the result.
struct ReshapeGroup {
  int in_begin, in_end;
  int out_begin, out_end;
  int in_count() const { return in_end - in_begin; }
  int out_count() const { return out_end - out_begin; }
};

std::vector<ReshapeGroup> ReshapeGroups(Shape from, Shape to);

}  // namespace hlo

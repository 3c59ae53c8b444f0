// Whether what is said of the source program fits a value.
#pragma once

#include "lib/ir/extras.h"
#include "lib/types/shape.h"

namespace hlo {

// Whether the tree of `origin` is one of `shape`; what says nothing, and the mark of a synthetic
// call, fits everything.
bool HasFormOf(Shape shape, const OriginalValue& origin);

}  // namespace hlo

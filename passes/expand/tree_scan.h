// Cumulative reductions of many elements as those of few:
//
//   x[0] + … + x[i] of 64 elements, in parts of 16
//     =>   p = the same inside of each part;  s = what the parts before come to, from their ends
//          map(p, broadcast(s)), to_apply=add
//
// The initial value is taken several times, and values are combined in another order: that is the
// caller's business.
#pragma once

#include "passes/expand/column_window.h"

namespace hlo {

struct TreeScan {
  Arrays inits;
  Computation* combiner;
  bool from_end = false;
  int64_t base_length = 16;  // of a part
  // Windows over one dimension are over two, the second of size 1; else there is one array.
  bool has_columns = true;
};

// For each element what it and those before it along `dimension` come to, of one or several arrays
// alike.
Arrays ScanInParts(Arrays xs, int dimension, const TreeScan& scan, Rewriter& rewriter);

// `low` and `high` elements more along a dimension; elements [begin, end) of it.
Instruction* PadAlong(int dimension, Instruction* x, Instruction* value, int64_t low, int64_t high,
                      Rewriter& rewriter);
Instruction* SliceAlong(int dimension, Instruction* x, int64_t begin, int64_t end,
                        Rewriter& rewriter);

}  // namespace hlo

// Fusions that compute row by row, such as softmax and normalisations: their arrays are rows of one
// size, reductions give a value for each row, and what these values are used for stays in the row.
//
//   m = f32[r] reduce(x), dimensions={1}, to_apply=max       levels[0]
//   e = f32[r,n] exponential(subtract(x, broadcast(m)))
//   s = f32[r] reduce(e), dimensions={1}, to_apply=sum       levels[1]: needs m
//   y = f32[r,n] divide(e, broadcast(s))
//
// A kernel that has a row of x in its registers reads and writes memory once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/ir/instruction.h"

namespace hlo {

struct RowFusion {
  int64_t rows = 0;
  int64_t row_size = 0;  // elements
  // Reductions that need none of each other, and, operands first, what has one value for each row
  // and is computed from them and from those of levels before.
  struct Level {
    std::vector<const Instruction*> reduces;
    std::vector<const Instruction*> values;
  };
  std::vector<Level> levels;
  // All that has one value for each row and is read for the row that is computed only.
  std::vector<const Instruction*> row_values;
  // Parameters of the fused computation that are read at the place that is computed.
  std::vector<const Instruction*> inputs;
};

// None where the fusion is something else: where a reduction is not of whole rows (trailing
// dimensions) or not by one commutative operation, where rows have different sizes, where another
// row is looked at, or where no element depends on a reduction of its row. Outputs have a value for
// each element or for each row.
std::optional<RowFusion> RowFusionOf(const Instruction& fusion);

// Whether `reduce` takes whole trailing dimensions: rows of its operand, of RowSize elements.
bool ReducesRows(const Instruction& reduce);
int64_t RowSize(const Instruction& reduce);

}  // namespace hlo

// Concatenations of pieces of one array: what `jnp.roll` and wrapping pads become.
//
//   a = slice(x), slice={[7:8]}   b = slice(x), slice={[0:7]}   r = concatenate(a, b)     x[i - 1]
//
// An element of one is an element of the array at a place that is known from its own: a kernel
// computes it like that of a slice, without the array that lies between.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/ir/instruction.h"

namespace hlo {

// Element `i` of the concatenated dimension, start <= i < end, is element i + shift of the array.
struct RolledPiece {
  int64_t start, end, shift;
};

struct Roll {
  const Instruction* array = nullptr;  // null: the instruction is no roll
  int64_t dim = 0;
  std::vector<RolledPiece> pieces;
  // Of the other dimensions: element `i` is element i + starts[d] of the array.
  std::vector<int64_t> starts;
};

// The roll that a concatenation is whose operands are one array, or slices of it that take every
// element and begin at the same place of all other dimensions.
Roll RollOf(const Instruction& instruction);

// Where the loop over the innermost dimension of a result of `shape` is cut: the ends of the
// pieces, where that is the dimension of the roll.
std::vector<int64_t> InnermostBorders(const Roll& roll, Shape shape);

// Whether its pieces are long enough for loops over the result to compute it in its place.
bool FitsLoops(const Roll& roll, Shape shape);

}  // namespace hlo

// lib/types/memory_order.h
//
// Where the elements of untiled arrays lie in memory.
#pragma once

#include <vector>

#include "lib/types/shape.h"

namespace hlo {

// One step of an address computation: `size` consecutive values, `stride` elements apart in memory.
struct Run {
  int64_t size;
  int64_t stride;
  friend bool operator==(const Run&, const Run&) = default;
};

// Where the logical elements of a shape lie, as a mixed-radix number with as few digits as
// possible, minor-most first. Two untiled arrays put every row-major linear index at the same place
// exactly if these are equal. Requires a layout.
std::vector<Run> AddressRuns(Shape shape);

// Whether a bitcast between these shapes leaves the bytes of an array that is row-major in logical
// order, whatever its layout says, where they are. Missing layouts are row-major,
// tiles do not count.
bool KeepsRowMajorOrder(Shape from, Shape to);

// Whether the dimensions of an array lie in their order, the first one major, whatever else its
// layout says. Without layout: yes.
bool LiesRowMajor(Shape array);

// The dimensions of an array from the major to the minor one. Without layout: row-major.
DimVec MajorToMinor(Shape array);

// The array of the same bytes whose dimensions stand in that order: row-major, with the sizes, the
// dynamic dimensions and what else its layout says.
Shape InMemoryOrder(Shape array);

// Whether the layouts of arrays of one rank are equal but for the order of dimensions.
bool DifferInOrderOnly(Shape a, Shape b);

}  // namespace hlo

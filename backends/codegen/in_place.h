// backends/codegen/in_place.h
//
// The contract about results that lie in the buffer of an operand. Which pairs may share is known
// from indexing maps before anything is emitted; buffer assignment decides; the kernel is emitted
// once, for the pairs that do. A pair may share where the kernel reads each element of the operand
// before, and only for, the result element in its place, or where it updates the operand
// (dynamic-update-slice, scatter).
#pragma once

#include <vector>

#include "backends/common/buffer_assignment.h"
#include "lib/ir/instruction.h"
#include "lib/support/contains.h"

namespace hlo {

// Operand leaf and result leaf (numbered from 0 each) that lie, or may lie, in one buffer.
struct BufferPair {
  int operand = 0;
  int result = 0;
  friend bool operator==(const BufferPair&, const BufferPair&) = default;
};
using BufferPairs = std::vector<BufferPair>;

// The pairs where each element of the result takes no element of the operand but the one in its
// place, for kernels that compute all results of as many elements as the largest in one loop, and
// read before they write.
BufferPairs SamePlacePairs(const Instruction& fusion);

// The pairs that make a kernel update its operand instead of copying it (dynamic-update-slice,
// scatter).
BufferPairs UpdatePairs(const Instruction& fusion);
// There are such pairs, and `shared` has all of them.
bool UpdatesInPlace(const Instruction& fusion, const BufferPairs& shared);

// The pairs that buffer assignment has put into one buffer.
BufferPairs SharedPairs(const Instruction& instruction, const BufferAssignment& buffers);

}  // namespace hlo

// Where values that programs keep in the memory of the host are, and where they are found next.
//
// A place is an array inside the result of an instruction; a step leads from it to where an
// instruction, a called computation or a caller takes it up:
//
//   x                        the place x
//   t = tuple(y, x)          the same buffer: t{1}
//   w = while(t), body=b     the same buffer: p{1} of b's and the condition's parameter
//   n = negate(x)            another one, n
//
// Programs say what lies where by custom calls: MoveToHost(x) is x from there on in the memory of
// the host, MoveToDevice(x) in that of the device.
#pragma once

#include <string_view>
#include <vector>

#include "lib/ir/custom_call.h"
#include "lib/ir/module.h"
#include "lib/types/memory_space.h"
#include "lib/types/shape_util.h"

namespace hlo {

// Of computations that run on the host.
constexpr std::string_view kHostThread = "host";

struct HostPlace {
  Instruction* instruction = nullptr;
  ShapeIndex index;
  Shape shape() const { return SubShape(instruction->shape(), index); }
};

// Where a result is handed over: as an operand, or from the root of a computation to its callers.
struct HostEdge {
  Instruction* user = nullptr;  // null: the root
  int operand = 0;
  Computation* computation = nullptr;  // of the value

  Instruction* value() const {
    return user != nullptr ? user->operand(operand) : computation->root();
  }
  void Redirect(Instruction* value) const;
};

struct HostStep {
  HostEdge edge;
  HostPlace to;
  bool same_buffer = true;
};

// In the order of ids. Roots of conditions, and custom calls that read an array and write another,
// lead nowhere. Not the same buffer: the instruction reads it.
std::vector<HostStep> StepsAfter(const HostPlace& place);

// A custom call of one array that yields an array of the same type, neither in a fusion nor run
// asynchronously by itself.
bool IsMoveToHost(const Instruction& instruction);
bool IsMoveToDevice(const Instruction& instruction);

// Custom calls for halves of 64-bit values, which the device takes apart.
bool SplitsWords(const Instruction& instruction);

// Between an annotation and an update or slice: the same array under another shape or layout.
// `reshape` only where it moves no bytes.
bool OnlyChangesForm(const Instruction& instruction);

// `shape` with the array at `index` in another memory.
Shape WithMemorySpace(Shape shape, const ShapeIndex& index, int64_t memory_space);
// Without anything in the memory of the host.
Shape WithoutHostMemory(Shape shape);

}  // namespace hlo

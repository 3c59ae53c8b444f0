// backends/codegen/kernel_frame.h
//
// What the kernel of a fusion (or of a single instruction, which counts as a fusion of one) has to
// do with memory, for every code generator: its buffers, which values they hold, what it writes.
//
// Buffers: the leaves of the operands in order, then the leaves of the result. Arrays are dense,
// row-major in logical order, one value per ByteSize(type) bytes, whatever their layouts say.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"

namespace hlo {

// An array that the kernel writes.
struct KernelOutput {
  const Instruction* instruction = nullptr;
  int result = 0;  // of an instruction with several
  int buffer = 0;
  Shape shape;
};

struct KernelFrame {
  std::vector<Shape> arrays;  // by buffer
  int operand_buffers = 0;
  std::vector<std::pair<const Instruction*, int>> bindings;  // value -> its first buffer
  std::vector<KernelOutput> outputs;
  std::vector<const Instruction*> body;  // fused instructions without parameters
};

// Refuses dynamic dimensions, tokens and nested tuples, in the name of `platform`.
absl::StatusOr<KernelFrame> MakeKernelFrame(const Instruction& fusion, std::string_view platform);

// The instruction whose elements the fusion computes: the root of the fused computation, or the
// instruction itself.
const Instruction* RootOf(const Instruction& fusion);
std::vector<const Instruction*> BodyOf(const Instruction& fusion);

}  // namespace hlo

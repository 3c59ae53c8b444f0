// backends/cpu/tile/program.h
//
// A program: kernels and copies on slices of an executable's memory, in order, under loops and
// branches. A while loop of small kernels becomes one, and with it one function: no dispatch
// between its steps, and state of a few bytes stays in registers from one iteration to the next.
//
//   while `while.1` a2[64:65]
//     condition
//       kernel `compare.1` a2[0:4] a2[64:65]
//     body
//       kernel `fusion` a2[0:4] a1[0:4] a2[0:4]
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/common/buffer_slice.h"
#include "backends/cpu/tile/emit_llvm.h"
#include "backends/cpu/tile/tile_ir.h"

namespace hlo::cpu::tile {

struct Step;
using Steps = std::vector<Step>;

struct Step {
  enum class Kind : uint8_t { kKernel, kCopy, kWhile, kConditional };
  Kind kind = Kind::kKernel;
  std::string name;                // of the instruction
  const Kernel* kernel = nullptr;  // kKernel; all its tasks [0, task_count) run
  int64_t task_count = 1;
  std::vector<BufferSlice> buffers;  // kKernel: its arguments; kCopy: destination, source
  BufferSlice selector;              // kWhile: the condition's result; kConditional: the choice,
  bool selector_is_pred = true;      // a pred or an s32
  std::vector<Steps> lists;          // kWhile: condition, body; kConditional: branches
};

struct Program {
  Steps steps;
  std::vector<BufferSlice> results;  // what is read after the program; all else is its own

  int64_t scratch_bytes() const;                // of the largest kernel
  int64_t node_count() const;                   // of all kernels: a measure of code
  std::vector<std::string> loop_names() const;  // in order of appearance
  std::string ToString(int indent = 0) const;
  // As Kernel::Key.
  std::string Key() const;
};

// 0, or 1 + the number of the loop (as in loop_names) that would have run more than
// `max_iterations` times; max_iterations <= 0: no limit.
using ProgramFunction = int64_t(std::byte* const* allocations, void* scratch,
                                int64_t max_iterations);

// Adds the program as function `name` to `module`, with its state in registers where that can be.
absl::StatusOr<llvm::Function*> EmitProgram(const Program& program, std::string_view name,
                                            const EmitOptions& options, llvm::Module& module);

}  // namespace hlo::cpu::tile

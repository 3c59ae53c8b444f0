// backends/cpu/loop_program.h
//
// A while loop of small kernels as a program (tile/program.h), and the thunk that runs it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/common/buffer_assignment.h"
#include "backends/cpu/cpu_state.h"
#include "backends/cpu/families/family.h"
#include "backends/cpu/tile/program.h"

namespace hlo::cpu {

// The kernel of an instruction; null for one that needs no code, nothing for what no
// kernel computes.
using KernelOf = std::function<std::optional<const KernelPlan*>(const Instruction&)>;

// Whether everything that `loop` does is kernels too small for several threads, loops and branches
// of such, and little enough code for one function.
bool IsLoopOfSmallKernels(const Instruction& loop, const KernelOf& kernel_of);

// The kernels must outlive the program.
tile::Program MakeLoopProgram(const Instruction& loop, const BufferAssignment& buffers,
                              const KernelOf& kernel_of);

class ProgramThunk final : public CpuThunk {
 public:
  ProgramThunk(const Instruction& loop, const tile::Program& program,
               tile::ProgramFunction* function);
  std::string_view kind() const override { return "program"; }
  BufferUses uses() const override { return uses_; }
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  absl::Status Run(CpuState& state) const override;
  void AppendTo(std::string& out, int indent) const override;

 private:
  const Instruction* loop_;
  tile::ProgramFunction* function_;
  BufferUses uses_;
  int64_t scratch_bytes_;
  std::vector<std::string> loops_;  // names by number
  std::string text_;                // the steps, for reading
};

}  // namespace hlo::cpu

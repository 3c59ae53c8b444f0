// A kernel of tile IR that can be run: machine code, or the evaluator. Either may check its
// accesses; what it finds is an error (code kOutOfRange) that names the kernel, the instruction
// with its place, the buffer and the element.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/cpu/tile/emit_llvm.h"
#include "backends/cpu/tile/evaluator.h"
#include "lib/ir/instruction.h"
#include "lib/support/crash_context.h"
#include "lib/support/status.h"

namespace hlo::cpu {

class KernelCode final {
 public:
  // Machine code, which belongs to the program.
  explicit KernelCode(tile::KernelFunction* function) : function_(function) {}
  // The same with checks (EmitOptions::checked): `kernel` is what it was made of, `instruction`
  // what it computes.
  KernelCode(tile::KernelFunction* function, tile::Kernel kernel, const Instruction& instruction);
  // By evaluation, always with checks.
  static absl::StatusOr<KernelCode> Evaluated(tile::Kernel kernel, const Instruction& instruction);

  // Tasks [begin, end), with memory as emit_llvm.h says. `states`: those of the buffers' bytes,
  // null where nobody tracks them; empty: nowhere. `part`: which of the launch this is.
  // Machine code without checks does not fail.
  absl::Status Run(absl::Span<void*> buffers, int64_t begin, int64_t end, void* scratch,
                   absl::Span<tile::ByteState* const> states = {}, tile::Part part = {}) const {
    if (checked_ != nullptr) return RunChecked(buffers, begin, end, scratch, states, part);
    function_(buffers.data(), begin, end, scratch);
    return absl::OkStatus();
  }
  // The error of a checked kernel that has not written a byte of a buffer.
  absl::Status LeftUnwritten(int buffer, int64_t byte) const;

 private:
  struct Checked;
  absl::Status RunChecked(absl::Span<void*> buffers, int64_t begin, int64_t end, void* scratch,
                          absl::Span<tile::ByteState* const> states, tile::Part part) const;

  tile::KernelFunction* function_ = nullptr;
  std::shared_ptr<const Checked> checked_;
};

// Verifies a kernel that is to be checked, and says which of its accesses need a check at run time,
// by node. An access that is proved to be outside of its buffer is an error.
absl::StatusOr<std::vector<bool>> AccessesToCheck(const tile::Kernel& kernel, int64_t task_count,
                                                  CpuChecks checks, const Instruction& instruction);

// The accesses that are not proved to be inside their buffers, one in a line.
std::string UnprovenText(const tile::Kernel& kernel, int64_t task_count);

// For a CrashLine around the kernel of an instruction (the context): where it stands in the source.
void WriteKernelPlace(const void* instruction, CrashWriter& out);

// Of the parts of a launch, the first in order.
inline absl::Status FirstError(absl::Span<const absl::Status> parts) {
  for (const absl::Status& status : parts) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace hlo::cpu

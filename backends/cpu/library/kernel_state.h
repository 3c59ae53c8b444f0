// What a library kernel keeps from run to run. Kernels are constant; those that keep something make
// an object for each caller whose runs follow each other (DotKernel::MakeState), which is handed to
// every run. It serves one run at a time.
#pragma once

#include <cstdlib>
#include <memory>

namespace hlo::cpu {

class KernelState {
 public:
  virtual ~KernelState() = default;
  // Drops what was kept of a constant operand: its contents have changed.
  virtual void ForgetOperands() = 0;
};

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};
// Memory from std::aligned_alloc.
using AlignedMemory = std::unique_ptr<void, FreeDeleter>;

}  // namespace hlo::cpu

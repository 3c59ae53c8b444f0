// backends/gpu/sim/fibre.h
//
// Fibres: functions with stacks of their own that give up the processor by a call. A switch saves
// the callee-saved registers and swaps the stack pointer; nothing else. x86-64 only, as is the
// code generator of backends/llvm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace hlo::gpu {

// A fixed number of fibres on one thread of execution.
class FibreSet final {
 public:
  static constexpr size_t kStackBytes = 64 * 1024;

  FibreSet() = default;
  ~FibreSet();
  FibreSet(const FibreSet&) = delete;
  FibreSet& operator=(const FibreSet&) = delete;

  // Makes room for `count` fibres. Memory is touched only where a fibre's stack grows.
  absl::Status Reserve(int count);
  // Prepares fibre `i` to run entry(argument) at its next Resume. `entry` must not return: it ends
  // with a Yield that is never resumed.
  void Prepare(int i, void (*entry)(void*), void* argument);
  // Runs fibre `i` until it yields.
  void Resume(int i);
  // Called inside fibre `i`: back to whoever resumed it.
  void Yield(int i);

 private:
  std::byte* stacks_ = nullptr;
  int capacity_ = 0;
  std::vector<void*> saved_;  // stack pointers of fibres
  void* home_ = nullptr;      // of the one that resumes them
};

}  // namespace hlo::gpu

// backends/gpu/sim/fiber.h
//
// Fibers: functions with stacks of their own that give up the processor by a call. A switch saves
// the callee-saved registers and swaps the stack pointer; nothing else. x86-64 only, as is the
// code generator of backends/llvm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace hlo::gpu {

// A fixed number of fibers on one thread of execution.
class FiberSet final {
 public:
  static constexpr size_t kStackBytes = 64 * 1024;

  FiberSet() = default;
  ~FiberSet();
  FiberSet(const FiberSet&) = delete;
  FiberSet& operator=(const FiberSet&) = delete;

  // Makes room for `count` fibers. Memory is touched only where a fiber's stack grows.
  absl::Status Reserve(int count);
  // Prepares fiber `i` to run entry(argument) at its next Resume. `entry` must not return: it ends
  // with a Yield that is never resumed.
  void Prepare(int i, void (*entry)(void*), void* argument);
  // Runs fiber `i` until it yields.
  void Resume(int i);
  // Called inside fiber `i`: back to whoever resumed it.
  void Yield(int i);

 private:
  std::byte* stacks_ = nullptr;
  int capacity_ = 0;
  std::vector<void*> saved_;  // stack pointers of fibers
  void* home_ = nullptr;      // of the one that resumes them
};

}  // namespace hlo::gpu

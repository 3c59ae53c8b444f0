#include "backends/gpu/sim/fiber.h"

#include <sys/mman.h>

#include "lib/support/status.h"

// void hlo_gpu_switch(void** save /*rdi*/, void* load /*rsi*/)
// hlo_gpu_fiber_start: r12 holds the entry, r13 its argument.
asm(R"(
  .text
  .p2align 4
  .type hlo_gpu_switch, @function
hlo_gpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size hlo_gpu_switch, .-hlo_gpu_switch
  .p2align 4
  .type hlo_gpu_fiber_start, @function
hlo_gpu_fiber_start:
  movq %r13, %rdi
  callq *%r12
  ud2
  .size hlo_gpu_fiber_start, .-hlo_gpu_fiber_start
)");

extern "C" {
void hlo_gpu_switch(void** save, void* load);
void hlo_gpu_fiber_start();
}

namespace hlo::gpu {

FiberSet::~FiberSet() {
  if (stacks_ != nullptr) munmap(stacks_, static_cast<size_t>(capacity_) * kStackBytes);
}

absl::Status FiberSet::Reserve(int count) {
  if (count <= capacity_) return absl::OkStatus();
  const size_t bytes = static_cast<size_t>(count) * kStackBytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("no memory for the stacks of {} simulated threads", count).c_str());
  }
  if (stacks_ != nullptr) munmap(stacks_, static_cast<size_t>(capacity_) * kStackBytes);
  stacks_ = static_cast<std::byte*>(memory);
  capacity_ = count;
  saved_.assign(static_cast<size_t>(count), nullptr);
  return absl::OkStatus();
}

void FiberSet::Prepare(int i, void (*entry)(void*), void* argument) {
  auto** top = reinterpret_cast<void**>(stacks_ + static_cast<size_t>(i + 1) * kStackBytes);
  // As hlo_gpu_switch leaves a stack: r15, r14, r13, r12, rbx, rbp, return address. The entry is
  // called with the stack pointer at a multiple of 16.
  void** frame = top - 9;
  frame[0] = frame[1] = nullptr;
  frame[2] = argument;
  frame[3] = reinterpret_cast<void*>(entry);
  frame[4] = frame[5] = nullptr;
  frame[6] = reinterpret_cast<void*>(&hlo_gpu_fiber_start);
  frame[7] = frame[8] = nullptr;
  saved_[static_cast<size_t>(i)] = frame;
}

void FiberSet::Resume(int i) { hlo_gpu_switch(&home_, saved_[static_cast<size_t>(i)]); }

void FiberSet::Yield(int i) { hlo_gpu_switch(&saved_[static_cast<size_t>(i)], home_); }

}  // namespace hlo::gpu

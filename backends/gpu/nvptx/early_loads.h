// Loads of memory: fewer, and before the first slow operation of their block.
//
// A division or a root is a fast path and a call of the slow one. The assembler moves no load over
// a call, so a load written after a division waits for it, and the next one for both: the latency
// of memory is paid once per load instead of once per block.
#pragma once

#include <llvm/IR/Module.h>

namespace hlo::gpu {

// Says of loads of buffers that a kernel only reads, and that nothing else in it writes, that they
// always give the same: LLVM then reads an element once, whatever is stored between. For kernels
// that stand alone, with the attributes `noalias readonly` of their buffers.
void MarkInvariantLoads(llvm::Module& module);

// States how far the addresses of loads are aligned, so that LLVM makes one of neighbours. Not in
// kernels with shared memory, whose registers are counted: there wide loads spill.
void AlignLoads(llvm::Module& module);

// Moves loads, and the address arithmetic that they need, before the first division or root of
// their block, at most as many as 32 registers hold. A load stays where something between may
// write memory or wait for other threads, or where its address comes out of a slow operation.
void MoveLoadsEarly(llvm::Module& module);

}  // namespace hlo::gpu

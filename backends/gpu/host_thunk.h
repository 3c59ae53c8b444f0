// What the host does for the device: collectives among several devices, sends and receives between
// them, infeed and outfeed, and what no kernel family takes: the calls to LAPACK that JAX writes
// for CPUs, whatever meets arrays whose sizes are known at run time only, and rare forms. Operands
// are copied to the host, where the interpreter computes, and results back; the stream waits.
#pragma once

#include <memory>
#include <vector>

#include "backends/common/thunk.h"
#include "lib/ir/instruction.h"
#include "lib/support/denormals.h"

namespace hlo::gpu {

// Whether MakeHostThunk takes it, if no kernel does.
bool IsOnHost(const Instruction& instruction);

// Operand slices per operand, result slices per leaf.
std::unique_ptr<Thunk> MakeHostThunk(const Instruction& instruction,
                                     std::vector<std::vector<BufferSlice>> operands,
                                     std::vector<BufferSlice> results, Denormals denormals);

}  // namespace hlo::gpu

// backends/cpu/memory_states.h
//
// What `--sanitize` knows of the memory of a run: whether each byte has been written since it was
// given to the value that it holds. Kernels keep the states of their own accesses (tile/watch.h);
// for all other thunks the slices of Thunk::uses() stand, read before they run and written after.
//
// Found so: a value read before it is computed, an element that a kernel forgets to compute, one
// that it reads after it has written over it, one that two threads would share. Not found: a read
// of memory that holds another value, whole and alive or not.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "backends/cpu/cpu_state.h"
#include "backends/cpu/tile/watch.h"
#include "lib/ir/instruction.h"

namespace hlo::cpu {

class MemoryStates final {
 public:
  explicit MemoryStates(const BufferAssignment& buffers);

  // A run begins: arguments and constants are there.
  void Reset();

  // One state per byte; null for a slice without memory.
  tile::ByteState* At(const BufferSlice& slice);
  // The slices get new values: nothing of what is written, and not read as well, is there any more.
  void Begin(const BufferUses& uses);
  void SetWritten(const BufferSlice& slice);
  // The first byte of the slice whose state is not at least `least`; -1: there is none.
  int64_t FirstBelow(const BufferSlice& slice, tile::ByteState least);

 private:
  const BufferAssignment& buffers_;
  std::vector<std::vector<tile::ByteState>> allocations_;
};

// With the states of its memory.
struct TrackingState final : CpuState {
  explicit TrackingState(const BufferAssignment& buffers)
      : TrackingState(std::make_shared<MemoryStates>(buffers)) {}
  explicit TrackingState(const std::shared_ptr<MemoryStates>& shared)
      : states(*shared), shared_(shared) {}

  MemoryStates& states;

  std::unique_ptr<CpuState> MakeChild() const override {
    return std::make_unique<TrackingState>(shared_);
  }

  // What is copied has the states of its source.
  absl::Status Copy(Stream& stream, const BufferSlice& to, const BufferSlice& from,
                    int64_t bytes) override;
  absl::Status Read(Stream& stream, const BufferSlice& from, void* to, int64_t bytes) override;

 private:
  const std::shared_ptr<MemoryStates> shared_;  // by all sequences of a run
};

// A thunk that knows nothing of states, with what it reads and writes checked and noted. It runs in
// a TrackingState.
std::unique_ptr<Thunk> MakeTracked(std::unique_ptr<Thunk> thunk, const Instruction& instruction);

}  // namespace hlo::cpu

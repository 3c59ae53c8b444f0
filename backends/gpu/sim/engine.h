// backends/gpu/sim/engine.h
//
// Executes the blocks of one launch on the calling thread: a fiber per GPU thread when the kernel
// has barriers, shuffles or votes (or is watched), else a plain loop. The kernel is code made by
// lowering.h, which calls the functions declared at the end of this file.
//
// The order of blocks and of threads inside a block is a permutation chosen by the seed; seed 0 is
// the natural order. Results of right kernels do not depend on it.
//
// With `sanitize`, every access of global and shared memory is checked: inside its buffer, aligned,
// not racing with another thread since the last barrier, not a read of shared memory that no one
// wrote. A wrong access ends the launch with an error that says who, where and why. Barriers that
// only some threads reach are errors always.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/sim/fiber.h"
#include "backends/gpu/sim/shadow.h"
#include "backends/gpu/sim/tensor.h"

namespace hlo::gpu {

class SimEngine;

// What simulated code knows of its thread. lowering.cc relies on this layout.
struct SimThread {
  int32_t tid[3];
  int32_t ctaid[3];
  int32_t ntid[3];
  int32_t nctaid[3];
  std::byte* shared;  // of the block
  SimEngine* engine;

  // For the engine alone.
  enum class State : uint8_t { kReady, kAtBarrier, kInWarp, kEnded };
  State state;
  int32_t index;            // in the block
  int32_t site;             // where it waits
  uint32_t mask;            // kInWarp: lanes that take part
  uint32_t value, operand;  // kAtBarrier: `value` threads meet there, 0: all
  int32_t kind;             // a WarpOp, or a TensorOp where there is a payload
  TensorPayload* payload;
};

using SimEntry = void(const uint64_t* arguments, SimThread* thread);

// What lowering found out about a kernel.
struct SimKernelInfo {
  std::string name;
  int64_t shared_bytes = 0;
  bool needs_fibers = false;
  int global_granule = 16;  // bytes of the narrowest access
  int shared_granule = 16;
  std::vector<std::string> sites;  // texts of the accesses and barriers
};

struct SimLaunch {
  SimEntry* entry = nullptr;
  const SimKernelInfo* info = nullptr;
  LaunchDims dims;
  absl::Span<const KernelArgument> arguments;
  std::string_view name;
  uint64_t seed = 0;
  bool sanitize = false;
};

enum class SimAccess : int32_t { kRead, kWrite, kAtomic };
// TensorOp (tensor.h) has the operations on matrices.
enum class WarpOp : int32_t { kShuffleDown, kShuffleUp, kShuffleXor, kShuffleIndex, kBallot };

class SimEngine final {
 public:
  absl::Status Run(const SimLaunch& launch);

  // Called by simulated code.
  void Barrier(SimThread& thread, int32_t threads, int32_t site);
  uint32_t Warp(SimThread& thread, WarpOp op, uint32_t mask, uint32_t value, uint32_t operand,
                int32_t site);
  void Tensor(SimThread& thread, TensorOp op, TensorPayload* payload, int32_t site);
  void Access(SimThread& thread, uint64_t address, int32_t bytes, int32_t align, SimAccess kind,
              int32_t argument, int32_t site);

 private:
  absl::Status RunBlock(int64_t block);
  absl::Status RunPlain(int64_t block);
  void SetUp(SimThread& thread, int index, int64_t block);
  static void Entry(void* thread);
  bool ReleaseBarrier();
  bool ReleaseSome();
  bool ReleaseWarps();
  void ResolveWarp(int first, int last);
  void ResolveTensors(int first);
  absl::Status Stuck();
  // Ends the launch with an error, from inside a thread.
  void Fault(SimThread& thread, std::string message);
  std::string Where(const SimThread& thread, int32_t site) const;
  void CheckAligned(SimThread& thread, uint64_t address, int32_t align, int32_t site);
  void CheckShared(SimThread& thread, uint64_t address, int32_t bytes, SimAccess kind,
                   int32_t site);

  const SimLaunch* launch_ = nullptr;
  std::vector<uint64_t> argument_values_;
  std::vector<SimThread> threads_;
  std::vector<int> order_;
  FiberSet fibers_;
  bool use_fibers_ = false;
  std::vector<std::byte> shared_memory_;
  std::byte* shared_ = nullptr;
  int64_t block_ = 0;
  uint32_t epoch_ = 0;  // barriers passed
  absl::Status fault_;
  Shadow shared_shadow_;
  GlobalShadow global_shadow_;
};

}  // namespace hlo::gpu

// The functions that simulated code calls.
extern "C" {
void hlo_sim_barrier(hlo::gpu::SimThread* thread, int32_t threads, int32_t site);
uint32_t hlo_sim_warp(hlo::gpu::SimThread* thread, int32_t op, uint32_t mask, uint32_t value,
                      uint32_t operand, int32_t site);
void hlo_sim_tensor(hlo::gpu::SimThread* thread, int32_t op, hlo::gpu::TensorPayload* payload,
                    int32_t site);
void hlo_sim_access(hlo::gpu::SimThread* thread, uint64_t address, int32_t bytes, int32_t align,
                    int32_t kind, int32_t argument, int32_t site);
}

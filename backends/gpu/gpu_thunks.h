// The units of execution on a device: kernels, copies, and control flow decided by the host. They
// are thunks like those of the CPU; their state is a GpuState, their stream one of the device.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "backends/common/thunk.h"
#include "backends/gpu/device/device.h"
#include "backends/gpu/emit/family.h"
#include "lib/eval/evaluator.h"
#include "lib/eval/random_bits.h"

namespace hlo::gpu {

// What a state remembers of random numbers from run to run.
struct RandomState {
  uint64_t key = 0;                              // the seed
  absl::flat_hash_map<int64_t, uint64_t> draws;  // of `rng` so far, by stream
  std::vector<Counter128> counters;
};

// What a state knows of a GraphThunk.
struct GraphSlot {
  int64_t runs = 0;
  bool failed = false;
  std::unique_ptr<Graph> graph;
};

class NcclCommunicator;  // library/nccl_communicator.h

struct GpuState final : DeviceState {
  std::vector<DevicePtr> addresses;  // of the allocations
  DevicePtr scratch = 0;             // Thunk::scratch_bytes() of the largest thunk
  const std::vector<const DeviceKernel*>* kernels = nullptr;
  const std::vector<const DeviceKernel*>* given_kernels = nullptr;  // Program::given
  bool overlap = false;                                             // GpuOptions::overlap
  RandomState random;
  std::vector<GraphSlot> graphs;  // by number of a GraphThunk
  Evaluator evaluator;            // of what the host does (host_thunk.h)
  NcclCommunicator* collectives =
      nullptr;           // to the GPUs of other devices; null: the host does them
  std::string_view gpu;  // its DeviceProperties::uuid
  // Of the host, for predicates and branch numbers: the device writes it without the driver's help.
  void* pinned = nullptr;
  static constexpr int64_t kPinnedBytes = 64;

  DevicePtr Address(const BufferSlice& slice) const {
    if (slice.allocation < 0) return 0;
    return addresses[static_cast<size_t>(slice.allocation)] + static_cast<DevicePtr>(slice.offset);
  }
  absl::Status Copy(hlo::Stream& stream, const BufferSlice& to, const BufferSlice& from,
                    int64_t bytes) override {
    return static_cast<Stream&>(stream).CopyOnDevice(Address(to), Address(from), bytes);
  }
  // Waits for everything before it.
  absl::Status Read(hlo::Stream& stream, const BufferSlice& from, void* to, int64_t bytes) override;
};

// Kernels of more take memory from the heap at each launch.
using KernelArguments = absl::InlinedVector<KernelArgument, 64>;

// The launches of one instruction.
class GpuKernelThunk final : public Thunk {
 public:
  struct Step {
    PlanStep::Kind kind;
    int kernel = 0;  // of the executable
    LaunchDims dims;
    std::vector<int> buffers;
    std::vector<int64_t> integers;
    PlanStep::Late late = PlanStep::Late::kNone;
    int counter = -1;  // of RandomState, which it advances by `delta`
    int64_t delta = 0;
  };
  // `buffers`: operand leaves, then result leaves; scratch memory follows in the steps' numbering.
  GpuKernelThunk(std::string_view name, std::string_view family, std::vector<Step> steps,
                 std::vector<BufferSlice> buffers, size_t result_count,
                 std::vector<int64_t> scratch);
  std::string_view kind() const override { return family_; }
  bool OnlyEnqueues() const override { return true; }
  BufferUses uses() const override;
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, hlo::Stream& stream) const override;

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<BufferSlice>& buffers() const { return buffers_; }
  int64_t scratch_offset(size_t i) const { return scratch_offsets_[i]; }
  // The most iterations of a loop inside its kernels; 0: there is none.
  int64_t trips() const { return trips_; }
  void SetTrips(int64_t trips) { trips_ = trips; }
  // What became part of its kernels, as text.
  void SetParts(std::string parts) { parts_ = std::move(parts); }
  void AppendTo(std::string& out, int indent) const override;
  // Kernel i of the executable is number[i] now.
  void Renumber(const std::vector<int>& number);

 private:
  static void AddLate(const Step& step, GpuState& state, KernelArguments& arguments);

  std::string family_;
  std::vector<Step> steps_;
  std::vector<BufferSlice> buffers_;
  size_t result_count_;
  std::vector<int64_t> scratch_, scratch_offsets_;
  int64_t scratch_bytes_ = 0;
  int64_t trips_ = 0;
  std::string parts_;
};

// Thunks that put the same on the stream at every run: from the second on as one graph, whose
// launches cost a part of what those of its kernels do. Memory lies where it lies for all runs of a
// state.
class GraphThunk final : public ControlThunk {
 public:
  GraphThunk(std::string_view name, ThunkList thunks, int number);
  std::string_view kind() const override { return "graph"; }
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, hlo::Stream& stream) const override;
  // Its thunks, as if it were not there.
  void AppendTo(std::string& out, int indent) const override;

 private:
  int number_;
};

// Puts neighbours that may be part of a graph into GraphThunks, where they are several launches.
// Gives how many graphs there are, counting from `graphs`.
int GroupForGraphs(ThunkList& thunks, int graphs);

}  // namespace hlo::gpu

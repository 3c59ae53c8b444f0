#include "backends/gpu/gpu_thunks.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "backends/common/thunk_profile.h"
#include "backends/gpu/product_thunk.h"
#include "backends/gpu/ptx_thunk.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo::gpu {
namespace {

constexpr uint64_t kTripsOfLaunch = 4096;

}  // namespace

absl::Status GpuState::Read(hlo::Stream& stream, const BufferSlice& from, void* to, int64_t bytes) {
  const bool is_small = pinned != nullptr && bytes <= kPinnedBytes;
  void* const place = is_small ? pinned : to;
  absl::Status status = static_cast<Stream&>(stream).CopyToHost(place, Address(from), bytes);
  if (status.ok()) status = stream.Synchronize();
  if (status.ok() && is_small) std::memcpy(to, pinned, static_cast<size_t>(bytes));
  return status;
}

// ---- kernels ----

GpuKernelThunk::GpuKernelThunk(std::string_view name, std::string_view family,
                               std::vector<Step> steps, std::vector<BufferSlice> buffers,
                               size_t result_count, std::vector<int64_t> scratch)
    : Thunk(name),
      family_(family),
      steps_(std::move(steps)),
      buffers_(std::move(buffers)),
      result_count_(result_count),
      scratch_(std::move(scratch)) {
  for (const int64_t bytes : scratch_) {
    scratch_offsets_.push_back(scratch_bytes_);
    scratch_bytes_ += RoundUp(bytes, kMemoryAlignment);
  }
}

BufferUses GpuKernelThunk::uses() const {
  BufferUses uses;
  const auto results = buffers_.end() - static_cast<std::ptrdiff_t>(result_count_);
  uses.reads.assign(buffers_.begin(), results);
  uses.writes.assign(results, buffers_.end());
  return uses;
}

void GpuKernelThunk::AppendTo(std::string& out, int indent) const {
  Thunk::AppendTo(out, indent);
  for (const std::string_view line : Split(std::string_view(parts_), '\n')) {
    if (!line.empty())
      out += fmt::format("{}{}\n", std::string(static_cast<size_t>(indent + 1) * 2, ' '), line);
  }
}

void GpuKernelThunk::Renumber(const std::vector<int>& number) {
  for (Step& step : steps_) {
    if (step.kind == PlanStep::Kind::kLaunch)
      step.kernel = number[static_cast<size_t>(step.kernel)];
  }
}

void GpuKernelThunk::AddLate(const Step& step, GpuState& state, KernelArguments& arguments) {
  const auto add = [&arguments](uint64_t value) {
    arguments.push_back(KernelArgument::Integer(static_cast<int64_t>(value)));
  };
  const auto replica = static_cast<uint64_t>(state.replica_id);
  const auto partition = static_cast<uint64_t>(state.partition_id);
  switch (step.late) {
    case PlanStep::Late::kNone: break;
    case PlanStep::Late::kDraw:
      add(state.random.key ^ replica ^ partition << 32);
      add(state.random.draws[step.integers.front()]++);
      break;
    case PlanStep::Late::kCounter: {
      Counter128& counter = state.random.counters[static_cast<size_t>(step.counter)];
      add(counter.low);
      add(counter.high);
      counter.Advance(static_cast<uint64_t>(step.delta));
      break;
    }
    case PlanStep::Late::kReplicaId: add(replica); break;
    case PlanStep::Late::kPartitionId: add(partition); break;
    // One by one where the host counts them.
    case PlanStep::Late::kTrips: add(state.max_loop_iterations > 0 ? 1 : kTripsOfLaunch); break;
  }
}

absl::StatusOr<ExecuteEvent> GpuKernelThunk::Execute(DeviceState& device,
                                                     hlo::Stream& any_stream) const {
  auto& state = static_cast<GpuState&>(device);
  auto& stream = static_cast<Stream&>(any_stream);
  if (state.max_loop_iterations > 0 && trips_ > state.max_loop_iterations)
    return TooManyIterations(name(), state.max_loop_iterations);
  KernelArguments all;
  for (const BufferSlice& slice : buffers_)
    all.push_back(KernelArgument::Buffer(state.Address(slice), slice.size));
  for (size_t i = 0; i < scratch_.size(); ++i) {
    all.push_back(KernelArgument::Buffer(
        state.scratch + static_cast<DevicePtr>(scratch_offsets_[i]), scratch_[i]));
  }
  for (const Step& step : steps_) {
    const auto buffer = [&](size_t i) { return all[static_cast<size_t>(step.buffers[i])]; };
    if (step.kind == PlanStep::Kind::kCopy) {
      if (buffer(0).value == buffer(1).value) continue;
      RETURN_IF_ERROR(stream.CopyOnDevice(buffer(1).value, buffer(0).value, buffer(0).bytes));
      continue;
    }
    KernelArguments arguments;
    for (size_t i = 0; i < step.buffers.size(); ++i) arguments.push_back(buffer(i));
    for (const int64_t integer : step.integers)
      arguments.push_back(KernelArgument::Integer(integer));
    AddLate(step, state, arguments);
    Launch launch;
    launch.kernel = (*state.kernels)[static_cast<size_t>(step.kernel)];
    launch.dims = step.dims;
    launch.arguments = arguments;
    launch.name = name();
    launch.overlaps = state.overlap;
    RETURN_IF_ERROR(stream.LaunchKernel(launch));
  }
  return ExecuteEvent(stream);
}

// ---- graphs ----

namespace {

// How many launches and copies it is at every run; 0: not the same ones.
size_t LaunchesOf(const Thunk& thunk) {
  if (dynamic_cast<const CopyThunk*>(&thunk) != nullptr) return 1;
  if (dynamic_cast<const ProductThunk*>(&thunk) != nullptr) return 1;
  if (dynamic_cast<const PtxThunk*>(&thunk) != nullptr) return 1;
  const auto* const kernels = dynamic_cast<const GpuKernelThunk*>(&thunk);
  if (kernels == nullptr) return 0;
  const bool is_same = std::all_of(
      kernels->steps().begin(), kernels->steps().end(),
      [](const GpuKernelThunk::Step& step) { return step.late == PlanStep::Late::kNone; });
  return is_same ? kernels->steps().size() : 0;
}

std::vector<ThunkList> OneList(ThunkList thunks) {
  std::vector<ThunkList> lists;
  lists.push_back(std::move(thunks));
  return lists;
}

}  // namespace

GraphThunk::GraphThunk(std::string_view name, ThunkList thunks, int number)
    : ControlThunk(name, OneList(std::move(thunks))), number_(number) {}

absl::StatusOr<ExecuteEvent> GraphThunk::Execute(DeviceState& device,
                                                 hlo::Stream& any_stream) const {
  auto& state = static_cast<GpuState&>(device);
  auto& stream = static_cast<Stream&>(any_stream);
  GraphSlot& slot = state.graphs[static_cast<size_t>(number_)];
  // Limits of loops are looked at, and thunks are seen by a profile, when kernels are launched one
  // by one.
  if (!stream.CanCapture() || slot.failed || state.max_loop_iterations > 0 ||
      ThunkProfile::Current() != nullptr)
    return ExecuteAll(list(0), state, stream);
  if (slot.graph == nullptr) {
    if (slot.runs++ == 0) return ExecuteAll(list(0), state, stream);
    RETURN_IF_ERROR(stream.BeginCapture());
    const absl::Status status = ExecuteAll(list(0), state, stream).status();
    absl::StatusOr<std::unique_ptr<Graph>> graph = stream.EndCapture();
    RETURN_IF_ERROR(status);
    // Nothing has run yet: what a driver makes no graph of is launched one by one.
    slot.failed = !graph.ok();
    if (slot.failed) return ExecuteAll(list(0), state, stream);
    slot.graph = *std::move(graph);
  }
  RETURN_IF_ERROR(stream.LaunchGraph(*slot.graph));
  return ExecuteEvent(stream);
}

void GraphThunk::AppendTo(std::string& out, int indent) const {
  for (const auto& thunk : list(0)) thunk->AppendTo(out, indent);
}

int GroupForGraphs(ThunkList& thunks, int graphs) {
  constexpr size_t kFewestLaunches = 3;
  ThunkList grouped, open;
  size_t launches = 0;
  const auto close = [&] {
    if (launches >= kFewestLaunches) {
      const std::string name = open.front()->name();
      grouped.push_back(std::make_unique<GraphThunk>(name, std::move(open), graphs++));
    } else {
      for (auto& thunk : open) grouped.push_back(std::move(thunk));
    }
    open.clear();
    launches = 0;
  };
  for (auto& thunk : thunks) {
    const size_t own = LaunchesOf(*thunk);
    if (own == 0) close();
    launches += own;
    (own == 0 ? grouped : open).push_back(std::move(thunk));
  }
  close();
  thunks = std::move(grouped);
  return graphs;
}

}  // namespace hlo::gpu

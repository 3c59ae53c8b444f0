#include "backends/gpu/gpu_thunks.h"

#include "absl/container/inlined_vector.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kScratchAlignment = 256;

GpuExecuteContext& Gpu(ExecuteContext& context) { return static_cast<GpuExecuteContext&>(context); }

std::vector<ThunkList> TwoLists(ThunkList first, ThunkList second) {
  std::vector<ThunkList> lists;
  lists.push_back(std::move(first));
  lists.push_back(std::move(second));
  return lists;
}

}  // namespace

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
    scratch_bytes_ += RoundUp(bytes, kScratchAlignment);
  }
}

BufferUses GpuKernelThunk::uses() const {
  BufferUses uses;
  const auto results = buffers_.end() - static_cast<std::ptrdiff_t>(result_count_);
  uses.reads.assign(buffers_.begin(), results);
  uses.writes.assign(results, buffers_.end());
  return uses;
}

absl::Status GpuKernelThunk::Execute(ExecuteContext& context) const {
  GpuExecuteContext& gpu = Gpu(context);
  absl::InlinedVector<KernelArgument, 16> all;
  for (const BufferSlice& slice : buffers_)
    all.push_back(KernelArgument::Buffer(gpu.DeviceAddress(slice), slice.size));
  const auto scratch = static_cast<DevicePtr>(reinterpret_cast<uintptr_t>(gpu.scratch));
  for (size_t i = 0; i < scratch_.size(); ++i) {
    all.push_back(
        KernelArgument::Buffer(scratch + static_cast<DevicePtr>(scratch_offsets_[i]), scratch_[i]));
  }
  for (const Step& step : steps_) {
    const auto buffer = [&](size_t i) { return all[static_cast<size_t>(step.buffers[i])]; };
    if (step.kind == PlanStep::Kind::kCopy) {
      if (buffer(0).value == buffer(1).value) continue;
      RETURN_IF_ERROR(gpu.stream->CopyOnDevice(buffer(1).value, buffer(0).value, buffer(0).bytes));
      continue;
    }
    absl::InlinedVector<KernelArgument, 16> arguments;
    for (size_t i = 0; i < step.buffers.size(); ++i) arguments.push_back(buffer(i));
    for (const int64_t integer : step.integers)
      arguments.push_back(KernelArgument::Integer(integer));
    Launch launch;
    launch.kernel = (*gpu.kernels)[static_cast<size_t>(step.kernel)];
    launch.dims = step.dims;
    launch.arguments = arguments;
    launch.name = name();
    RETURN_IF_ERROR(gpu.stream->LaunchKernel(launch));
  }
  return absl::OkStatus();
}

// ---- copies ----

absl::Status GpuCopyThunk::Execute(ExecuteContext& context) const {
  GpuExecuteContext& gpu = Gpu(context);
  for (const CopyList::Copy& copy : copies_.copies) {
    if (copy.staging.allocation < 0) continue;
    RETURN_IF_ERROR(gpu.stream->CopyOnDevice(gpu.DeviceAddress(copy.staging),
                                             gpu.DeviceAddress(copy.source), copy.source.size));
  }
  for (const CopyList::Copy& copy : copies_.copies) {
    const BufferSlice& from = copy.staging.allocation < 0 ? copy.source : copy.staging;
    RETURN_IF_ERROR(gpu.stream->CopyOnDevice(gpu.DeviceAddress(copy.destination),
                                             gpu.DeviceAddress(from), copy.destination.size));
  }
  return absl::OkStatus();
}

// ---- while ----

GpuWhileThunk::GpuWhileThunk(std::string_view name, ThunkList condition, BufferSlice predicate,
                             ThunkList body)
    : ControlThunk(name, TwoLists(std::move(condition), std::move(body))), predicate_(predicate) {}

BufferUses GpuWhileThunk::uses() const {
  BufferUses uses = ControlThunk::uses();
  uses.reads.push_back(predicate_);
  return uses;
}

absl::Status GpuWhileThunk::Execute(ExecuteContext& context) const {
  GpuExecuteContext& gpu = Gpu(context);
  for (int64_t iteration = 0;; ++iteration) {
    RETURN_IF_ERROR(ExecuteAll(list(0), context));
    uint8_t go_on = 0;
    RETURN_IF_ERROR(gpu.stream->CopyToHost(&go_on, gpu.DeviceAddress(predicate_), 1));
    RETURN_IF_ERROR(gpu.stream->Synchronize());
    if (go_on == 0) return absl::OkStatus();
    if (context.max_loop_iterations > 0 && iteration >= context.max_loop_iterations) {
      return absl::DeadlineExceededError(
          fmt::format("`{}` did not end within {} iterations", name(), context.max_loop_iterations)
              .c_str());
    }
    RETURN_IF_ERROR(ExecuteAll(list(1), context));
  }
}

void GpuWhileThunk::AppendTo(std::string& out, int indent) const {
  const std::string blanks(static_cast<size_t>(indent) * 2, ' ');
  out += fmt::format("{0}while {1} predicate={2}\n{0}condition:\n", blanks, name(),
                     predicate_.ToString());
  for (const auto& thunk : list(0)) thunk->AppendTo(out, indent + 1);
  out += blanks + "body:\n";
  for (const auto& thunk : list(1)) thunk->AppendTo(out, indent + 1);
}

// ---- conditional ----

BufferUses GpuConditionalThunk::uses() const {
  BufferUses uses = ControlThunk::uses();
  uses.reads.push_back(selector_);
  return uses;
}

absl::Status GpuConditionalThunk::Execute(ExecuteContext& context) const {
  GpuExecuteContext& gpu = Gpu(context);
  int32_t selector = 0;
  RETURN_IF_ERROR(
      gpu.stream->CopyToHost(&selector, gpu.DeviceAddress(selector_), is_pred_ ? 1 : 4));
  RETURN_IF_ERROR(gpu.stream->Synchronize());
  size_t branch = list_count() - 1;
  if (is_pred_) {
    branch = selector != 0 ? 0 : 1;
  } else if (selector >= 0 && static_cast<size_t>(selector) < list_count()) {
    branch = static_cast<size_t>(selector);
  }
  return ExecuteAll(list(branch), context);
}

void GpuConditionalThunk::AppendTo(std::string& out, int indent) const {
  const std::string blanks(static_cast<size_t>(indent) * 2, ' ');
  out += fmt::format("{}conditional {} selector={}\n", blanks, name(), selector_.ToString());
  for (size_t i = 0; i < list_count(); ++i) {
    out += fmt::format("{}branch {}:\n", blanks, i);
    for (const auto& thunk : list(i)) thunk->AppendTo(out, indent + 1);
  }
}

}  // namespace hlo::gpu

#include "backends/gpu/gpu_executable.h"

#include <algorithm>

#include "backends/common/prepared_arguments.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/gpu_thunks.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kAlignment = 256;

std::byte* AsPointer(DevicePtr address) {
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address));  // NOLINT: not followed
}

DevicePtr AsAddress(const std::byte* pointer) {
  return static_cast<DevicePtr>(reinterpret_cast<uintptr_t>(pointer));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GpuExecutable>> GpuExecutable::Make(
    std::unique_ptr<Module> module, std::shared_ptr<Device> device, Program program,
    const std::vector<DeviceCode>& codes) {
  std::unique_ptr<GpuExecutable> executable(new GpuExecutable());
  executable->module_ = std::move(module);
  executable->device_ = std::move(device);
  executable->program_ = std::move(program);
  RETURN_IF_ERROR(executable->LoadKernels(codes));
  ASSIGN_OR_RETURN(executable->stream_, executable->device_->CreateStream());
  RETURN_IF_ERROR(executable->Allocate());
  return executable;
}

GpuExecutable::~GpuExecutable() {
  stream_.reset();
  modules_.clear();
  if (device_ != nullptr) device_->Free(memory_).IgnoreError();
}

absl::Status GpuExecutable::LoadKernels(const std::vector<DeviceCode>& codes) {
  for (const DeviceCode& code : codes) {
    ASSIGN_OR_RETURN(std::unique_ptr<DeviceModule> loaded, device_->LoadModule(code));
    for (const std::string& name : code.kernels) {
      ASSIGN_OR_RETURN(const Kernel* const kernel, loaded->Find(name));
      kernels_.push_back(kernel);
    }
    modules_.push_back(std::move(loaded));
  }
  RET_CHECK(kernels_.size() == program_.kernels.size(), "{} kernels loaded, {} wanted",
            kernels_.size(), program_.kernels.size());
  return absl::OkStatus();
}

absl::Status GpuExecutable::Allocate() {
  const std::vector<Allocation>& allocations = program_.buffers->allocations();
  int64_t total = 0;
  for (const Allocation& allocation : allocations) total += RoundUp(allocation.size, kAlignment);
  const int64_t scratch_offset = total;
  total += RoundUp(program_.scratch_bytes, kAlignment);
  ASSIGN_OR_RETURN(memory_, device_->Allocate(total));
  int64_t offset = 0;
  for (const Allocation& allocation : allocations) {
    addresses_.push_back(allocation.size == 0 ? nullptr : AsPointer(memory_) + offset);
    offset += RoundUp(allocation.size, kAlignment);
  }
  scratch_ = program_.scratch_bytes == 0 ? nullptr : AsPointer(memory_) + scratch_offset;
  for (size_t i = 0; i < allocations.size(); ++i) {
    const Instruction* const constant = allocations[i].constant;
    if (constant == nullptr || allocations[i].size == 0) continue;
    RETURN_IF_ERROR(RefuseElided(constant->literal(), constant->name()));
    RETURN_IF_ERROR(stream_->CopyToDevice(AsAddress(addresses_[i]), constant->literal().data(),
                                          allocations[i].size));
  }
  return stream_->Synchronize();
}

void GpuExecutable::SetStats(const CompileStats& stats) {
  stats_ = stats;
  stats_.peak_bytes = program_.buffers->total_size() + program_.scratch_bytes;
}

bool GpuExecutable::OverwritesArguments() const {
  const std::vector<Allocation>& allocations = program_.buffers->allocations();
  return std::any_of(allocations.begin(), allocations.end(),
                     [](const Allocation& a) { return a.donated; });
}

absl::Status GpuExecutable::LoadArguments(absl::Span<const Literal> arguments,
                                          bool only_overwritten) {
  RETURN_IF_ERROR(CheckArguments(*module_->entry(), arguments));
  ASSIGN_OR_RETURN(const std::vector<const Literal*> leaves,
                   ArgumentLeaves(*module_->entry(), arguments));
  const std::vector<Allocation>& allocations = program_.buffers->allocations();
  for (size_t i = 0; i < allocations.size(); ++i) {
    if (allocations[i].kind != Allocation::Kind::kArgument || allocations[i].size == 0) continue;
    if (only_overwritten && !allocations[i].donated) continue;
    const Literal& leaf = *leaves[static_cast<size_t>(allocations[i].leaf)];
    RET_CHECK(leaf.byte_size() == allocations[i].size, "argument of {} bytes for {}",
              leaf.byte_size(), allocations[i].size);
    RETURN_IF_ERROR(
        stream_->CopyToDevice(AsAddress(addresses_[i]), leaf.data(), allocations[i].size));
  }
  return stream_->Synchronize();
}

absl::Status GpuExecutable::Execute(const RunOptions& options) {
  if (options.trace != nullptr)
    return Error("platform `gpu` keeps no single values to trace; use `--platform=interpreter`");
  GpuExecuteContext context;
  context.allocations = addresses_.data();
  context.scratch = scratch_;
  context.max_loop_iterations = options.max_loop_iterations;
  context.replica_id = options.replica_id;
  context.partition_id = options.partition_id;
  context.stream = stream_.get();
  context.kernels = &kernels_;
  RETURN_IF_ERROR(ExecuteAll(program_.thunks, context));
  return stream_->Synchronize();
}

absl::StatusOr<Literal> GpuExecutable::Results() {
  Literal result(module_->entry()->root()->shape());
  const std::vector<BufferSlice>& leaves = program_.buffers->results();
  size_t next = 0;
  const auto fill = [&](auto&& self, Literal& literal) -> absl::Status {
    if (literal.shape().IsTuple()) {
      for (Literal& element : literal.mutable_elements()) RETURN_IF_ERROR(self(self, element));
      return absl::OkStatus();
    }
    const BufferSlice& slice = leaves[next++];
    if (slice.size == 0) return absl::OkStatus();
    const std::byte* const address =
        addresses_[static_cast<size_t>(slice.allocation)] + slice.offset;
    return stream_->CopyToHost(literal.mutable_data(), AsAddress(address), slice.size);
  };
  RETURN_IF_ERROR(fill(fill, result));
  RETURN_IF_ERROR(stream_->Synchronize());
  return result;
}

absl::StatusOr<Literal> GpuExecutable::Run(absl::Span<const Literal> arguments,
                                           const RunOptions& options) {
  RETURN_IF_ERROR(LoadArguments(arguments));
  RETURN_IF_ERROR(Execute(options));
  return Results();
}

absl::StatusOr<std::unique_ptr<PreparedRun>> GpuExecutable::Prepare(
    absl::Span<const Literal> arguments, const RunOptions& options) {
  RETURN_IF_ERROR(LoadArguments(arguments));
  return std::unique_ptr<PreparedRun>(
      std::make_unique<RenewingRun<GpuExecutable>>(*this, arguments, options));
}

}  // namespace hlo::gpu

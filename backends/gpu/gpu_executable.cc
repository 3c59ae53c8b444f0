#include "backends/gpu/gpu_executable.h"

#include "backends/gpu/emit/family.h"
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
  std::unique_ptr<GpuExecutable> executable(new GpuExecutable(std::move(module)));
  executable->device_ = std::move(device);
  executable->program_ = std::move(program);
  executable->random_.key = executable->program_.seed;
  executable->random_.counters.resize(static_cast<size_t>(executable->program_.counters),
                                      Counter128{kInitialRngCounter, 0});
  RETURN_IF_ERROR(executable->LoadKernels(codes));
  ASSIGN_OR_RETURN(executable->stream_, executable->device_->CreateStream());
  ASSIGN_OR_RETURN(executable->copies_, executable->device_->CreateStream());
  RETURN_IF_ERROR(executable->Allocate());
  executable->FindFirstUses();
  return executable;
}

GpuExecutable::~GpuExecutable() {
  staging_.reset();
  stream_.reset();
  copies_.reset();
  loaded_.clear();
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
  int64_t total = 0;
  for (const Allocation& allocation : allocations()) total += RoundUp(allocation.size, kAlignment);
  const int64_t scratch_offset = total;
  total += RoundUp(program_.scratch_bytes, kAlignment);
  ASSIGN_OR_RETURN(memory_, device_->Allocate(total));
  int64_t offset = 0;
  for (const Allocation& allocation : allocations()) {
    addresses_.push_back(allocation.size == 0 ? nullptr : AsPointer(memory_) + offset);
    offset += RoundUp(allocation.size, kAlignment);
  }
  scratch_ = program_.scratch_bytes == 0 ? nullptr : AsPointer(memory_) + scratch_offset;
  ASSIGN_OR_RETURN(staging_, Staging::Make(*device_, total));
  loaded_.resize(allocations().size());
  for (size_t i = 0; i < allocations().size(); ++i) {
    if (allocations()[i].kind == Allocation::Kind::kArgument && allocations()[i].size > 0) {
      ASSIGN_OR_RETURN(loaded_[i], device_->CreateEvent());
    }
    const Instruction* const constant = allocations()[i].constant;
    if (constant == nullptr || allocations()[i].size == 0) continue;
    RETURN_IF_ERROR(RefuseElided(*allocations()[i].value, constant->name()));
    RETURN_IF_ERROR(staging_->ToDevice(*stream_, AsAddress(addresses_[i]),
                                       allocations()[i].value->data(), allocations()[i].size));
  }
  return stream_->Synchronize();
}

void GpuExecutable::FindFirstUses() {
  first_uses_.resize(program_.thunks.size() + 1);
  std::vector<bool> seen(loaded_.size(), false);
  const auto see = [&](size_t thunk, const std::vector<BufferSlice>& slices) {
    for (const BufferSlice& slice : slices) {
      if (slice.allocation < 0) continue;
      const auto allocation = static_cast<size_t>(slice.allocation);
      if (loaded_[allocation] == nullptr || seen[allocation]) continue;
      seen[allocation] = true;
      first_uses_[thunk].push_back(allocation);
    }
  };
  for (size_t i = 0; i < program_.thunks.size(); ++i) {
    const BufferUses uses = program_.thunks[i]->uses();
    see(i, uses.reads);
    see(i, uses.writes);
  }
  for (size_t i = 0; i < loaded_.size(); ++i) {
    if (loaded_[i] != nullptr && !seen[i]) first_uses_.back().push_back(i);
  }
}

absl::StatusOr<std::vector<const Literal*>> GpuExecutable::Leaves(
    absl::Span<const Literal> arguments) const {
  ASSIGN_OR_RETURN(std::vector<const Literal*> leaves, LeavesOf(arguments));
  for (const Allocation& allocation : allocations()) {
    if (allocation.kind != Allocation::Kind::kArgument || allocation.size == 0) continue;
    const Literal& leaf = *leaves[static_cast<size_t>(allocation.leaf)];
    RET_CHECK(leaf.byte_size() == allocation.size, "argument of {} bytes for {}", leaf.byte_size(),
              allocation.size);
  }
  return leaves;
}

// The compute stream waits for it.
absl::Status GpuExecutable::LoadArgument(size_t allocation,
                                         const std::vector<const Literal*>& leaves) {
  const Allocation& a = allocations()[allocation];
  RETURN_IF_ERROR(staging_->ToDevice(*copies_, AsAddress(addresses_[allocation]),
                                     leaves[static_cast<size_t>(a.leaf)]->data(), a.size));
  RETURN_IF_ERROR(copies_->Record(*loaded_[allocation]));
  return stream_->Wait(*loaded_[allocation]);
}

absl::Status GpuExecutable::LoadArguments(absl::Span<const Literal> arguments,
                                          bool only_overwritten) {
  ASSIGN_OR_RETURN(const std::vector<const Literal*> leaves, Leaves(arguments));
  for (size_t i = 0; i < loaded_.size(); ++i) {
    if (loaded_[i] == nullptr) continue;
    if (only_overwritten && !allocations()[i].donated) continue;
    RETURN_IF_ERROR(LoadArgument(i, leaves));
  }
  return stream_->Synchronize();
}

absl::Status GpuExecutable::RunThunks(const RunOptions& options,
                                      const std::vector<const Literal*>* leaves) {
  GpuExecuteContext context;
  RETURN_IF_ERROR(SetUp(context, options));
  context.stream = stream_.get();
  context.kernels = &kernels_;
  context.random = &random_;
  for (size_t i = 0; i < first_uses_.size(); ++i) {
    if (leaves != nullptr) {
      for (const size_t allocation : first_uses_[i])
        RETURN_IF_ERROR(LoadArgument(allocation, *leaves));
    }
    if (i < program_.thunks.size()) RETURN_IF_ERROR(program_.thunks[i]->Execute(context));
  }
  return absl::OkStatus();
}

absl::Status GpuExecutable::Execute(const RunOptions& options) {
  RETURN_IF_ERROR(RunThunks(options, nullptr));
  return stream_->Synchronize();
}

// The stream's own account of a failure: it names the kernel.
absl::Status GpuExecutable::OrOfKernels(absl::Status status) {
  if (absl::Status ran = stream_->Synchronize(); !ran.ok()) return ran;
  return status;
}

absl::StatusOr<Literal> GpuExecutable::Results() {
  Literal result(module().entry()->root()->shape());
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
    return staging_->ToHost(*stream_, literal.mutable_data(), AsAddress(address), slice.size);
  };
  absl::Status status = fill(fill, result);
  // What is on its way must arrive before the result goes.
  status.Update(staging_->Finish());
  RETURN_IF_ERROR(OrOfKernels(std::move(status)));
  return result;
}

absl::StatusOr<Literal> GpuExecutable::Run(absl::Span<const Literal> arguments,
                                           const RunOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<const Literal*> leaves, Leaves(arguments));
  if (absl::Status status = RunThunks(options, &leaves); !status.ok())
    return OrOfKernels(std::move(status));
  return Results();
}

}  // namespace hlo::gpu

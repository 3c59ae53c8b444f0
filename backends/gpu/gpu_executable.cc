#include "backends/gpu/gpu_executable.h"

#include "backends/common/stored_array.h"
#include "backends/gpu/device/staging.h"
#include "backends/gpu/device_array.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/gpu_thunks.h"
#include "backends/gpu/library/nccl_communicator.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

bool IsLoaded(const Allocation& a) { return a.kind == Allocation::Kind::kArgument && a.size > 0; }

}  // namespace

// ---- states ----

class GpuExecutable::State final : public CompiledState {
 public:
  State(const GpuExecutable& executable, const PlacedProgram& placed)
      : CompiledState(executable),
        executable_(executable),
        placed_(placed),
        device_(*placed.device()),
        program_(executable.program_) {}
  ~State() override {
    device_.Enter().IgnoreError();
    staging_.reset();
    state_.graphs.clear();
    stream_.reset();
    copies_.reset();
    device_.FreeHost(state_.pinned).IgnoreError();
    device_.Free(memory_).IgnoreError();
  }

  absl::Status Allocate() {
    ASSIGN_OR_RETURN(stream_, device_.CreateStream());
    ASSIGN_OR_RETURN(copies_, device_.CreateStream());
    ASSIGN_OR_RETURN(copied_, device_.CreateEvent());
    state_.addresses = placed_.constants();
    int64_t bytes = program_.scratch_bytes;
    ASSIGN_OR_RETURN(memory_, PlaceAllocations(device_, executable_.allocations(), IsOfState, bytes,
                                               state_.addresses));
    state_.scratch = memory_;
    ASSIGN_OR_RETURN(state_.pinned, device_.AllocateHost(GpuState::kPinnedBytes));
    state_.kernels = &placed_.kernels();
    state_.given_kernels = &placed_.given_kernels();
    state_.collectives = executable_.collectives_.get();
    state_.gpu = device_.properties().uuid;
    state_.graphs.resize(static_cast<size_t>(program_.graphs));
    state_.overlap = program_.overlap;
    state_.random.key = program_.seed;
    state_.random.counters.resize(static_cast<size_t>(program_.counters),
                                  Counter128{kInitialRngCounter, 0});
    for (const Allocation& allocation : executable_.allocations()) bytes += allocation.size;
    ASSIGN_OR_RETURN(staging_, Staging::Make(device_, bytes));
    return absl::OkStatus();
  }

  absl::StatusOr<Literal> Execute(absl::Span<const Literal> arguments,
                                  const RunOptions& options) override {
    RETURN_IF_ERROR(device_.Enter());
    RETURN_IF_ERROR(executable_.SetUp(options, state_));
    ASSIGN_OR_RETURN(const std::vector<const Literal*> leaves, executable_.LeavesOf(arguments));
    if (absl::Status status = Launch(&leaves).status(); !status.ok())
      return OrOfKernels(std::move(status));
    return Result();
  }

  absl::StatusOr<bool> RunMany(int64_t runs) override {
    if (!stream_->CanCapture() || executable_.OverwritesArguments()) return false;
    RETURN_IF_ERROR(device_.Enter());
    ExecuteEvent done;
    for (int64_t i = 0; i < runs; ++i) {
      ASSIGN_OR_RETURN(done, Launch(nullptr));
    }
    RETURN_IF_ERROR(done.Wait());
    return true;
  }

  absl::StatusOr<Literal> Result() override {
    RETURN_IF_ERROR(device_.Enter());
    Literal result(executable_.module().entry()->root()->shape());
    const std::vector<BufferSlice>& leaves = program_.buffers->results();
    struct Sized {  // known only when it is here
      Literal* literal;
      std::vector<std::byte> stored;
    };
    std::vector<Sized> sized;
    size_t next = 0;
    const auto fill = [&](auto&& self, Literal& literal) -> absl::Status {
      if (literal.shape().IsTuple()) {
        for (Literal& element : literal.mutable_elements()) RETURN_IF_ERROR(self(self, element));
        return absl::OkStatus();
      }
      const BufferSlice& slice = leaves[next++];
      if (slice.size == 0) return absl::OkStatus();
      void* to = nullptr;
      if (literal.shape().has_dynamic_dims()) {
        sized.push_back({&literal, std::vector<std::byte>(static_cast<size_t>(slice.size))});
        to = sized.back().stored.data();
      } else {
        to = literal.mutable_data();
      }
      return staging_->ToHost(*stream_, to, state_.Address(slice), slice.size);
    };
    absl::Status status = fill(fill, result);
    // What is on its way must arrive before the result goes.
    status.Update(staging_->Finish());
    RETURN_IF_ERROR(OrOfKernels(std::move(status)));
    for (const Sized& leaf : sized)
      *leaf.literal = LoadArray(leaf.literal->shape(), leaf.stored.data());
    return result;
  }

  // ---- for OnBuffers ----
  absl::Status Begin(const RunOptions& options) {
    RETURN_IF_ERROR(device_.Enter());
    return executable_.SetUp(options, state_);
  }
  absl::Status Load(size_t allocation, const Literal& value) {
    const Allocation& to = executable_.allocations()[allocation];
    std::vector<std::byte> copy;
    ASSIGN_OR_RETURN(const void* const bytes, StoredForm(value, to.shape, copy));
    RETURN_IF_ERROR(staging_->ToDevice(*copies_, state_.addresses[allocation], bytes, to.size));
    RETURN_IF_ERROR(copies_->Record(*copied_));
    return stream_->Wait(*copied_);
  }
  absl::Status LoadFromDevice(size_t allocation, DevicePtr from) {
    return stream_->CopyOnDevice(state_.addresses[allocation], from,
                                 executable_.allocations()[allocation].size);
  }
  absl::Status Finish() { return RunThunks(); }
  // Waits for what has been enqueued, whatever became of it.
  void Drain() {
    copies_->Synchronize().IgnoreError();
    stream_->Synchronize().IgnoreError();
  }
  const std::shared_ptr<Device>& shared_device() const { return placed_.device(); }
  DevicePtr AddressOf(size_t allocation) const { return state_.addresses[allocation]; }
  DevicePtr AddressOf(const BufferSlice& slice) const { return state_.Address(slice); }

 private:
  DeviceState& device() override { return state_; }

  absl::Status LoadArguments(absl::Span<const Literal> arguments, bool only_overwritten) override {
    RETURN_IF_ERROR(device_.Enter());
    ASSIGN_OR_RETURN(const std::vector<const Literal*> leaves, executable_.LeavesOf(arguments));
    const std::vector<Allocation>& allocations = executable_.allocations();
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (!IsLoaded(allocations[i]) || (only_overwritten && !allocations[i].donated)) continue;
      RETURN_IF_ERROR(LoadArgument(i, leaves));
    }
    return stream_->Synchronize();
  }

  absl::Status RunThunks() override {
    RETURN_IF_ERROR(device_.Enter());
    ASSIGN_OR_RETURN(const ExecuteEvent done, Launch(nullptr));
    return done.Wait();
  }

  // The compute stream waits for it.
  absl::Status LoadArgument(size_t allocation, const std::vector<const Literal*>& leaves) {
    const Allocation& a = executable_.allocations()[allocation];
    return Load(allocation, *leaves[static_cast<size_t>(a.leaf)]);
  }

  // Puts the thunks on the stream; `leaves`: the arguments to take in on the way, or null.
  absl::StatusOr<ExecuteEvent> Launch(const std::vector<const Literal*>* leaves) {
    const std::vector<std::vector<size_t>>& first_uses = executable_.first_uses_;
    ExecuteEvent done;
    for (size_t i = 0; i < first_uses.size(); ++i) {
      if (leaves != nullptr) {
        for (const size_t allocation : first_uses[i])
          RETURN_IF_ERROR(LoadArgument(allocation, *leaves));
      }
      if (i == program_.thunks.size()) break;
      ASSIGN_OR_RETURN(done, ExecuteThunk(*program_.thunks[i], state_, *stream_));
    }
    return done;
  }

  // The stream's own account of a failure: it names the kernel.
  absl::Status OrOfKernels(absl::Status status) {
    if (absl::Status ran = stream_->Synchronize(); !ran.ok()) return ran;
    return status;
  }

  const GpuExecutable& executable_;
  const PlacedProgram& placed_;
  Device& device_;
  const Program& program_;
  GpuState state_;
  DevicePtr memory_ = 0;
  std::unique_ptr<Stream> stream_, copies_;
  std::unique_ptr<Event> copied_;  // the last argument
  std::unique_ptr<Staging> staging_;
};

absl::StatusOr<std::unique_ptr<ExecutionState>> GpuExecutable::MakeState() const {
  const PlacedProgram& placed = NextPlace();
  RETURN_IF_ERROR(placed.device()->Enter());
  auto state = std::make_unique<State>(*this, placed);
  RETURN_IF_ERROR(state->Allocate());
  return std::unique_ptr<ExecutionState>(std::move(state));
}

// ---- runs on buffers ----

class GpuExecutable::OnBuffers final : public BufferRun {
 public:
  OnBuffers(const GpuExecutable& executable, const PlacedProgram& placed)
      : BufferRun(executable),
        executable_(executable),
        state_(executable, placed),
        loaded_(executable.allocations().size()) {}
  ~OnBuffers() override {
    state_.shared_device()->Enter().IgnoreError();
    while (!residents_.empty()) {
      DeviceArray& array = *residents_.back();
      if (!array.Move().ok()) array.Lose();
    }
  }

  absl::Status Allocate() { return state_.Allocate(); }

  absl::StatusOr<HostBuffer> Place(HostBuffer buffer) override {
    if (buffer.size() == 0 || buffer.remote() != nullptr) return buffer;
    ASSIGN_OR_RETURN(const Literal value, buffer.ToLiteral());
    ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array,
                     DeviceArray::Of(state_.shared_device(), value, buffer.shape()));
    return HostBuffer::Of(std::move(array), buffer.shape());
  }

 private:
  bool TakesRemote() const override { return true; }

  absl::StatusOr<std::vector<HostBuffer>> Run(absl::Span<const BufferArgument> arguments,
                                              const RunOptions& options) override {
    RETURN_IF_ERROR(state_.Begin(options));
    // By allocation; the arguments of donated buffers are the run's from here on.
    const std::vector<Allocation>& allocations = executable_.allocations();
    std::vector<HostBuffer> donated(allocations.size());
    std::vector<const HostBuffer*> given(allocations.size(), nullptr);
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (allocations[i].kind != Allocation::Kind::kArgument) continue;
      const BufferArgument& argument = arguments[static_cast<size_t>(allocations[i].leaf)];
      if (argument.donated != nullptr) donated[i] = argument.donated->Donate();
      given[i] = argument.donated != nullptr ? &donated[i] : argument.buffer;
    }
    RETURN_IF_ERROR(MoveResidents(donated));
    absl::Status status = LoadArguments(given);
    if (status.ok()) status = state_.Finish();
    if (status.ok()) return Outputs();
    state_.Drain();  // what was enqueued reads what is donated
    return status;
  }

  absl::Status LoadArguments(const std::vector<const HostBuffer*>& given) {
    for (size_t i = 0; i < given.size(); ++i) {
      const Allocation& allocation = executable_.allocations()[i];
      if (given[i] != nullptr && allocation.size > 0) RETURN_IF_ERROR(LoadArgument(i, *given[i]));
      if (allocation.donated) loaded_[i].reset();  // the run overwrites it
    }
    return absl::OkStatus();
  }

  static DeviceArray* ArrayOf(const HostBuffer& buffer) {
    return dynamic_cast<DeviceArray*>(buffer.remote().get());
  }

  // Whether the array lies where allocation `i` wants it, and nobody else does.
  bool IsInPlace(size_t i, const HostBuffer& donated) const {
    const DeviceArray* const array = ArrayOf(donated);
    return array != nullptr && array->is_resident() && donated.remote().use_count() == 1 &&
           array->address() == state_.AddressOf(i) &&
           array->device() == state_.shared_device().get();
  }

  // Everything that this run would overwrite, but for what it is given to.
  absl::Status MoveResidents(const std::vector<HostBuffer>& donated) {
    const DeviceArray::Residents all = residents_;
    for (DeviceArray* const array : all) {
      bool stays = false;
      for (size_t i = 0; i < donated.size(); ++i)
        stays |= ArrayOf(donated[i]) == array && IsInPlace(i, donated[i]);
      if (!stays) RETURN_IF_ERROR(array->Move());
    }
    return absl::OkStatus();
  }

  absl::Status LoadArgument(size_t i, const HostBuffer& buffer) {
    DeviceArray* const array = ArrayOf(buffer);
    if (array == nullptr || array->is_lost() || array->device() != state_.shared_device().get()) {
      loaded_[i].reset();
      ASSIGN_OR_RETURN(const Literal value, buffer.ToLiteral());
      return state_.Load(i, value);
    }
    if (array->address() == state_.AddressOf(i)) return absl::OkStatus();
    const auto holder = std::static_pointer_cast<DeviceArray>(buffer.remote());
    if (loaded_[i].lock() == holder) return absl::OkStatus();
    loaded_[i].reset();
    RETURN_IF_ERROR(state_.LoadFromDevice(i, array->address()));
    loaded_[i] = holder;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<HostBuffer>> Outputs() {
    const std::vector<BufferSlice>& results = executable_.program_.buffers->results();
    std::vector<HostBuffer> outputs(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      const BufferSlice& slice = results[i];
      if (slice.size == 0) {
        ASSIGN_OR_RETURN(outputs[i], HostBuffer::Make(result_leaves()[i]));
        continue;
      }
      auto array = std::make_shared<DeviceArray>(state_.shared_device(), state_.AddressOf(slice),
                                                 slice.size, &residents_);
      outputs[i] = HostBuffer::Of(std::move(array), result_leaves()[i]);
    }
    return outputs;
  }

  const GpuExecutable& executable_;
  State state_;
  DeviceArray::Residents residents_;  // in the memory of the state
  // By allocation: the array whose value an argument's memory has, where no run overwrites that.
  std::vector<std::weak_ptr<DeviceArray>> loaded_;
};

absl::StatusOr<std::unique_ptr<BufferRun>> GpuExecutable::MakeBufferRun() const {
  const PlacedProgram& placed = NextPlace();
  RETURN_IF_ERROR(placed.device()->Enter());
  auto run = std::make_unique<OnBuffers>(*this, placed);
  RETURN_IF_ERROR(run->Allocate());
  return std::unique_ptr<BufferRun>(std::move(run));
}

// ---- programs ----

absl::StatusOr<std::unique_ptr<GpuExecutable>> GpuExecutable::Make(
    std::unique_ptr<Module> module, DeviceSet devices, Program program,
    const std::vector<DeviceCode>& codes) {
  std::unique_ptr<GpuExecutable> executable(new GpuExecutable(std::move(module)));
  executable->collectives_ = std::move(devices.collectives);
  executable->program_ = std::move(program);
  for (std::shared_ptr<Device>& device : devices.all) {
    ASSIGN_OR_RETURN(executable->placed_.emplace_back(),
                     PlacedProgram::Make(std::move(device), executable->allocations(),
                                         executable->program_.kernels.size(), codes,
                                         executable->program_.given));
  }
  executable->FindFirstUses();
  return executable;
}

const PlacedProgram& GpuExecutable::NextPlace() const {
  return *placed_[next_place_++ % placed_.size()];
}

GpuExecutable::~GpuExecutable() = default;

void GpuExecutable::FindFirstUses() {
  first_uses_.resize(program_.thunks.size() + 1);
  std::vector<bool> seen(allocations().size(), false);
  const auto see = [&](size_t thunk, const std::vector<BufferSlice>& slices) {
    for (const BufferSlice& slice : slices) {
      if (slice.allocation < 0) continue;
      const auto allocation = static_cast<size_t>(slice.allocation);
      if (!IsLoaded(allocations()[allocation]) || seen[allocation]) continue;
      seen[allocation] = true;
      first_uses_[thunk].push_back(allocation);
    }
  };
  for (size_t i = 0; i < program_.thunks.size(); ++i) {
    const BufferUses uses = program_.thunks[i]->uses();
    see(i, uses.reads);
    see(i, uses.writes);
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (IsLoaded(allocations()[i]) && !seen[i]) first_uses_.back().push_back(i);
  }
}

}  // namespace hlo::gpu

#include "backends/cpu/cpu_executable.h"

#include <cstring>

#include "backends/common/stored_array.h"
#include "backends/cpu/background.h"
#include "backends/cpu/cpu_state.h"
#include "backends/cpu/library/omp_shim.h"
#include "backends/cpu/memory_states.h"
#include "lib/eval/communicator.h"
#include "lib/support/crash_context.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

int64_t Aligned(int64_t bytes) { return RoundUp(bytes, Arena::kAlignment); }

bool IsTemporary(const Allocation& a) { return a.kind == Allocation::Kind::kTemp; }

}  // namespace

// What a run changes: an arena, the addresses of all allocations, what thunks keep.
class CpuExecutable::Memory final {
 public:
  explicit Memory(const CpuExecutable& executable)
      : executable_(executable), program_(executable.program_) {
    if (program_.tracks_states) {
      auto tracking = std::make_unique<TrackingState>(*program_.buffers);
      written_ = &tracking->states;
      state_ = std::move(tracking);
    } else {
      state_ = std::make_unique<CpuState>();
    }
  }

  // With places for the wanted allocations.
  absl::Status Allocate(bool (*wanted)(const Allocation&)) {
    state_->addresses = executable_.constants_;
    ASSIGN_OR_RETURN(arena_, executable_.Place(wanted, program_.scratch_bytes, state_->addresses));
    state_->scratch = arena_.data();
    state_->pool = executable_.pool_.get();
    state_->kernels.resize(static_cast<size_t>(program_.kernel_states));
    state_->evaluator.mutable_options().denormals = executable_.options_.denormals;
    state_->evaluator.mutable_options().seed = executable_.options_.seed;
    return absl::OkStatus();
  }

  absl::Status RunThunks() {
    const ScopedDenormals denormals(executable_.options_.denormals);
    const ScopedOmpPool omp(*executable_.pool_);
    state_->evaluator.mutable_options().replica_id = state_->replica_id;
    state_->evaluator.mutable_options().partition_id = state_->partition_id;
    state_->evaluator.mutable_options().communicator = state_->communicator;
    if (written_ != nullptr) written_->Reset();
    state_->lines = CrashLine::Innermost();
    HostStream stream;
    const absl::Status status = ExecuteAll(program_.thunks, *state_, stream).status();
    if (state_->background != nullptr) {
      // What still meets other devices is not to wait for one that does not come any more.
      if (!status.ok() && state_->communicator != nullptr) {
        const int64_t partitions = state_->communicator->mesh().partitions;
        state_->communicator->Leave(state_->replica_id * partitions + state_->partition_id, status);
      }
      state_->background->EndAll();
    }
    return status;
  }

  CpuState& state() const { return *state_; }

 private:
  const CpuExecutable& executable_;
  const Program& program_;
  Arena arena_;
  std::unique_ptr<CpuState> state_;
  MemoryStates* written_ = nullptr;  // of `state_`, when accesses are checked
};

class CpuExecutable::State final : public CompiledState {
 public:
  explicit State(const CpuExecutable& executable)
      : CompiledState(executable), executable_(executable), memory_(executable) {}

  absl::Status Allocate() { return memory_.Allocate(IsOfState); }

  absl::StatusOr<Literal> Result() override {
    size_t next = 0;
    return LoadValue(executable_.module().entry()->root()->shape(),
                     executable_.program_.buffers->results(), next,
                     [this](const BufferSlice& slice) -> const void* {
                       return slice.size == 0 ? nullptr : memory_.state().Address(slice);
                     });
  }

 private:
  DeviceState& device() override { return memory_.state(); }

  absl::Status LoadArguments(absl::Span<const Literal> arguments, bool only_overwritten) override {
    ASSIGN_OR_RETURN(const std::vector<const Literal*> leaves, executable_.LeavesOf(arguments));
    const std::vector<Allocation>& allocations = executable_.allocations();
    for (size_t i = 0; i < allocations.size(); ++i) {
      const Allocation& allocation = allocations[i];
      if (allocation.kind != Allocation::Kind::kArgument || allocation.size == 0) continue;
      if (only_overwritten && !allocation.donated) continue;
      const Literal& leaf = *leaves[static_cast<size_t>(allocation.leaf)];
      RETURN_IF_ERROR(StoreArray(leaf, allocation.shape, memory_.state().addresses[i]));
    }
    if (!only_overwritten) ForgetOperands(executable_.program_.thunks, memory_.state());
    return absl::OkStatus();
  }

  absl::Status RunThunks() override { return memory_.RunThunks(); }

  const CpuExecutable& executable_;
  Memory memory_;
};

// Arguments and results lie where the caller's buffers are.
class CpuExecutable::OnBuffers final : public BufferRun {
 public:
  explicit OnBuffers(const CpuExecutable& executable)
      : BufferRun(executable), executable_(executable), memory_(executable) {}

  absl::Status Allocate() { return memory_.Allocate(IsTemporary); }

 private:
  absl::StatusOr<std::vector<HostBuffer>> Run(absl::Span<const BufferArgument> arguments,
                                              const RunOptions& options) override {
    CpuState& state = memory_.state();
    RETURN_IF_ERROR(executable_.SetUp(options, state));
    const std::vector<Allocation>& allocations = executable_.allocations();
    // By allocation: what the outputs, or nobody, take in the end.
    std::vector<HostBuffer> kept(allocations.size());
    for (size_t i = 0; i < allocations.size(); ++i) {
      const Allocation& allocation = allocations[i];
      const auto leaf = static_cast<size_t>(allocation.leaf);
      if (allocation.kind == Allocation::Kind::kArgument) {
        const BufferArgument& argument = arguments[leaf];
        if (argument.donated != nullptr) {
          kept[i] = argument.donated->Donate();
        } else if (allocation.donated) {  // copy protection
          ASSIGN_OR_RETURN(kept[i], argument.buffer->Copy());
        }
        const HostBuffer& used = kept[i].data() != nullptr ? kept[i] : *argument.buffer;
        state.addresses[i] = used.data();
      } else if (allocation.kind == Allocation::Kind::kResult) {
        ASSIGN_OR_RETURN(kept[i], HostBuffer::Make(result_leaves()[leaf]));
        state.addresses[i] = kept[i].data();
      }
    }
    ForgetOperands(executable_.program_.thunks, state);
    RETURN_IF_ERROR(memory_.RunThunks());
    return Outputs(kept);
  }

  absl::StatusOr<std::vector<HostBuffer>> Outputs(std::vector<HostBuffer>& kept) {
    const std::vector<BufferSlice>& results = executable_.program_.buffers->results();
    std::vector<HostBuffer> outputs(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      const BufferSlice& slice = results[i];
      if (slice.size == 0) {
        ASSIGN_OR_RETURN(outputs[i], HostBuffer::Make(result_leaves()[i]));
      } else {
        outputs[i] = std::move(kept[static_cast<size_t>(slice.allocation)]).As(result_leaves()[i]);
      }
    }
    for (const Alias& alias : aliases()) PutWhereItMustBe(alias, kept, outputs);
    return outputs;
  }

  // An output that must alias, but was made elsewhere: the argument's memory is free by now.
  static void PutWhereItMustBe(const Alias& alias, std::vector<HostBuffer>& kept,
                               std::vector<HostBuffer>& outputs) {
    HostBuffer& memory = kept[alias.parameter];  // allocations begin with the arguments
    HostBuffer& output = outputs[alias.output];
    if (!alias.must_alias || memory.data() == nullptr || memory.size() != output.size()) return;
    std::memcpy(memory.data(), output.data(), static_cast<size_t>(output.size()));
    output = std::move(memory).As(output.shape());
  }

  const CpuExecutable& executable_;
  Memory memory_;
};

absl::StatusOr<std::unique_ptr<CpuExecutable>> CpuExecutable::Make(std::unique_ptr<Module> module,
                                                                   std::unique_ptr<ThreadPool> pool,
                                                                   Program program,
                                                                   const LibraryOptions& library) {
  std::unique_ptr<CpuExecutable> executable(new CpuExecutable(std::move(module)));
  executable->pool_ = std::move(pool);
  executable->program_ = std::move(program);
  executable->options_ = library;
  RETURN_IF_ERROR(executable->LoadConstants());
  return executable;
}

absl::Status CpuExecutable::LoadConstants() {
  // What no run has room for is refused now.
  RETURN_IF_ERROR(Arena::CheckRoom(program_.buffers->total_size() + program_.scratch_bytes));
  constants_.assign(allocations().size(), nullptr);
  ASSIGN_OR_RETURN(constant_arena_, Place(IsConstant, 0, constants_));
  for (size_t i = 0; i < allocations().size(); ++i) {
    const Allocation& allocation = allocations()[i];
    if (allocation.constant == nullptr) continue;
    RETURN_IF_ERROR(RefuseElided(*allocation.value, allocation.constant->name()));
    std::memcpy(constants_[i], allocation.value->data(), static_cast<size_t>(allocation.size));
  }
  return absl::OkStatus();
}

absl::StatusOr<Arena> CpuExecutable::Place(bool (*wanted)(const Allocation&), int64_t first_bytes,
                                           std::vector<std::byte*>& addresses) const {
  int64_t offset = Aligned(first_bytes), total = offset;
  for (const Allocation& allocation : allocations())
    total += wanted(allocation) ? Aligned(allocation.size) : 0;
  ASSIGN_OR_RETURN(Arena arena, Arena::Create(total));
  for (size_t i = 0; i < allocations().size(); ++i) {
    if (!wanted(allocations()[i])) continue;
    addresses[i] = arena.data() + offset;
    offset += Aligned(allocations()[i].size);
  }
  return arena;
}

absl::StatusOr<std::unique_ptr<ExecutionState>> CpuExecutable::MakeState() const {
  auto state = std::make_unique<State>(*this);
  RETURN_IF_ERROR(state->Allocate());
  return std::unique_ptr<ExecutionState>(std::move(state));
}

absl::StatusOr<std::unique_ptr<BufferRun>> CpuExecutable::MakeBufferRun() const {
  auto run = std::make_unique<OnBuffers>(*this);
  RETURN_IF_ERROR(run->Allocate());
  return std::unique_ptr<BufferRun>(std::move(run));
}

}  // namespace hlo::cpu

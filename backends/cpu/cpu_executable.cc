#include "backends/cpu/cpu_executable.h"

#include <cstring>

#include "backends/common/stored_array.h"
#include "backends/cpu/cpu_state.h"
#include "backends/cpu/library/omp_shim.h"
#include "backends/cpu/memory_states.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

int64_t Aligned(int64_t bytes) { return RoundUp(bytes, Arena::kAlignment); }

bool IsConstant(const Allocation& a) { return a.kind == Allocation::Kind::kConstant; }
bool IsOfState(const Allocation& a) { return !IsConstant(a); }

}  // namespace

class CpuExecutable::State final : public CompiledState {
 public:
  explicit State(const CpuExecutable& executable)
      : CompiledState(executable), executable_(executable), program_(executable.program_) {
    if (program_.tracks_states) {
      auto tracking = std::make_unique<TrackingState>(*program_.buffers);
      written_ = &tracking->states;
      state_ = std::move(tracking);
    } else {
      state_ = std::make_unique<CpuState>();
    }
  }

  absl::Status Allocate() {
    state_->addresses = executable_.constants_;
    ASSIGN_OR_RETURN(arena_,
                     executable_.Place(IsOfState, program_.scratch_bytes, state_->addresses));
    state_->scratch = arena_.data();
    state_->pool = executable_.pool_.get();
    state_->kernels.resize(static_cast<size_t>(program_.kernel_states));
    state_->evaluator.mutable_options().denormals = executable_.options_.denormals;
    state_->evaluator.mutable_options().seed = executable_.options_.seed;
    return absl::OkStatus();
  }

  absl::StatusOr<Literal> Result() override {
    size_t next = 0;
    return LoadValue(executable_.module().entry()->root()->shape(), program_.buffers->results(),
                     next, [this](const BufferSlice& slice) -> const void* {
                       return slice.size == 0 ? nullptr : state_->Address(slice);
                     });
  }

 private:
  DeviceState& device() override { return *state_; }

  absl::Status LoadArguments(absl::Span<const Literal> arguments, bool only_overwritten) override {
    ASSIGN_OR_RETURN(const std::vector<const Literal*> leaves, executable_.LeavesOf(arguments));
    const std::vector<Allocation>& allocations = executable_.allocations();
    for (size_t i = 0; i < allocations.size(); ++i) {
      const Allocation& allocation = allocations[i];
      if (allocation.kind != Allocation::Kind::kArgument || allocation.size == 0) continue;
      if (only_overwritten && !allocation.donated) continue;
      const Literal& leaf = *leaves[static_cast<size_t>(allocation.leaf)];
      RETURN_IF_ERROR(StoreArray(leaf, allocation.shape, state_->addresses[i]));
    }
    if (!only_overwritten) ForgetOperands(program_.thunks, *state_);
    return absl::OkStatus();
  }

  absl::Status RunThunks() override {
    const ScopedDenormals denormals(executable_.options_.denormals);
    const ScopedOmpPool omp(*executable_.pool_);
    state_->evaluator.mutable_options().replica_id = state_->replica_id;
    state_->evaluator.mutable_options().partition_id = state_->partition_id;
    state_->evaluator.mutable_options().communicator = state_->communicator;
    if (written_ != nullptr) written_->Reset();
    HostStream stream;
    ASSIGN_OR_RETURN(const ExecuteEvent done, ExecuteAll(program_.thunks, *state_, stream));
    return done.Wait();
  }

  const CpuExecutable& executable_;
  const Program& program_;
  Arena arena_;
  std::unique_ptr<CpuState> state_;
  MemoryStates* written_ = nullptr;  // of `state_`, when accesses are checked
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

}  // namespace hlo::cpu

#include "backends/cpu/cpu_executable.h"

#include <cstring>

#include "backends/common/stored_array.h"
#include "backends/cpu/library/omp_shim.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

int64_t Aligned(int64_t bytes) { return RoundUp(bytes, Arena::kAlignment); }

}  // namespace

absl::StatusOr<std::unique_ptr<CpuExecutable>> CpuExecutable::Make(std::unique_ptr<Module> module,
                                                                   std::unique_ptr<ThreadPool> pool,
                                                                   Program program,
                                                                   const LibraryOptions& library) {
  std::unique_ptr<CpuExecutable> executable(new CpuExecutable(std::move(module)));
  executable->pool_ = std::move(pool);
  executable->program_ = std::move(program);
  executable->denormals_ = library.denormals;
  executable->random_state_ = library.seed;
  if (executable->program_.tracks_states)
    executable->states_.emplace(*executable->program_.buffers);
  RETURN_IF_ERROR(executable->Allocate());
  return executable;
}

// Constants, temporaries and scratch memory belong to the executable; arguments and results to its
// runs.
absl::Status CpuExecutable::Allocate() {
  addresses_.assign(allocations().size(), nullptr);
  ASSIGN_OR_RETURN(arena_, Place(program_.scratch_bytes, [](const Allocation& a) {
                     return a.kind == Allocation::Kind::kConstant ||
                            a.kind == Allocation::Kind::kTemp;
                   }));
  scratch_ = arena_.data() + arena_used_ - Aligned(program_.scratch_bytes);
  for (size_t i = 0; i < allocations().size(); ++i) {
    if (const Instruction* constant = allocations()[i].constant) {
      RETURN_IF_ERROR(RefuseElided(*allocations()[i].value, constant->name()));
      std::memcpy(addresses_[i], allocations()[i].value->data(),
                  static_cast<size_t>(allocations()[i].size));
    }
  }
  return absl::OkStatus();
}

absl::Status CpuExecutable::AllocateForRuns() {
  if (has_run_memory_) return absl::OkStatus();
  ASSIGN_OR_RETURN(run_arena_, Place(0, [](const Allocation& a) {
                     return a.kind == Allocation::Kind::kArgument ||
                            a.kind == Allocation::Kind::kResult;
                   }));
  has_run_memory_ = true;
  return absl::OkStatus();
}

absl::StatusOr<Arena> CpuExecutable::Place(int64_t extra_bytes, bool (*wanted)(const Allocation&)) {
  int64_t total = Aligned(extra_bytes);
  for (const Allocation& allocation : allocations())
    total += wanted(allocation) ? Aligned(allocation.size) : 0;
  ASSIGN_OR_RETURN(Arena arena, Arena::Create(total));
  arena_used_ = total;
  int64_t offset = 0;
  for (size_t i = 0; i < allocations().size(); ++i) {
    if (!wanted(allocations()[i])) continue;
    addresses_[i] = arena.data() + offset;
    offset += Aligned(allocations()[i].size);
  }
  return arena;
}

absl::Status CpuExecutable::LoadArguments(absl::Span<const Literal> arguments,
                                          bool only_overwritten) {
  ASSIGN_OR_RETURN(const std::vector<const Literal*> leaves, LeavesOf(arguments));
  RETURN_IF_ERROR(AllocateForRuns());
  for (size_t i = 0; i < allocations().size(); ++i) {
    const Allocation& allocation = allocations()[i];
    if (allocation.kind != Allocation::Kind::kArgument || allocation.size == 0) continue;
    if (only_overwritten && !allocation.donated) continue;
    const Literal& leaf = *leaves[static_cast<size_t>(allocation.leaf)];
    RETURN_IF_ERROR(StoreArray(leaf, allocation.shape, addresses_[i]));
  }
  if (!only_overwritten) ForgetOperands(program_.thunks);
  return absl::OkStatus();
}

absl::Status CpuExecutable::Execute(const RunOptions& options) {
  const ScopedDenormals denormals(denormals_);
  const ScopedOmpPool omp(*pool_);
  if (!states_) {
    ExecuteContext context;
    return ExecuteIn(context, options);
  }
  TrackingContext context;
  context.states = &*states_;
  states_->Reset();
  return ExecuteIn(context, options);
}

absl::Status CpuExecutable::ExecuteIn(ExecuteContext& context, const RunOptions& options) {
  RETURN_IF_ERROR(SetUp(context, options));
  context.pool = pool_.get();
  context.random_state = &random_state_;
  return ExecuteAll(program_.thunks, context);
}

absl::StatusOr<Literal> CpuExecutable::Results() {
  size_t next = 0;
  return LoadValue(module().entry()->root()->shape(), program_.buffers->results(), next,
                   [this](const BufferSlice& slice) -> const void* {
                     if (slice.size == 0) return nullptr;
                     return addresses_[static_cast<size_t>(slice.allocation)] + slice.offset;
                   });
}

absl::StatusOr<Literal> CpuExecutable::Run(absl::Span<const Literal> arguments,
                                           const RunOptions& options) {
  RETURN_IF_ERROR(LoadArguments(arguments, /*only_overwritten=*/false));
  RETURN_IF_ERROR(Execute(options));
  return Results();
}

}  // namespace hlo::cpu

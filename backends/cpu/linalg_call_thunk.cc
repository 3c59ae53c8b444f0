// Custom calls of lib/linalg: the matrices of a batch are shared out to the threads.
#include "backends/cpu/linalg_call_thunk.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/library_thunks.h"
#include "lib/support/status.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {
namespace {

class LinalgCallThunk final : public CpuThunk {
 public:
  LinalgCallThunk(const Instruction& instruction, const ThunkBuffers& buffers,
                  linalg::LinalgCall call)
      : CpuThunk(instruction.name()), results_(buffers.results), call_(std::move(call)) {
    for (const auto& operand : buffers.operands) operands_.push_back(operand[0]);
  }
  std::string_view kind() const override { return "linear algebra"; }
  BufferUses uses() const override { return {operands_, results_}; }
  absl::Status Run(CpuState& state) const override {
    std::vector<const void*> operands;
    for (const BufferSlice& slice : operands_) operands.push_back(state.Address(slice));
    std::vector<void*> results;
    for (const BufferSlice& slice : results_) results.push_back(state.Address(slice));
    RunBatch(call_, operands, results, *state.pool);
    return absl::OkStatus();
  }

 private:
  std::vector<BufferSlice> operands_, results_;
  linalg::LinalgCall call_;
};

}  // namespace

// Below this many operations a second thread is not worth waking.
constexpr int64_t kOperationsPerThread = 4096;

void RunBatch(const linalg::LinalgCall& call, absl::Span<const void* const> operands,
              absl::Span<void* const> results, ThreadPool& pool) {
  const int64_t grain = std::max<int64_t>(1, kOperationsPerThread / call.cost());
  pool.ParallelRanges(call.batch(), grain, [&](int64_t first, int64_t last, int) {
    call.Run(operands, results, first, last);
  });
}

absl::StatusOr<std::unique_ptr<Thunk>> MakeLinalgCallThunk(const Instruction& instruction,
                                                           const ThunkBuffers& buffers,
                                                           const LibraryOptions&) {
  ASSIGN_OR_RETURN(linalg::LinalgCall call, linalg::LinalgCall::Make(instruction));
  return std::make_unique<LinalgCallThunk>(instruction, buffers, std::move(call));
}

}  // namespace hlo::cpu

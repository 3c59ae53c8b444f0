#include "backends/gpu/collective_thunk.h"

#include "backends/gpu/gpu_thunks.h"
#include "backends/gpu/library/nccl_communicator.h"
#include "lib/eval/collective_groups.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class CollectiveThunk final : public Thunk {
 public:
  CollectiveThunk(const Instruction& collective, std::vector<BufferSlice> operands,
                  std::vector<BufferSlice> results, std::unique_ptr<Thunk> elsewhere)
      : Thunk(collective.name()),
        collective_(collective),
        operands_(std::move(operands)),
        results_(std::move(results)),
        elsewhere_(std::move(elsewhere)) {}
  std::string_view kind() const override { return elsewhere_->kind(); }
  BufferUses uses() const override { return elsewhere_->uses(); }

  absl::StatusOr<ExecuteEvent> Execute(DeviceState& device, hlo::Stream& stream) const override {
    ASSIGN_OR_RETURN(const bool is_done, RunOnGpus(static_cast<GpuState&>(device), stream));
    if (is_done) return ExecuteEvent();
    return elsewhere_->Execute(device, stream);
  }

 private:
  // False: it is the host's.
  absl::StatusOr<bool> RunOnGpus(const GpuState& state, hlo::Stream& stream) const {
    if (state.collectives == nullptr || state.communicator == nullptr) return false;
    const DeviceMesh mesh = state.communicator->mesh();
    const int64_t device = state.replica_id * mesh.partitions + state.partition_id;
    const std::vector<int64_t> group = GroupOf(collective_, device, mesh);
    if (group.empty()) return false;
    NcclCommunicator::Arrays arrays;
    for (const BufferSlice& slice : operands_) arrays.operands.push_back(state.Address(slice));
    for (const BufferSlice& slice : results_) arrays.results.push_back(state.Address(slice));
    return state.collectives->Meet(
        {*state.communicator, device, state.gpu, static_cast<Stream&>(stream)}, collective_, group,
        arrays);
  }

  const Instruction& collective_;
  std::vector<BufferSlice> operands_, results_;
  std::unique_ptr<Thunk> elsewhere_;
};

}  // namespace

std::unique_ptr<Thunk> MakeCollectiveThunk(const Instruction& collective,
                                           std::vector<BufferSlice> operands,
                                           std::vector<BufferSlice> results,
                                           std::unique_ptr<Thunk> elsewhere) {
  return std::make_unique<CollectiveThunk>(collective, std::move(operands), std::move(results),
                                           std::move(elsewhere));
}

}  // namespace hlo::gpu

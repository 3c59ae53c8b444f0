#include "backends/gpu/host_thunk.h"

#include <algorithm>

#include "backends/common/refusal.h"
#include "backends/common/stored_array.h"
#include "backends/gpu/gpu_thunks.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class HostThunk final : public Thunk {
 public:
  HostThunk(const Instruction& instruction, std::vector<std::vector<BufferSlice>> operands,
            std::vector<BufferSlice> results, Denormals denormals)
      : Thunk(instruction.name()),
        instruction_(instruction),
        operands_(std::move(operands)),
        results_(std::move(results)),
        denormals_(denormals) {}
  std::string_view kind() const override { return "host"; }
  BufferUses uses() const override {
    BufferUses uses;
    for (const auto& operand : operands_)
      uses.reads.insert(uses.reads.end(), operand.begin(), operand.end());
    uses.writes = results_;
    return uses;
  }

  absl::StatusOr<ExecuteEvent> Execute(DeviceState& device, hlo::Stream& stream) const override {
    auto& state = static_cast<GpuState&>(device);
    auto& own = static_cast<Stream&>(stream);
    ASSIGN_OR_RETURN(const std::vector<Literal> operands, Read(state, own));
    EvalOptions& options = state.evaluator.mutable_options();
    options.denormals = denormals_;
    options.replica_id = state.replica_id;
    options.partition_id = state.partition_id;
    options.communicator = state.communicator;
    ASSIGN_OR_RETURN(const Literal result,
                     state.evaluator.EvaluateInstruction(instruction_, operands));
    RETURN_IF_ERROR(Write(state, own, result));
    return ExecuteEvent();
  }

 private:
  using Bytes = std::vector<std::vector<std::byte>>;  // of slices, one after the other

  absl::StatusOr<std::vector<Literal>> Read(const GpuState& state, Stream& stream) const {
    Bytes copies;
    for (const auto& operand : operands_) {
      for (const BufferSlice& slice : operand) {
        std::vector<std::byte>& copy = copies.emplace_back(static_cast<size_t>(slice.size));
        if (slice.size > 0)
          RETURN_IF_ERROR(stream.CopyToHost(copy.data(), state.Address(slice), slice.size));
      }
    }
    RETURN_IF_ERROR(stream.Synchronize());
    std::vector<Literal> values;
    size_t leaf = 0;
    for (int i = 0; i < instruction_.operand_count(); ++i) {
      size_t next = 0;
      values.push_back(LoadValue(instruction_.operand(i)->shape(),
                                 operands_[static_cast<size_t>(i)], next,
                                 [&](const BufferSlice&) { return copies[leaf++].data(); }));
    }
    return values;
  }

  absl::Status Write(const GpuState& state, Stream& stream, const Literal& result) const {
    Bytes copies;
    size_t next = 0;
    RETURN_IF_ERROR(
        StoreValue(result, instruction_.shape(), results_, next, [&](const BufferSlice& slice) {
          copies.emplace_back(static_cast<size_t>(slice.size));
          return copies.back().data();
        }));
    for (size_t i = 0; i < copies.size(); ++i) {
      if (results_[i].size > 0)
        RETURN_IF_ERROR(
            stream.CopyToDevice(state.Address(results_[i]), copies[i].data(), results_[i].size));
    }
    return stream.Synchronize();  // the copies go
  }

  const Instruction& instruction_;
  std::vector<std::vector<BufferSlice>> operands_;
  std::vector<BufferSlice> results_;
  Denormals denormals_;
};

}  // namespace

bool IsOnHost(const Instruction& instruction) {
  if (kFeeds.Has(instruction.opcode())) return true;
  return !instruction.IsFusion() && IsEvaluableHere(instruction);
}

std::unique_ptr<Thunk> MakeHostThunk(const Instruction& instruction,
                                     std::vector<std::vector<BufferSlice>> operands,
                                     std::vector<BufferSlice> results, Denormals denormals) {
  return std::make_unique<HostThunk>(instruction, std::move(operands), std::move(results),
                                     denormals);
}

}  // namespace hlo::gpu

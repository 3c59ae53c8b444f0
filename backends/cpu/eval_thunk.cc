// Computes one instruction with the interpreter: literals are made from the operands' memory, and
// the result is copied back.
#include <algorithm>
#include <cstring>
#include <deque>

#include "backends/common/stored_array.h"
#include "backends/cpu/library_thunks.h"
#include "lib/ir/module.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

class EvalThunk final : public CpuThunk {
 public:
  EvalThunk(const Instruction& instruction, const ThunkBuffers& buffers)
      : CpuThunk(instruction.name()), instruction_(instruction), buffers_(buffers) {}
  std::string_view kind() const override { return "eval"; }
  BufferUses uses() const override {
    BufferUses uses;
    for (const auto& operand : buffers_.operands)
      uses.reads.insert(uses.reads.end(), operand.begin(), operand.end());
    uses.writes = buffers_.results;
    return uses;
  }
  absl::Status Run(CpuState& state) const override {
    const auto address = [&state](const BufferSlice& slice) { return state.Address(slice); };
    std::vector<Literal> operands;
    for (int i = 0; i < instruction_.operand_count(); ++i) {
      size_t next = 0;
      operands.push_back(LoadValue(instruction_.operand(i)->shape(),
                                   buffers_.operands[static_cast<size_t>(i)], next, address));
    }
    ASSIGN_OR_RETURN(const Literal result,
                     state.evaluator.EvaluateInstruction(instruction_, operands));
    return Store(result, state);
  }

 private:
  bool IsOperand(const BufferSlice& slice) const {
    return slice.size > 0 &&
           std::any_of(buffers_.operands.begin(), buffers_.operands.end(),
                       [&slice](const std::vector<BufferSlice>& operand) {
                         return std::count(operand.begin(), operand.end(), slice) > 0;
                       });
  }

  // What the instruction passes on lies there already: to write the same bytes again would race
  // with what reads them beside this sequence, and with the owner of a borrowed buffer.
  absl::Status Store(const Literal& result, CpuState& state) const {
    struct PassedOn {
      void* place;
      std::vector<std::byte> bytes;
    };
    std::deque<PassedOn> passed_on;
    const auto place = [&](const BufferSlice& slice) -> void* {
      if (!IsOperand(slice)) return state.Address(slice);
      passed_on.push_back(
          {state.Address(slice), std::vector<std::byte>(static_cast<size_t>(slice.size))});
      return passed_on.back().bytes.data();
    };
    size_t next = 0;
    RETURN_IF_ERROR(StoreValue(result, instruction_.shape(), buffers_.results, next, place));
    for (const PassedOn& leaf : passed_on) {
      if (std::memcmp(leaf.place, leaf.bytes.data(), leaf.bytes.size()) != 0)
        std::memcpy(leaf.place, leaf.bytes.data(), leaf.bytes.size());
    }
    return absl::OkStatus();
  }

  const Instruction& instruction_;
  ThunkBuffers buffers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> MakeEvalThunk(const Instruction& instruction,
                                                     const ThunkBuffers& buffers) {
  return std::make_unique<EvalThunk>(instruction, buffers);
}

}  // namespace hlo::cpu

// Computes one instruction with the interpreter: literals are made from the operands' memory, and
// the result is copied back.
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
    const Shape shape = instruction_.shape();
    // set-dimension-size may be declared with a fixed size, and then set another one.
    if (shape.IsArray() && !shape.has_dynamic_dims() &&
        !CompatibleIgnoringDynamic(result.shape(), shape)) {
      return Error(instruction_.loc(), "`{}` is declared `{}`, but has shape `{}` now",
                   instruction_.name(), shape, result.shape());
    }
    size_t next = 0;
    return StoreValue(result, shape, buffers_.results, next, address);
  }

 private:
  const Instruction& instruction_;
  ThunkBuffers buffers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> MakeEvalThunk(const Instruction& instruction,
                                                     const ThunkBuffers& buffers) {
  return std::make_unique<EvalThunk>(instruction, buffers);
}

}  // namespace hlo::cpu

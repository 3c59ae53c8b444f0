// Computes one instruction with the interpreter: literals are made from the operands' memory, and
// the result is copied back.
#include "backends/common/stored_array.h"
#include "backends/cpu/library_thunks.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/module.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

class EvalThunk final : public Thunk {
 public:
  EvalThunk(const Instruction& instruction, const ThunkBuffers& buffers,
            const LibraryOptions& options)
      : Thunk(instruction.name()),
        instruction_(instruction),
        buffers_(buffers),
        evaluator_(options.evaluator) {}
  std::string_view kind() const override { return "eval"; }
  BufferUses uses() const override {
    BufferUses uses;
    for (const auto& operand : buffers_.operands)
      uses.reads.insert(uses.reads.end(), operand.begin(), operand.end());
    uses.writes = buffers_.results;
    return uses;
  }
  absl::Status Execute(ExecuteContext& context) const override {
    const auto address = [&context](const BufferSlice& slice) { return context.Address(slice); };
    std::vector<Literal> operands;
    for (int i = 0; i < instruction_.operand_count(); ++i) {
      size_t next = 0;
      operands.push_back(LoadValue(instruction_.operand(i)->shape(),
                                   buffers_.operands[static_cast<size_t>(i)], next, address));
    }
    evaluator_->SetDevice(context.replica_id, context.partition_id);
    ASSIGN_OR_RETURN(const Literal result, evaluator_->EvaluateInstruction(instruction_, operands));
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
  std::shared_ptr<Evaluator> evaluator_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> MakeEvalThunk(const Instruction& instruction,
                                                     const ThunkBuffers& buffers,
                                                     const LibraryOptions& options) {
  return std::make_unique<EvalThunk>(instruction, buffers, options);
}

}  // namespace hlo::cpu

// Computes one instruction with the interpreter: literals are made from the operands' memory, and
// the result is copied back.
#include <cstring>

#include "backends/cpu/library_thunks.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/module.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

// Fills the leaves of a literal from slices, depth first.
void Load(Literal& literal, const std::vector<BufferSlice>& slices, size_t& next,
          const ExecuteContext& context) {
  if (literal.shape().IsTuple()) {
    for (Literal& element : literal.mutable_elements()) Load(element, slices, next, context);
    return;
  }
  const BufferSlice& slice = slices[next++];
  if (slice.size > 0)
    std::memcpy(literal.mutable_data(), context.Address(slice), static_cast<size_t>(slice.size));
}

absl::Status Store(const Literal& literal, const std::vector<BufferSlice>& slices, size_t& next,
                   const ExecuteContext& context) {
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.elements())
      RETURN_IF_ERROR(Store(element, slices, next, context));
    return absl::OkStatus();
  }
  const BufferSlice& slice = slices[next++];
  RET_CHECK(literal.byte_size() == slice.size, "a result of {} bytes for a slice of {}",
            literal.byte_size(), slice.size);
  if (slice.size > 0)
    std::memcpy(context.Address(slice), literal.data(), static_cast<size_t>(slice.size));
  return absl::OkStatus();
}

class EvalThunk final : public Thunk {
 public:
  EvalThunk(const Instruction& instruction, const ThunkBuffers& buffers,
            const LibraryOptions& options)
      : Thunk(instruction.name()),
        instruction_(instruction),
        buffers_(buffers),
        evaluator_(OptionsOf(options)) {}
  std::string_view kind() const override { return "eval"; }
  BufferUses uses() const override {
    BufferUses uses;
    for (const auto& operand : buffers_.operands)
      uses.reads.insert(uses.reads.end(), operand.begin(), operand.end());
    uses.writes = buffers_.results;
    return uses;
  }
  absl::Status Execute(ExecuteContext& context) const override {
    std::vector<Literal> operands;
    for (int i = 0; i < instruction_.operand_count(); ++i) {
      operands.emplace_back(instruction_.operand(i)->shape());
      size_t next = 0;
      Load(operands.back(), buffers_.operands[static_cast<size_t>(i)], next, context);
    }
    ASSIGN_OR_RETURN(const Literal result, evaluator_.EvaluateInstruction(instruction_, operands));
    size_t next = 0;
    return Store(result, buffers_.results, next, context);
  }

 private:
  static EvalOptions OptionsOf(const LibraryOptions& options) {
    EvalOptions eval;
    eval.denormals = options.denormals;
    eval.seed = options.seed;
    return eval;
  }
  const Instruction& instruction_;
  ThunkBuffers buffers_;
  mutable Evaluator evaluator_;  // caches plans; one run at a time
};

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> MakeEvalThunk(const Instruction& instruction,
                                                     const ThunkBuffers& buffers,
                                                     const LibraryOptions& options) {
  if (instruction.shape().has_dynamic_dims()) {
    return Unsupported(instruction.loc(),
                       "platform `cpu` cannot run `{}` with dynamic dimensions yet",
                       instruction.opcode_text());
  }
  return std::make_unique<EvalThunk>(instruction, buffers, options);
}

}  // namespace hlo::cpu

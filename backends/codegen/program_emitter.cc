#include "backends/codegen/program_emitter.h"

#include <utility>

#include "backends/common/control_flow.h"
#include "lib/ir/computation.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"

namespace hlo {
namespace {

constexpr size_t kMostErrors = 10;

}  // namespace

bool ProgramEmitter::IsControl(const Instruction& instruction) {
  const Opcode op = instruction.opcode();
  return kProgramCallers.Has(op);
}

absl::Status ProgramEmitter::Collect(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kUnimplemented) return status;
  for (Diagnostic& diagnostic : DiagnosticsOf(status)) {
    if (refused_.size() < kMostErrors) refused_.push_back(std::move(diagnostic));
  }
  return absl::OkStatus();
}

absl::Status ProgramEmitter::RefuseCollected() const {
  if (refused_.empty()) return absl::OkStatus();
  return StatusOf(absl::StatusCode::kUnimplemented, refused_);
}

absl::Status ProgramEmitter::EmitInto(CompiledProgram& program) {
  program_ = &program;
  const Stopwatch all;
  RETURN_IF_ERROR(PlanAll(*module_.entry()));
  RETURN_IF_ERROR(RefuseCollected());
  AssignmentHooks hooks;
  hooks.can_share = [this](const Instruction& instruction, int operand, int leaf) {
    return !NeedsNoCode(instruction) && !IsControl(instruction) &&
           MayShare(instruction, {operand, leaf});
  };
  const Stopwatch buffers;
  ASSIGN_OR_RETURN(program.buffers, BufferAssignment::Make(module_, hooks));
  CodegenTimes& times = program.times;
  times.buffers_ms = buffers.milliseconds();
  RETURN_IF_ERROR(CompileKernels());
  ASSIGN_OR_RETURN(program.thunks, Emit(*module_.entry()));
  RETURN_IF_ERROR(RefuseCollected());
  RETURN_IF_ERROR(Improve(program.thunks));
  program.scratch_bytes = ScratchBytes(program.thunks);
  times.kernels_ms = all.milliseconds() - times.buffers_ms - times.llvm_ms - times.link_ms;
  Show(EmitStage::kBuffers, [&] { return program.buffers->ToString(); });
  Show(EmitStage::kThunks, [&] { return ToString(program.thunks); });
  return absl::OkStatus();
}

absl::Status ProgramEmitter::CheckFusion(const Instruction& fusion) const {
  const Decision taken = Takes(target_, fusion);
  return taken ? absl::OkStatus()
               : Internal("the kernels of `{}` do not take fusion `{}`: {}", target_.name,
                          fusion.name(), taken.reason());
}

absl::Status ProgramEmitter::PlanAll(const Computation& computation) {
  for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
    if (refused_.size() >= kMostErrors) break;
    if (NeedsNoCode(*instruction) || instruction->opcode() == Opcode::kCopy) continue;
    if (instruction->IsFusion()) RETURN_IF_ERROR(CheckFusion(*instruction));
    if (instruction->opcode() == Opcode::kAsyncDone && IsStart(*instruction->operand(0))) continue;
    if (!IsControl(*instruction) && !IsStart(*instruction)) {
      RETURN_IF_ERROR(Collect(Plan(*instruction)));
      continue;
    }
    for (const Computation* callee : instruction->calls()) RETURN_IF_ERROR(PlanAll(*callee));
  }
  return absl::OkStatus();
}

absl::Status ProgramEmitter::EmitControl(const Instruction& instruction, ThunkList& thunks) {
  if (instruction.opcode() == Opcode::kWhile) {
    ASSIGN_OR_RETURN(const bool is_done, EmitLoop(instruction, thunks));
    if (is_done) return absl::OkStatus();
  }
  return EmitControlFlow(
      instruction, buffers(), [this](const Computation& c) { return Emit(c); }, thunks);
}

// Array by array; nothing where buffer assignment has put both ends into one place.
void ProgramEmitter::EmitCopy(const Instruction& copy, ThunkList& thunks) {
  const std::vector<BufferSlice> from = buffers().slices(*copy.operand(0));
  const std::vector<BufferSlice> to = buffers().slices(copy);
  for (size_t leaf = 0; leaf < to.size(); ++leaf) {
    if (from[leaf] != to[leaf])
      thunks.push_back(std::make_unique<CopyThunk>(copy.name(), from[leaf], to[leaf]));
  }
}

absl::StatusOr<ThunkList> ProgramEmitter::Emit(const Computation& computation) {
  ThunkList thunks;
  for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
    if (NeedsNoCode(*instruction)) continue;
    if (instruction->opcode() == Opcode::kCopy) {
      EmitCopy(*instruction, thunks);
      continue;
    }
    if (IsControl(*instruction)) {
      RETURN_IF_ERROR(EmitControl(*instruction, thunks));
      continue;
    }
    if (IsStart(*instruction)) {
      ASSIGN_OR_RETURN(ThunkList body, Emit(*instruction->call(0)));
      thunks.push_back(MakeStart(*instruction, std::move(body)));
      continue;
    }
    absl::StatusOr<std::unique_ptr<Thunk>> thunk = MakeThunk(*instruction);
    RETURN_IF_ERROR(Collect(thunk.status()));
    if (thunk.ok()) thunks.push_back(*std::move(thunk));
  }
  return thunks;
}

std::vector<BufferSlice> ProgramEmitter::SlicesOf(const Instruction& instruction) const {
  std::vector<BufferSlice> slices;
  const auto append = [&](const Instruction& value) {
    const std::vector<BufferSlice> leaves = buffers().slices(value);
    slices.insert(slices.end(), leaves.begin(), leaves.end());
  };
  for (const Instruction* operand : instruction.operands()) append(*operand);
  append(instruction);
  return slices;
}

}  // namespace hlo

// backends/codegen/program_emitter.h
//
// From a module after the passes to a program, in steps that are the same for every target:
//
//   1. Plan each instruction; what the target cannot run is collected, and refused with its places.
//      A fusion that its kernels do not take is an internal error: passes decided fusions
//   2. lay out memory; the target says which operands and results may share it
//   3. compile the kernels
//   4. line up thunks in program order, control flow as thunks that hold lists
//
// A target derives from it and says what its instructions are. Calls, loops and branches, copies,
// and what only gives a value another name, are none of its business.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/codegen/compiled_executable.h"
#include "backends/codegen/in_place.h"
#include "lib/ir/module.h"
#include "lib/support/diagnostic.h"
#include "passes/fusion/fusion_target.h"

namespace hlo {

class ProgramEmitter {
 protected:
  ProgramEmitter(const FusionTarget& target, Module& module, const CompileOptions& options)
      : module_(module), options_(options), target_(target) {}
  virtual ~ProgramEmitter() = default;
  ProgramEmitter(const ProgramEmitter&) = delete;
  ProgramEmitter& operator=(const ProgramEmitter&) = delete;

  // All steps. Up to ten instructions that the platform cannot run are named in one kUnimplemented
  // error.
  absl::Status EmitInto(CompiledProgram& program);

  // The target's part, in the order in which it is called. kUnimplemented: it cannot run it.
  virtual absl::Status Plan(const Instruction& instruction) = 0;
  virtual bool MayShare(const Instruction& instruction, const BufferPair& pair) = 0;
  // Adds what it knows to CompiledProgram::times.
  virtual absl::Status CompileKernels() = 0;
  // Appends thunks for a loop that the target runs in a way of its own, if it is one.
  virtual absl::StatusOr<bool> EmitLoop(const Instruction& /*loop*/, ThunkList& /*thunks*/) {
    return false;
  }
  virtual absl::StatusOr<std::unique_ptr<Thunk>> MakeThunk(const Instruction& instruction) = 0;
  // Last: may change the thunks of the entry computation.
  virtual absl::Status Improve(ThunkList& /*thunks*/) { return absl::OkStatus(); }
  // Whether the target runs this asynchronous computation beside others: MakeStart then makes the
  // thunk of the start from those of the computation, MakeThunk that of the done.
  virtual bool TakesPair(const Instruction& /*start*/) const { return false; }
  virtual std::unique_ptr<Thunk> MakeStart(const Instruction& /*start*/, ThunkList /*body*/) {
    return nullptr;
  }

  // The thunks of a computation.
  absl::StatusOr<ThunkList> Emit(const Computation& computation);

  // After step 2.
  const BufferAssignment& buffers() const { return *program_->buffers; }
  // The leaves of the operands in order, then those of the result.
  std::vector<BufferSlice> SlicesOf(const Instruction& instruction) const;

  template <class Fn>
  void Show(EmitStage stage, Fn&& text) {
    if (options_.Wants(stage)) options_.emit_sink(stage, text());
  }

  // Notes what is wrong with a kUnimplemented error; gives others back.
  absl::Status Collect(const absl::Status& status);

  static bool IsControl(const Instruction& instruction);
  bool IsStart(const Instruction& instruction) const {
    return instruction.opcode() == Opcode::kAsyncStart && TakesPair(instruction);
  }

  Module& module_;
  const CompileOptions& options_;

 private:
  absl::Status CheckFusion(const Instruction& fusion) const;
  absl::Status PlanAll(const Computation& computation);
  void EmitCopy(const Instruction& copy, ThunkList& thunks);
  absl::Status EmitControl(const Instruction& instruction, ThunkList& thunks);
  absl::Status RefuseCollected() const;

  const FusionTarget& target_;
  CompiledProgram* program_ = nullptr;
  std::vector<Diagnostic> refused_;
};

}  // namespace hlo

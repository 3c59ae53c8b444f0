#include "backends/gpu/program.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "backends/common/control_flow.h"
#include "backends/common/refusal.h"
#include "backends/common/stored_array.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/gpu_thunks.h"
#include "lib/ir/computation.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "lib/support/thread_pool.h"

namespace hlo::gpu {
namespace {

constexpr size_t kMostErrors = 10;

bool IsControl(Opcode op) {
  return op == Opcode::kWhile || op == Opcode::kConditional || op == Opcode::kCall;
}

class ProgramEmitter {
 public:
  ProgramEmitter(Module& module, const CompileOptions& options)
      : module_(module), options_(options) {
    program_.seed = options.seed;
  }

  absl::StatusOr<Program> Run() {
    for (const Instruction* parameter : module_.entry()->parameters()) {
      if (HasDynamicLeaf(parameter->shape()))
        Collect(Refuse("gpu", *parameter, "it has dynamic dimensions"));
    }
    RETURN_IF_ERROR(CheckAll(*module_.entry()));
    if (!unsupported_.empty()) return StatusOf(absl::StatusCode::kUnimplemented, unsupported_);
    AssignmentHooks hooks;
    hooks.can_share = [this](const Instruction& instruction, int operand, int leaf) {
      return CanShare(instruction, operand, leaf);
    };
    ASSIGN_OR_RETURN(program_.buffers, BufferAssignment::Make(module_, hooks));
    EmitKernels();
    ASSIGN_OR_RETURN(program_.thunks, Emit(*module_.entry()));
    if (!program_.buffers->entry_end().copies.empty()) {
      program_.thunks.push_back(
          std::make_unique<CopyThunk>("results", program_.buffers->entry_end()));
    }
    if (!unsupported_.empty()) return StatusOf(absl::StatusCode::kUnimplemented, unsupported_);
    program_.scratch_bytes = ScratchBytes(program_.thunks);
    Show(EmitStage::kBuffers, [&] { return program_.buffers->ToString(); });
    Show(EmitStage::kThunks, [&] { return ToString(program_.thunks); });
    return std::move(program_);
  }

 private:
  template <class Fn>
  void Show(EmitStage stage, Fn&& text) {
    if (options_.Wants(stage)) options_.emit_sink(stage, text());
  }

  void Collect(const absl::Status& status) {
    for (Diagnostic& diagnostic : DiagnosticsOf(status)) {
      if (unsupported_.size() < kMostErrors) unsupported_.push_back(std::move(diagnostic));
    }
  }

  // Refuses what no family takes before memory is laid out.
  absl::Status CheckAll(const Computation& computation) {
    for (const Instruction* i : computation.SequenceOrPostOrder()) {
      if (NeedsNoCode(*i)) continue;
      if (IsControl(i->opcode())) {
        for (const Computation* callee : i->calls()) RETURN_IF_ERROR(CheckAll(*callee));
        continue;
      }
      plan_number_[i] = plans_.size();
      plans_.push_back({i, KernelPlan()});
      if (const Decision decision = IsKernel(*i); !decision)
        Collect(Refuse("gpu", *i, decision.reason()));
    }
    return absl::OkStatus();
  }

  bool CanShare(const Instruction& instruction, int operand, int leaf) {
    if (NeedsNoCode(instruction) || IsControl(instruction.opcode())) return false;
    const auto [it, is_new] = in_place_.try_emplace(&instruction);
    if (is_new) it->second = InPlacePairs(instruction);
    return Contains(it->second, {operand, leaf});
  }

  absl::StatusOr<ThunkList> Emit(const Computation& computation) {
    ThunkList thunks;
    for (const Instruction* i : computation.SequenceOrPostOrder()) {
      if (NeedsNoCode(*i)) continue;
      if (IsControl(i->opcode())) {
        RETURN_IF_ERROR(EmitControlFlow(
            *i, *program_.buffers, [this](const Computation& c) { return Emit(c); }, thunks));
        continue;
      }
      absl::StatusOr<std::unique_ptr<Thunk>> thunk = MakeThunk(*i);
      if (thunk.status().code() == absl::StatusCode::kUnimplemented) {
        Collect(thunk.status());
      } else if (!thunk.ok()) {
        return thunk.status();
      } else {
        thunks.push_back(*std::move(thunk));
      }
    }
    return thunks;
  }

  // Kernels as LLVM IR, on several threads: each is code of its own.
  void EmitKernels() {
    ThreadPool pool(options_.threads);
    pool.ParallelForDynamic(std::ssize(plans_), [this](int64_t i, int /*worker*/) {
      Planned& planned = plans_[static_cast<size_t>(i)];
      FamilyOptions family;
      family.shared = SharedPairs(*planned.instruction, *program_.buffers);
      planned.plan = EmitInstruction(*planned.instruction, family);
    });
  }

  absl::StatusOr<std::unique_ptr<Thunk>> MakeThunk(const Instruction& instruction) {
    std::vector<BufferSlice> buffers;
    for (const Instruction* operand : instruction.operands()) {
      const std::vector<BufferSlice> leaves = program_.buffers->slices(*operand);
      buffers.insert(buffers.end(), leaves.begin(), leaves.end());
    }
    const std::vector<BufferSlice> results = program_.buffers->slices(instruction);
    buffers.insert(buffers.end(), results.begin(), results.end());
    ASSIGN_OR_RETURN(KernelPlan plan, std::move(plans_[plan_number_.at(&instruction)].plan));
    std::vector<int> numbers;
    for (std::string& bitcode : plan.kernels) {
      const auto [it, is_new] =
          by_code_.try_emplace(bitcode, static_cast<int>(program_.kernels.size()));
      if (is_new) {
        program_.kernels.push_back({std::string(instruction.name()), std::move(bitcode)});
      }
      numbers.push_back(it->second);
    }
    std::vector<GpuKernelThunk::Step> steps;
    for (PlanStep& step : plan.steps) {
      const bool is_launch = step.kind == PlanStep::Kind::kLaunch;
      const bool counts = step.late == PlanStep::Late::kCounter;
      steps.push_back({step.kind, is_launch ? numbers[static_cast<size_t>(step.kernel)] : 0,
                       step.dims, std::move(step.buffers), std::move(step.integers), step.late,
                       counts ? program_.counters++ : -1, step.delta});
    }
    return std::unique_ptr<Thunk>(std::make_unique<GpuKernelThunk>(
        instruction.name(), plan.family, std::move(steps), std::move(buffers), results.size(),
        std::move(plan.scratch)));
  }

  Module& module_;
  const CompileOptions& options_;
  Program program_;
  std::vector<Diagnostic> unsupported_;
  struct Planned {
    const Instruction* instruction;
    absl::StatusOr<KernelPlan> plan;
  };
  std::vector<Planned> plans_;                                     // in the order of CheckAll
  absl::flat_hash_map<const Instruction*, size_t> plan_number_;    // looked up only
  absl::flat_hash_map<const Instruction*, BufferPairs> in_place_;  // looked up only
  absl::flat_hash_map<std::string, int> by_code_;
};

}  // namespace

absl::StatusOr<Program> EmitProgram(Module& module, const CompileOptions& options) {
  return ProgramEmitter(module, options).Run();
}

}  // namespace hlo::gpu

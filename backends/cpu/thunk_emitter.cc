#include "backends/cpu/thunk_emitter.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/common/control_flow.h"
#include "backends/common/refusal.h"
#include "backends/common/stored_array.h"
#include "backends/cpu/comparator_sort_thunk.h"
#include "backends/cpu/families/family.h"
#include "backends/cpu/kernel_planner.h"
#include "backends/cpu/kernel_thunk.h"
#include "backends/cpu/loop_program.h"
#include "backends/cpu/memory_states.h"
#include "backends/cpu/show_code.h"
#include "backends/cpu/tile/emit_llvm.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/computation.h"
#include "lib/linalg/call.h"
#include "lib/support/diagnostic.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/cpu/fusible.h"

namespace hlo::cpu {
namespace {

// How an instruction is computed.
enum class Means { kNothing, kKernel, kSortByKernel, kLibrary, kEval, kControl };

using MakeThunk = absl::StatusOr<std::unique_ptr<Thunk>> (*)(const Instruction&,
                                                             const ThunkBuffers&,
                                                             const LibraryOptions&);
// What the library computes. A maker that returns null or kUnimplemented leaves the instruction to
// the evaluator.
constexpr std::pair<Opcode, MakeThunk> kLibraryThunks[] = {
    {Opcode::kDot, MakeDotThunk},
    {Opcode::kConvolution, MakeConvThunk},
    {Opcode::kSort, MakeSortThunk},
    {Opcode::kTopK, MakeTopKThunk},
    {Opcode::kFft, MakeFftThunk},
    {Opcode::kCholesky, MakeCholeskyThunk},
    {Opcode::kTriangularSolve, MakeTriangularSolveThunk},
};
MakeThunk LibraryThunkOf(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kCustomCall)
    return linalg::IsLinalgTarget(instruction.attrs<CustomCallAttrs>().custom_call_target)
               ? MakeLinalgCallThunk
               : nullptr;
  for (const auto& [key, make] : kLibraryThunks) {
    if (key == instruction.opcode()) return make;
  }
  return nullptr;
}

constexpr size_t kMostErrors = 10;

// One unique kernel; several thunks may run it.
struct UniqueKernel {
  tile::Kernel kernel;
  std::string name;
  std::vector<bool> checked;  // accesses, by node; empty: none
};

// A loop that is one function.
struct LoopFunction {
  const Instruction* loop;
  tile::Program program;
};

struct PlannedKernel {
  KernelPlan plan;
  int unique = -1;
  bool is_update = false;  // computes a part of its result, in its operand's buffer
};

// Sizes that are known at run time only: the interpreter's business.
bool MeetsDynamicDims(const Instruction& instruction) {
  if (HasDynamicLeaf(instruction.shape())) return true;
  return std::any_of(instruction.operands().begin(), instruction.operands().end(),
                     [](const Instruction* operand) { return HasDynamicLeaf(operand->shape()); });
}

class ProgramEmitter {
 public:
  ProgramEmitter(Module& module, const Jit* jit, ThreadPool& pool, const LibraryOptions& library,
                 const CompileOptions& options)
      : module_(module), jit_(jit), pool_(pool), library_(library), options_(options) {
    family_.vector_bytes = library.host.vector_bytes();
  }

  absl::StatusOr<Program> Run() {
    ASSIGN_OR_RETURN(fusions_, PlanFusions(module_, family_));
    RETURN_IF_ERROR(Plan(*module_.entry()));
    if (!unsupported_.empty()) return StatusOf(absl::StatusCode::kUnimplemented, unsupported_);
    ASSIGN_OR_RETURN(program_.buffers, BufferAssignment::Make(module_, Hooks()));
    RETURN_IF_ERROR(PlanShared());
    PlanLoops(*module_.entry());
    RETURN_IF_ERROR(FindUniqueKernels());
    RETURN_IF_ERROR(Compile());
    ASSIGN_OR_RETURN(program_.thunks, Emit(*module_.entry()));
    if (!program_.buffers->entry_end().copies.empty()) {
      program_.thunks.push_back(
          std::make_unique<CopyThunk>("results", program_.buffers->entry_end()));
    }
    program_.tracks_states = TracksStates();
    program_.scratch_bytes = ScratchBytes(program_.thunks);
    program_.kernels = static_cast<int>(planned_.size());
    program_.unique_kernels = static_cast<int>(unique_.size());
    Show(EmitStage::kBuffers, [&] { return program_.buffers->ToString(); });
    Show(EmitStage::kThunks, [&] { return ToString(program_.thunks); });
    return std::move(program_);
  }

 private:
  template <class Fn>
  void Show(EmitStage stage, Fn&& text) {
    if (options_.Wants(stage)) options_.emit_sink(stage, text());
  }

  absl::StatusOr<Means> MeansOf(const Instruction& instruction) {
    if (NeedsNoCode(instruction)) return Means::kNothing;
    switch (instruction.opcode()) {
      case Opcode::kWhile:
      case Opcode::kConditional:
      case Opcode::kCall: return Means::kControl;
      default: break;
    }
    if (!MeetsDynamicDims(instruction)) {
      if (instruction.opcode() == Opcode::kSort && !HasPlainOrder(instruction) &&
          IsScalarRegion(*instruction.to_apply()))
        return Means::kSortByKernel;
      if (LibraryThunkOf(instruction) != nullptr) {
        // What is wrong with a custom call is said with everything else that is.
        if (instruction.opcode() == Opcode::kCustomCall)
          RETURN_IF_ERROR(linalg::LinalgCall::Make(instruction).status());
        return Means::kLibrary;
      }
      if (IsKernel(instruction)) return Means::kKernel;
    }
    if (IsEvaluableHere(instruction)) return Means::kEval;
    return Refuse("cpu", instruction, IsKernel(instruction).reason());
  }

  // ---- kernels ----

  // Emits every kernel once, without sharing, so that buffer assignment knows what may share. What
  // cannot be compiled is collected, so that one run names all of it.
  absl::Status Plan(const Computation& computation) {
    for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
      const absl::Status status = PlanOne(*instruction);
      if (status.code() == absl::StatusCode::kUnimplemented) {
        for (Diagnostic& diagnostic : DiagnosticsOf(status))
          unsupported_.push_back(std::move(diagnostic));
      } else if (!status.ok()) {
        return status;
      }
      if (unsupported_.size() >= kMostErrors) break;
    }
    return absl::OkStatus();
  }

  absl::Status PlanOne(const Instruction& instruction) {
    ASSIGN_OR_RETURN(Means means, MeansOf(instruction));
    if (means == Means::kKernel || means == Means::kSortByKernel) {
      RETURN_IF_ERROR(PlanKernel(instruction, means));
    }
    means_[&instruction] = means;
    if (means == Means::kControl) {
      for (const Computation* callee : instruction.calls()) RETURN_IF_ERROR(Plan(*callee));
    }
    return absl::OkStatus();
  }

  absl::Status PlanKernel(const Instruction& instruction, Means& means) {
    if (const auto it = fusions_.find(&instruction); it != fusions_.end()) {
      planned_[&instruction].plan = std::move(it->second);
    } else {
      absl::StatusOr<KernelPlan> plan =
          means == Means::kKernel ? EmitFusion(instruction, family_) : EmitComparator(instruction);
      if (plan.status().code() == absl::StatusCode::kUnimplemented &&
          IsEvaluableHere(instruction)) {
        means = Means::kEval;
        return absl::OkStatus();
      }
      if (!plan.ok()) return plan.status();
      planned_[&instruction].plan = *std::move(plan);
    }
    kernel_order_.push_back(&instruction);
    return absl::OkStatus();
  }

  AssignmentHooks Hooks() {
    AssignmentHooks hooks;
    hooks.can_share = [this](const Instruction& instruction, int operand, int leaf) {
      const auto it = planned_.find(&instruction);
      if (it == planned_.end()) return false;
      const BufferPair pair{operand, leaf};
      return Contains(it->second.plan.in_place, pair) || Contains(WantsToShare(instruction), pair);
    };
    return hooks;
  }

  // Emits the kernels again whose operand and result came to lie in one buffer.
  absl::Status PlanShared() {
    for (const Instruction* instruction : kernel_order_) {
      FamilyOptions family = family_;
      family.shared = SharedPairs(*instruction, *program_.buffers);
      PlannedKernel& planned = planned_[instruction];
      if (!family.shared.empty()) {
        ASSIGN_OR_RETURN(planned.plan, EmitFusion(*instruction, family));
        planned.is_update = !WantsToShare(*instruction).empty();
      }
      Show(EmitStage::kTile, [&] {
        const KernelPlan& plan = planned.plan;
        return fmt::format("// {}\n{}{}", instruction->name(),
                           options_.cpu.checks == CpuChecks::kNone
                               ? ""
                               : UnprovenText(plan.kernel, plan.task_count),
                           plan.kernel.ToString());
      });
    }
    return absl::OkStatus();
  }

  // Empty: nothing is checked.
  absl::StatusOr<std::vector<bool>> CheckedAccesses(const Instruction& instruction,
                                                    const KernelPlan& plan) const {
    const CpuChecks checks = options_.cpu.checks;
    if (checks == CpuChecks::kNone) return std::vector<bool>();
    ASSIGN_OR_RETURN(std::vector<bool> checked,
                     AccessesToCheck(plan.kernel, plan.task_count, checks, instruction));
    if (std::find(checked.begin(), checked.end(), true) == checked.end()) checked.clear();
    return checked;
  }

  // What is proved of a kernel depends on the sizes of its buffers and the number of its tasks, too.
  std::string KeyOf(const KernelPlan& plan) const {
    std::string key = plan.kernel.Key();
    if (options_.cpu.checks == CpuChecks::kNone) return key;
    for (const tile::Buffer& buffer : plan.kernel.buffers)
      key += fmt::format(" {}", buffer.elements);
    return key + fmt::format(" {}", plan.task_count);
  }

  // ---- loops that become one function ----

  std::optional<const KernelPlan*> KernelIn(const Instruction& instruction) const {
    const auto it = means_.find(&instruction);
    if (it == means_.end()) return std::nullopt;
    if (it->second == Means::kNothing) return nullptr;
    if (it->second != Means::kKernel) return std::nullopt;
    return &planned_.at(&instruction).plan;
  }

  // The outermost ones; their kernels need no functions of their own.
  void PlanLoops(const Computation& computation) {
    const KernelOf kernel_of = [this](const Instruction& i) { return KernelIn(i); };
    // What is checked is checked kernel by kernel.
    const bool joins = jit_ != nullptr && options_.cpu.checks == CpuChecks::kNone;
    for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
      if (means_.at(instruction) != Means::kControl) {
        run_alone_.insert(instruction);
      } else if (joins && instruction->opcode() == Opcode::kWhile &&
                 IsLoopOfSmallKernels(*instruction, kernel_of)) {
        loop_numbers_[instruction] = static_cast<int>(loops_.size());
        loops_.push_back(
            {instruction, MakeLoopProgram(*instruction, *program_.buffers, kernel_of)});
      } else {
        for (const Computation* callee : instruction->calls()) PlanLoops(*callee);
      }
    }
  }

  absl::Status FindUniqueKernels() {
    for (const Instruction* instruction : kernel_order_) {
      if (!run_alone_.contains(instruction)) continue;
      PlannedKernel& planned = planned_[instruction];
      ASSIGN_OR_RETURN(std::vector<bool> checked, CheckedAccesses(*instruction, planned.plan));
      if (jit_ == nullptr) continue;
      const auto [it, inserted] =
          by_key_.emplace(KeyOf(planned.plan), static_cast<int>(unique_.size()));
      planned.unique = it->second;
      if (!inserted) continue;
      unique_.push_back(
          {planned.plan.kernel, std::string(instruction->name()), std::move(checked)});
    }
    return absl::OkStatus();
  }

  // ---- code ----

  // Loops first: they are the largest.
  absl::Status Compile() {
    if (jit_ == nullptr) return absl::OkStatus();
    const size_t loops = loops_.size();
    const auto build = [&](int i, llvm::Module& module) -> absl::Status {
      const auto n = static_cast<size_t>(i);
      const std::string symbol = SymbolOf(i);
      tile::EmitOptions emit{library_.host.level >= IsaLevel::kAvx2, {}};
      if (n >= loops) emit.checked = unique_[n - loops].checked;
      ASSIGN_OR_RETURN(llvm::Function * function,
                       n < loops ? tile::EmitProgram(loops_[n].program, symbol, emit, module)
                                 : tile::EmitLlvm(unique_[n - loops].kernel, symbol, emit, module));
      jit_->SetUpFunction(*function);
      return absl::OkStatus();
    };
    const size_t count = loops + unique_.size();
    for (size_t i = 0; i < count; ++i) {
      const std::string name =
          i < loops ? std::string(loops_[i].loop->name()) : unique_[i - loops].name;
      RETURN_IF_ERROR(ShowKernelCode(*jit_, static_cast<int>(i), name, build, options_));
    }
    ASSIGN_OR_RETURN(program_.code, jit_->CompileAll(pool_, static_cast<int>(count), build));
    return absl::OkStatus();
  }

  static std::string SymbolOf(int number) { return fmt::format("kernel_{}", number); }

  // ---- thunks ----

  absl::StatusOr<ThunkList> Emit(const Computation& computation) {
    ThunkList thunks;
    for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
      ASSIGN_OR_RETURN(std::unique_ptr<Thunk> thunk, EmitOne(*instruction, thunks));
      if (thunk != nullptr) thunks.push_back(std::move(thunk));
    }
    return thunks;
  }

  ThunkBuffers BuffersOf(const Instruction& instruction) const {
    ThunkBuffers buffers;
    for (const Instruction* operand : instruction.operands())
      buffers.operands.push_back(program_.buffers->slices(*operand));
    buffers.results = program_.buffers->slices(instruction);
    buffers.rhs_unchanging =
        instruction.operand_count() > 1 && program_.buffers->IsUnchanging(*instruction.operand(1));
    return buffers;
  }

  absl::StatusOr<std::unique_ptr<Thunk>> EmitOne(const Instruction& instruction,
                                                 ThunkList& thunks) {
    switch (means_.at(&instruction)) {
      case Means::kNothing: return std::unique_ptr<Thunk>();
      case Means::kKernel: return EmitKernel(instruction);
      case Means::kSortByKernel: return Tracked(EmitSort(instruction), instruction);
      case Means::kLibrary: return Tracked(EmitLibrary(instruction), instruction);
      case Means::kEval:
        return Tracked(MakeEvalThunk(instruction, BuffersOf(instruction), library_), instruction);
      case Means::kControl:
        if (const auto it = loop_numbers_.find(&instruction); it != loop_numbers_.end())
          return EmitLoop(instruction, it->second, thunks);
        RETURN_IF_ERROR(EmitControlFlow(
            instruction, *program_.buffers, [this](const Computation& c) { return Emit(c); },
            thunks));
        return std::unique_ptr<Thunk>();
    }
    return std::unique_ptr<Thunk>();
  }

  bool TracksStates() const { return options_.cpu.checks == CpuChecks::kAll; }
  absl::StatusOr<std::unique_ptr<Thunk>> Tracked(absl::StatusOr<std::unique_ptr<Thunk>> thunk,
                                                 const Instruction& instruction) const {
    if (!TracksStates() || !thunk.ok()) return thunk;
    return MakeTracked(*std::move(thunk), instruction);
  }

  // What the library declines goes to the evaluator.
  absl::StatusOr<std::unique_ptr<Thunk>> EmitLibrary(const Instruction& instruction) {
    const ThunkBuffers buffers = BuffersOf(instruction);
    absl::StatusOr<std::unique_ptr<Thunk>> thunk =
        LibraryThunkOf(instruction)(instruction, buffers, library_);
    const bool declined =
        thunk.ok() ? *thunk == nullptr : thunk.status().code() == absl::StatusCode::kUnimplemented;
    return declined ? MakeEvalThunk(instruction, buffers, library_) : std::move(thunk);
  }

  template <class Function>
  absl::StatusOr<Function*> FunctionOf(const Instruction& instruction, int number) {
    Function* const function =
        program_.code[static_cast<size_t>(number)]->Function<Function>(SymbolOf(number));
    RET_CHECK(function != nullptr, "code of `{}` is missing in its object", instruction.name());
    return function;
  }

  absl::StatusOr<std::unique_ptr<Thunk>> EmitLoop(const Instruction& loop, int number,
                                                  ThunkList& thunks) {
    if (CopiesStateBefore(loop, *program_.buffers)) {
      thunks.push_back(std::make_unique<CopyThunk>(loop.name(), program_.buffers->loop_init(loop)));
    }
    ASSIGN_OR_RETURN(tile::ProgramFunction * function,
                     FunctionOf<tile::ProgramFunction>(loop, number));
    return std::make_unique<ProgramThunk>(loop, loops_[static_cast<size_t>(number)].program,
                                          function);
  }

  absl::StatusOr<KernelCode> CodeOf(const Instruction& instruction) {
    PlannedKernel& planned = planned_.at(&instruction);
    if (jit_ == nullptr) return KernelCode::Evaluated(std::move(planned.plan.kernel), instruction);
    ASSIGN_OR_RETURN(tile::KernelFunction * function,
                     FunctionOf<tile::KernelFunction>(
                         instruction, static_cast<int>(loops_.size()) + planned.unique));
    if (unique_[static_cast<size_t>(planned.unique)].checked.empty()) return KernelCode(function);
    return KernelCode(function, std::move(planned.plan.kernel), instruction);
  }

  absl::StatusOr<std::unique_ptr<Thunk>> EmitSort(const Instruction& sort) {
    ASSIGN_OR_RETURN(KernelCode comparator, CodeOf(sort));
    return MakeComparatorSortThunk(sort, BuffersOf(sort), std::move(comparator), library_.threads);
  }

  absl::StatusOr<std::unique_ptr<Thunk>> EmitKernel(const Instruction& instruction) {
    const PlannedKernel& planned = planned_.at(&instruction);
    const int64_t scratch_bytes = RoundUp(planned.plan.kernel.scratch_bytes, 64);
    ASSIGN_OR_RETURN(KernelCode code, CodeOf(instruction));
    KernelLaunch launch{std::move(code), &instruction};
    const ThunkBuffers buffers = BuffersOf(instruction);
    for (const auto& operand : buffers.operands)
      launch.buffers.insert(launch.buffers.end(), operand.begin(), operand.end());
    launch.buffers.insert(launch.buffers.end(), buffers.results.begin(), buffers.results.end());
    launch.result_count = buffers.results.size();
    launch.task_count = planned.plan.task_count;
    launch.cost_ns_per_task = planned.plan.cost_ns_per_task;
    launch.scratch_bytes = scratch_bytes;
    launch.threads = library_.threads;
    launch.tracks_states = TracksStates();
    launch.is_update = planned.is_update;
    return std::make_unique<KernelThunk>(instruction.name(), std::move(launch));
  }

  Module& module_;
  const Jit* jit_;
  ThreadPool& pool_;
  const LibraryOptions& library_;
  const CompileOptions& options_;
  FamilyOptions family_;
  KernelPlans fusions_;  // moved into planned_ when the program reaches them
  std::vector<Diagnostic> unsupported_;
  absl::flat_hash_map<const Instruction*, Means> means_;
  absl::flat_hash_map<const Instruction*, PlannedKernel> planned_;
  std::vector<const Instruction*> kernel_order_;
  absl::flat_hash_map<std::string, int> by_key_;
  std::vector<UniqueKernel> unique_;
  std::vector<LoopFunction> loops_;
  absl::flat_hash_map<const Instruction*, int> loop_numbers_;
  absl::flat_hash_set<const Instruction*> run_alone_;  // not part of a loop function
  Program program_;
};

}  // namespace

absl::StatusOr<Program> EmitProgram(Module& module, const Jit* jit, ThreadPool& pool,
                                    const LibraryOptions& library, const CompileOptions& options) {
  return ProgramEmitter(module, jit, pool, library, options).Run();
}

}  // namespace hlo::cpu

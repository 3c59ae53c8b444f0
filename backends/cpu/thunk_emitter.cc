#include "backends/cpu/thunk_emitter.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/codegen/program_emitter.h"
#include "backends/common/refusal.h"
#include "backends/common/stored_array.h"
#include "backends/cpu/background.h"
#include "backends/cpu/comparator_sort_thunk.h"
#include "backends/cpu/families/family.h"
#include "backends/cpu/kernel_thunk.h"
#include "backends/cpu/loop_program.h"
#include "backends/cpu/memory_states.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/computation.h"
#include "lib/linalg/call.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::cpu {
namespace {

// How an instruction is computed.
enum class Means { kKernel, kSortByKernel, kLibrary, kEval };

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
    {Opcode::kAllReduce, MakeCollectiveThunk},
    {Opcode::kReduceScatter, MakeCollectiveThunk},
    {Opcode::kAllGather, MakeCollectiveThunk},
    {Opcode::kAllToAll, MakeCollectiveThunk},
    {Opcode::kCollectivePermute, MakeCollectiveThunk},
    {Opcode::kCollectiveBroadcast, MakeCollectiveThunk},
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

struct PlannedKernel {
  BufferPairs in_place;  // may share a buffer
  KernelPlan plan;
  size_t number = 0;       // of its code, if it has some of its own
  bool is_update = false;  // computes a part of its result, in its operand's buffer
};

// Sizes that are known at run time only: the interpreter's business.
bool MeetsDynamicDims(const Instruction& instruction) {
  if (HasDynamicLeaf(instruction.shape())) return true;
  return std::any_of(instruction.operands().begin(), instruction.operands().end(),
                     [](const Instruction* operand) { return HasDynamicLeaf(operand->shape()); });
}

class CpuProgramEmitter final : public ProgramEmitter {
 public:
  CpuProgramEmitter(Module& module, KernelCompiler& compiler, ThreadPool& pool,
                    const LibraryOptions& library, const CompileOptions& options)
      : ProgramEmitter(*FindFusionTarget("cpu"), module, options),
        compiler_(compiler),
        pool_(pool),
        library_(library) {
    family_.vector_bytes = library.host.vector_bytes();
  }

  absl::StatusOr<Program> Run() {
    RETURN_IF_ERROR(EmitInto(program_));
    program_.tracks_states = TracksStates();
    return std::move(program_);
  }

 private:
  absl::StatusOr<Means> MeansOf(const Instruction& instruction) {
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
      if (instruction.IsFusion() || IsKernelOp(instruction)) return Means::kKernel;
    }
    if (IsEvaluableHere(instruction) || kFeeds.Has(instruction.opcode())) return Means::kEval;
    return Refuse("cpu", instruction, IsKernelOp(instruction).reason());
  }

  // ---- kernels ----

  absl::Status Plan(const Instruction& instruction) override {
    ASSIGN_OR_RETURN(const Means means, MeansOf(instruction));
    means_[&instruction] = means;
    if (means == Means::kKernel || means == Means::kSortByKernel) {
      PlannedKernel& planned = planned_[&instruction];
      if (means == Means::kKernel) planned.in_place = KernelInPlacePairs(instruction);
      kernel_order_.push_back(&instruction);
    }
    return absl::OkStatus();
  }

  bool MayShare(const Instruction& instruction, const BufferPair& pair) override {
    const auto it = planned_.find(&instruction);
    return it != planned_.end() && Contains(it->second.in_place, pair);
  }

  absl::Status CompileKernels() override {
    RETURN_IF_ERROR(EmitKernels());
    PlanLoops(*module_.entry());
    RETURN_IF_ERROR(AddKernels());
    ASSIGN_OR_RETURN(functions_, compiler_.Compile(loops_, kernels_));
    program_.code = std::move(functions_.codes);
    program_.times.llvm_ms = functions_.llvm_ms;
    program_.times.link_ms = functions_.link_ms;
    return absl::OkStatus();
  }

  // Tile IR, on several threads: a kernel knows nothing of others.
  absl::Status EmitKernels() {
    std::vector<PlannedKernel*> kernels;
    for (const Instruction* instruction : kernel_order_) kernels.push_back(&planned_[instruction]);
    std::vector<absl::Status> statuses(kernels.size());
    pool_.ParallelForDynamic(std::ssize(kernels), [&](int64_t i, int /*worker*/) {
      const auto n = static_cast<size_t>(i);
      statuses[n] = EmitKernel(*kernel_order_[n], *kernels[n]);
    });
    for (size_t i = 0; i < kernels.size(); ++i) {
      RETURN_IF_ERROR(statuses[i]);
      const KernelPlan& plan = kernels[i]->plan;
      Show(EmitStage::kTile, [&] {
        return fmt::format("// {}\n{}{}", kernel_order_[i]->name(),
                           options_.cpu.checks == CpuChecks::kNone
                               ? ""
                               : UnprovenText(plan.kernel, plan.task_count),
                           plan.kernel.ToString());
      });
    }
    return absl::OkStatus();
  }

  absl::Status EmitKernel(const Instruction& instruction, PlannedKernel& planned) const {
    if (means_.at(&instruction) == Means::kSortByKernel) {
      ASSIGN_OR_RETURN(planned.plan, EmitComparator(instruction));
      return absl::OkStatus();
    }
    FamilyOptions family = family_;
    family.shared = SharedPairs(instruction, buffers());
    planned.is_update = UpdatesInPlace(instruction, family.shared);
    ASSIGN_OR_RETURN(planned.plan, EmitFusion(instruction, family));
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

  // ---- loops that become one function ----

  std::optional<const KernelPlan*> KernelIn(const Instruction& instruction) const {
    if (NeedsNoCode(instruction)) return nullptr;
    const auto it = means_.find(&instruction);
    if (it == means_.end() || it->second != Means::kKernel) return std::nullopt;
    return &planned_.at(&instruction).plan;
  }

  // The outermost ones; their kernels need no functions of their own.
  void PlanLoops(const Computation& computation) {
    const KernelOf kernel_of = [this](const Instruction& i) { return KernelIn(i); };
    for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
      if (IsStart(*instruction)) {
        PlanLoops(*instruction->call(0));
      } else if (!IsControl(*instruction)) {
        run_alone_.insert(instruction);
      } else if (compiler_.TakesLoops() && instruction->opcode() == Opcode::kWhile &&
                 IsLoopOfSmallKernels(*instruction, kernel_of)) {
        loop_numbers_[instruction] = loops_.size();
        loops_.push_back({instruction, MakeLoopProgram(*instruction, buffers(), kernel_of)});
      } else {
        for (const Computation* callee : instruction->calls()) PlanLoops(*callee);
      }
    }
  }

  absl::Status AddKernels() {
    for (const Instruction* instruction : kernel_order_) {
      if (!run_alone_.contains(instruction)) continue;
      PlannedKernel& planned = planned_[instruction];
      ASSIGN_OR_RETURN(std::vector<bool> checked, CheckedAccesses(*instruction, planned.plan));
      planned.number = kernels_.size();
      kernels_.push_back({instruction, &planned.plan, std::move(checked)});
    }
    return absl::OkStatus();
  }

  // ---- thunks ----

  ThunkBuffers BuffersOf(const Instruction& instruction) const {
    ThunkBuffers own;
    for (const Instruction* operand : instruction.operands())
      own.operands.push_back(buffers().slices(*operand));
    own.results = buffers().slices(instruction);
    if (instruction.operand_count() > 1) {
      own.rhs_unchanging = buffers().IsUnchanging(*instruction.operand(1));
      own.rhs_constant = own.rhs_unchanging && IsConstant(own.operands[1]);
    }
    return own;
  }

  // Whether the first leaf is a constant of the program.
  bool IsConstant(const std::vector<BufferSlice>& slices) const {
    const int allocation = slices.empty() ? -1 : slices[0].allocation;
    return allocation >= 0 && buffers().allocations()[static_cast<size_t>(allocation)].kind ==
                                  Allocation::Kind::kConstant;
  }

  // Complete at once, and waited for where it starts.
  bool TakesPair(const Instruction& start) const override {
    return start.users().size() == 1 && start.users()[0]->opcode() == Opcode::kAsyncDone &&
           start.operand_count() == start.call(0)->parameter_count() &&
           Compatible(start.shape().element(1), start.call(0)->root()->shape());
  }
  std::unique_ptr<Thunk> MakeStart(const Instruction& start, ThunkList body) override {
    const Instruction& done = *start.users()[0];
    BackgroundPair pair = MakeBackgroundPair(start, done, std::move(body), buffers().slices(done));
    dones_[&done] = std::move(pair.done);
    return std::move(pair.start);
  }

  absl::StatusOr<std::unique_ptr<Thunk>> MakeThunk(const Instruction& instruction) override {
    if (instruction.opcode() == Opcode::kAsyncDone) return std::move(dones_.at(&instruction));
    switch (means_.at(&instruction)) {
      case Means::kKernel: return LaunchOf(instruction);
      case Means::kSortByKernel: return Tracked(EmitSort(instruction), instruction);
      case Means::kLibrary: return Tracked(EmitLibrary(instruction), instruction);
      case Means::kEval: break;
    }
    return Tracked(MakeEvalThunk(instruction, BuffersOf(instruction)), instruction);
  }

  bool TracksStates() const { return options_.cpu.checks == CpuChecks::kAll; }
  absl::StatusOr<std::unique_ptr<Thunk>> Tracked(absl::StatusOr<std::unique_ptr<Thunk>> thunk,
                                                 const Instruction& instruction) const {
    if (!TracksStates() || !thunk.ok()) return thunk;
    return MakeTracked(*std::move(thunk), instruction);
  }

  // What the library declines goes to the evaluator.
  absl::StatusOr<std::unique_ptr<Thunk>> EmitLibrary(const Instruction& instruction) {
    ThunkBuffers own = BuffersOf(instruction);
    own.kernel_state = program_.kernel_states++;
    absl::StatusOr<std::unique_ptr<Thunk>> thunk =
        LibraryThunkOf(instruction)(instruction, own, library_);
    const bool declined =
        thunk.ok() ? *thunk == nullptr : thunk.status().code() == absl::StatusCode::kUnimplemented;
    return declined ? MakeEvalThunk(instruction, own) : std::move(thunk);
  }

  absl::StatusOr<bool> EmitLoop(const Instruction& loop, ThunkList& thunks) override {
    const auto it = loop_numbers_.find(&loop);
    if (it == loop_numbers_.end()) return false;
    thunks.push_back(std::make_unique<ProgramThunk>(loop, loops_[it->second].program,
                                                    functions_.loops[it->second]));
    return true;
  }

  absl::StatusOr<KernelCode> CodeOf(const Instruction& instruction) {
    PlannedKernel& planned = planned_.at(&instruction);
    tile::KernelFunction* const function = functions_.kernels[planned.number];
    if (function == nullptr)
      return KernelCode::Evaluated(std::move(planned.plan.kernel), instruction);
    if (kernels_[planned.number].checked.empty()) return KernelCode(function);
    return KernelCode(function, std::move(planned.plan.kernel), instruction);
  }

  absl::StatusOr<std::unique_ptr<Thunk>> EmitSort(const Instruction& sort) {
    ASSIGN_OR_RETURN(KernelCode comparator, CodeOf(sort));
    return MakeComparatorSortThunk(sort, BuffersOf(sort), std::move(comparator), library_.threads);
  }

  absl::StatusOr<std::unique_ptr<Thunk>> LaunchOf(const Instruction& instruction) {
    const PlannedKernel& planned = planned_.at(&instruction);
    const int64_t scratch_bytes = RoundUp(planned.plan.kernel.scratch_bytes, 64);
    ASSIGN_OR_RETURN(KernelCode code, CodeOf(instruction));
    KernelLaunch launch{std::move(code), &instruction};
    launch.buffers = SlicesOf(instruction);
    launch.result_count = buffers().slices(instruction).size();
    launch.task_count = planned.plan.task_count;
    launch.cost_ns_per_task = planned.plan.cost_ns_per_task;
    launch.scratch_bytes = scratch_bytes;
    launch.threads = library_.threads;
    launch.tracks_states = TracksStates();
    launch.is_update = planned.is_update;
    return std::make_unique<KernelThunk>(instruction.name(), std::move(launch));
  }

  KernelCompiler& compiler_;
  ThreadPool& pool_;
  const LibraryOptions& library_;
  FamilyOptions family_;
  absl::flat_hash_map<const Instruction*, Means> means_;
  absl::flat_hash_map<const Instruction*, PlannedKernel> planned_;
  std::vector<const Instruction*> kernel_order_;
  std::vector<KernelSource> kernels_;
  std::vector<LoopSource> loops_;
  absl::flat_hash_map<const Instruction*, size_t> loop_numbers_;
  absl::flat_hash_map<const Instruction*, std::unique_ptr<Thunk>> dones_;
  absl::flat_hash_set<const Instruction*> run_alone_;  // not part of a loop function
  KernelFunctions functions_;
  Program program_;
};

}  // namespace

absl::StatusOr<Program> EmitProgram(Module& module, KernelCompiler& compiler, ThreadPool& pool,
                                    const LibraryOptions& library, const CompileOptions& options) {
  return CpuProgramEmitter(module, compiler, pool, library, options).Run();
}

}  // namespace hlo::cpu

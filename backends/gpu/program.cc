#include "backends/gpu/program.h"

#include "absl/container/flat_hash_map.h"
#include "backends/codegen/program_emitter.h"
#include "backends/common/refusal.h"
#include "backends/gpu/collective_thunk.h"
#include "backends/gpu/emit/family.h"
#include "backends/gpu/gpu_thunks.h"
#include "backends/gpu/host_thunk.h"
#include "backends/gpu/kernel_names.h"
#include "backends/gpu/kernel_tuner.h"
#include "backends/gpu/library/collective_plan.h"
#include "backends/gpu/one_block_thunks.h"
#include "backends/gpu/product_thunk.h"
#include "backends/gpu/ptx_thunk.h"
#include "backends/platforms.h"
#include "lib/analysis/program_cost.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "lib/support/thread_pool.h"
#include "passes/gpu/ptx_call.h"

namespace hlo::gpu {
namespace {

class GpuProgramEmitter final : public ProgramEmitter {
 public:
  GpuProgramEmitter(Module& module, const CompileOptions& options, const MakeLibrary& library,
                    KernelTuner* tuner)
      : ProgramEmitter(*FindFusionTarget("gpu"), module, options),
        make_library_(library),
        tuner_(tuner) {
    program_.seed = options.seed;
    program_.overlap = options.gpu.overlap;
  }

  absl::StatusOr<Program> Run() {
    RETURN_IF_ERROR(EmitInto(program_));
    DropUnusedKernels(program_);
    NameKernels(program_.kernels);
    return std::move(program_);
  }

 private:
  absl::Status Plan(const Instruction& instruction) override {
    if (IsPtxCall(instruction)) return absl::OkStatus();
    if (GoesToLibrary(instruction)) return absl::OkStatus();
    const Decision decision = IsKernel(instruction);
    if (!decision && IsOnHost(instruction)) return absl::OkStatus();
    plan_number_[&instruction] = plans_.size();
    plans_.push_back({&instruction, KernelPlan()});
    return decision ? absl::OkStatus() : Refuse("gpu", instruction, decision.reason());
  }

  // Plans the product if it is one for a library, and the library has a kernel for it.
  bool GoesToLibrary(const Instruction& instruction) {
    if (!options_.gpu.library || make_library_ == nullptr) return false;
    const std::optional<LibraryProduct> product = AsLibraryProduct(instruction);
    if (!product || !IsForLibrary(*product)) return false;
    if (!asked_for_library_) program_.products = make_library_();
    asked_for_library_ = true;
    if (program_.products == nullptr) return false;
    const bool asks_for_tf32 =
        instruction.attrs<DotAttrs>().algorithm == DotAlgorithm::kTF32TF32F32;
    auto plans = program_.products->Plans(
        *product, product->may_cut && (options_.gpu.tf32 || asks_for_tf32), /*most=*/1);
    if (!plans.ok()) return false;
    products_[&instruction] = std::move(plans->front());
    return true;
  }

  bool MayShare(const Instruction& instruction, const BufferPair& pair) override {
    if (products_.contains(&instruction)) return false;
    const auto [it, is_new] = in_place_.try_emplace(&instruction);
    if (is_new) it->second = KernelInPlacePairs(instruction);
    return Contains(it->second, pair);
  }

  // Kernels as LLVM IR, on several threads: each is code of its own.
  absl::Status CompileKernels() override {
    ThreadPool pool(options_.threads);
    pool.ParallelForDynamic(std::ssize(plans_), [this](int64_t i, int /*worker*/) {
      Planned& planned = plans_[static_cast<size_t>(i)];
      planned.plan = EmitInstruction(*planned.instruction, OptionsFor(*planned.instruction));
    });
    // One after the other: they are timed.
    for (Planned& planned : plans_) {
      if (tuner_ == nullptr || !planned.plan.ok()) continue;
      planned.plan = tuner_->Fastest(*planned.instruction, OptionsFor(*planned.instruction),
                                     *std::move(planned.plan));
    }
    return absl::OkStatus();
  }

  FamilyOptions OptionsFor(const Instruction& instruction) {
    FamilyOptions family;
    family.shared = SharedPairs(instruction, buffers());
    family.tf32 = options_.gpu.tf32;
    family.multiprocessors = options_.gpu.multiprocessors;
    return family;
  }

  absl::StatusOr<bool> EmitLoop(const Instruction& loop, ThunkList& thunks) override {
    ASSIGN_OR_RETURN(ThunkList condition, Emit(*loop.while_condition()));
    ASSIGN_OR_RETURN(ThunkList body, Emit(*loop.while_body()));
    const BufferSlice predicate = buffers().slice(*loop.while_condition()->root());
    if (options_.gpu.merge_steps) {
      ASSIGN_OR_RETURN(const bool is_done,
                       merger_.MergeLoop(loop, condition, predicate, body, thunks));
      if (is_done) return true;
      RETURN_IF_ERROR(merger_.MergeRuns(condition));
      RETURN_IF_ERROR(merger_.MergeRuns(body));
    }
    Group(body);
    // No look at the predicate where everybody knows what it is.
    if (const std::optional<int64_t> trips = KnownTripCount(loop)) {
      if (*trips > 0)
        thunks.push_back(std::make_unique<CountedLoopThunk>(loop.name(), *trips, std::move(body)));
      return true;
    }
    Group(condition);
    thunks.push_back(std::make_unique<WhileThunk>(loop.name(), std::move(condition), predicate,
                                                  std::move(body)));
    return true;
  }

  void Group(ThunkList& thunks) {
    if (options_.gpu.graphs) program_.graphs = GroupForGraphs(thunks, program_.graphs);
  }

  absl::Status Improve(ThunkList& thunks) override {
    if (options_.gpu.merge_steps) RETURN_IF_ERROR(merger_.MergeRuns(thunks));
    Group(thunks);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Thunk>> MakeThunk(const Instruction& instruction) override {
    if (const auto product = products_.find(&instruction); product != products_.end()) {
      return std::unique_ptr<Thunk>(std::make_unique<ProductThunk>(
          instruction.name(), std::move(product->second), buffers().slice(*instruction.operand(0)),
          buffers().slice(*instruction.operand(1)), buffers().slice(instruction)));
    }
    if (IsPtxCall(instruction)) return MakePtxThunk(instruction);
    if (!plan_number_.contains(&instruction)) {
      std::vector<std::vector<BufferSlice>> operands;
      for (const Instruction* operand : instruction.operands())
        operands.push_back(buffers().slices(*operand));
      return MakeThunkOfOthers(instruction, std::move(operands));
    }
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
        instruction.name(), plan.family, std::move(steps), SlicesOf(instruction),
        buffers().slices(instruction).size(), std::move(plan.scratch)));
  }

  absl::StatusOr<std::unique_ptr<Thunk>> MakePtxThunk(const Instruction& call) {
    ASSIGN_OR_RETURN(PtxLaunch launch, PtxLaunchOf(call));
    program_.given.push_back(std::move(launch.code));
    return std::unique_ptr<Thunk>(std::make_unique<PtxThunk>(
        call.name(), static_cast<int>(program_.given.size()) - 1, launch.dims,
        std::move(launch.arguments), SlicesOf(call), static_cast<size_t>(call.operand_count())));
  }

  // What concerns others than the device.
  std::unique_ptr<Thunk> MakeThunkOfOthers(const Instruction& instruction,
                                           std::vector<std::vector<BufferSlice>> operands) {
    std::vector<BufferSlice> arrays;
    for (const auto& operand : operands)
      arrays.insert(arrays.end(), operand.begin(), operand.end());
    std::unique_ptr<Thunk> host =
        MakeHostThunk(instruction, std::move(operands), buffers().slices(instruction),
                      options_.denormals.value_or(DefaultDenormals("gpu")));
    if (!IsForNccl(instruction)) return host;
    return MakeCollectiveThunk(instruction, std::move(arrays), buffers().slices(instruction),
                               std::move(host));
  }

  const MakeLibrary& make_library_;
  KernelTuner* const tuner_;
  bool asked_for_library_ = false;
  Program program_;
  OneBlockMerger merger_{program_};
  struct Planned {
    const Instruction* instruction;
    absl::StatusOr<KernelPlan> plan;
  };
  std::vector<Planned> plans_;                                     // as planned
  absl::flat_hash_map<const Instruction*, size_t> plan_number_;    // looked up only
  absl::flat_hash_map<const Instruction*, BufferPairs> in_place_;  // looked up only
  absl::flat_hash_map<const Instruction*, std::unique_ptr<ProductPlan>>
      products_;  // looked up only
  absl::flat_hash_map<std::string, int> by_code_;
};

}  // namespace

absl::StatusOr<Program> EmitProgram(Module& module, const CompileOptions& options,
                                    const MakeLibrary& library, KernelTuner* tuner) {
  return GpuProgramEmitter(module, options, library, tuner).Run();
}

}  // namespace hlo::gpu

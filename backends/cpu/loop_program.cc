#include "backends/cpu/loop_program.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/kernel_code.h"
#include "lib/ir/computation.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/crash_context.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

// More work than this would be split over threads, and code for it is shared with equal kernels.
constexpr double kMostNanosecondsPerKernel = 3000;
// Nodes of tile IR; what a function costs the code generator grows faster than its size.
constexpr int64_t kMostNodes = 6000;

bool IsControl(const Instruction& instruction) { return kProgramCallers.Has(instruction.opcode()); }

// Whether all of `computation` is small kernels; adds their nodes to `nodes`.
bool IsOfSmallKernels(const Computation& computation, const KernelOf& kernel_of, int64_t& nodes) {
  for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
    if (IsControl(*instruction)) {
      for (const Computation* callee : instruction->calls()) {
        if (!IsOfSmallKernels(*callee, kernel_of, nodes)) return false;
      }
      continue;
    }
    if (instruction->opcode() == Opcode::kCopy) continue;
    const std::optional<const KernelPlan*> plan = kernel_of(*instruction);
    if (!plan) return false;
    if (*plan == nullptr) continue;
    nodes += static_cast<int64_t>((*plan)->kernel.nodes.size());
    const double cost = (*plan)->cost_ns_per_task * static_cast<double>((*plan)->task_count);
    if (nodes > kMostNodes || cost > kMostNanosecondsPerKernel) return false;
  }
  return true;
}

class ProgramMaker {
 public:
  ProgramMaker(const BufferAssignment& buffers, const KernelOf& kernel_of)
      : buffers_(buffers), kernel_of_(kernel_of) {}

  void Append(const Instruction& instruction, tile::Steps& steps) {
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kWhile) return AppendLoop(instruction, steps);
    if (opcode == Opcode::kConditional) return AppendConditional(instruction, steps);
    if (opcode == Opcode::kCall) return AppendAll(*instruction.to_apply(), steps);
    if (opcode == Opcode::kCopy) return AppendCopy(instruction, steps);
    AppendKernel(instruction, steps);
  }

  void AppendLoop(const Instruction& loop, tile::Steps& steps) {
    tile::Step step;
    step.kind = tile::Step::Kind::kWhile;
    step.name = std::string(loop.name());
    step.selector = buffers_.slice(*loop.while_condition()->root());
    step.lists.resize(2);
    AppendAll(*loop.while_condition(), step.lists[0]);
    AppendAll(*loop.while_body(), step.lists[1]);
    steps.push_back(std::move(step));
  }

 private:
  void AppendAll(const Computation& computation, tile::Steps& steps) {
    for (const Instruction* instruction : computation.SequenceOrPostOrder())
      Append(*instruction, steps);
  }

  void AppendKernel(const Instruction& instruction, tile::Steps& steps) {
    const KernelPlan* const plan = kernel_of_(instruction).value_or(nullptr);
    if (plan == nullptr) return;
    tile::Step step;
    step.name = std::string(instruction.name());
    step.kernel = &plan->kernel;
    step.task_count = plan->task_count;
    for (const Instruction* operand : instruction.operands()) AddSlices(*operand, step);
    AddSlices(instruction, step);
    steps.push_back(std::move(step));
  }

  void AddSlices(const Instruction& instruction, tile::Step& step) {
    const std::vector<BufferSlice> slices = buffers_.slices(instruction);
    step.buffers.insert(step.buffers.end(), slices.begin(), slices.end());
  }

  void AppendCopy(const Instruction& copy, tile::Steps& steps) {
    const std::vector<BufferSlice> from = buffers_.slices(*copy.operand(0));
    const std::vector<BufferSlice> to = buffers_.slices(copy);
    for (size_t leaf = 0; leaf < to.size(); ++leaf) {
      if (from[leaf] == to[leaf]) continue;
      tile::Step step;
      step.kind = tile::Step::Kind::kCopy;
      step.name = std::string(copy.name());
      step.buffers = {to[leaf], from[leaf]};
      steps.push_back(std::move(step));
    }
  }

  void AppendConditional(const Instruction& conditional, tile::Steps& steps) {
    tile::Step step;
    step.kind = tile::Step::Kind::kConditional;
    step.name = std::string(conditional.name());
    step.selector = buffers_.slice(*conditional.operand(0));
    step.selector_is_pred = IsPred(conditional.operand(0)->shape().element_type());
    for (const Computation* branch : conditional.calls()) {
      AppendAll(*branch, step.lists.emplace_back());
    }
    steps.push_back(std::move(step));
  }

  const BufferAssignment& buffers_;
  const KernelOf& kernel_of_;
};

void AppendUses(const tile::Steps& steps, BufferUses& uses) {
  for (const tile::Step& step : steps) {
    if (!step.lists.empty()) uses.reads.push_back(step.selector);
    for (const tile::Steps& list : step.lists) AppendUses(list, uses);
    for (size_t i = 0; i < step.buffers.size(); ++i) {
      const bool written =
          step.kind == tile::Step::Kind::kCopy ? i == 0 : step.kernel->buffers[i].written;
      (written ? uses.writes : uses.reads).push_back(step.buffers[i]);
    }
  }
}

}  // namespace

bool IsLoopOfSmallKernels(const Instruction& loop, const KernelOf& kernel_of) {
  int64_t nodes = 0;
  return IsOfSmallKernels(*loop.while_condition(), kernel_of, nodes) &&
         IsOfSmallKernels(*loop.while_body(), kernel_of, nodes);
}

tile::Program MakeLoopProgram(const Instruction& loop, const BufferAssignment& buffers,
                              const KernelOf& kernel_of) {
  tile::Program program;
  ProgramMaker maker(buffers, kernel_of);
  maker.Append(loop, program.steps);
  // Arguments and constants among the state are only read.
  BufferUses uses;
  AppendUses(program.steps, uses);
  for (const BufferSlice& slice : buffers.slices(loop)) {
    const auto overlaps = [&slice](const BufferSlice& written) { return written.Overlaps(slice); };
    if (std::any_of(uses.writes.begin(), uses.writes.end(), overlaps))
      program.results.push_back(slice);
  }
  return program;
}

ProgramThunk::ProgramThunk(const Instruction& loop, const tile::Program& program,
                           tile::ProgramFunction* function)
    : CpuThunk(loop.name()),
      loop_(&loop),
      function_(function),
      scratch_bytes_(RoundUp(program.scratch_bytes(), 64)),
      loops_(program.loop_names()),
      text_(program.ToString(1)) {
  AppendUses(program.steps, uses_);
}

absl::Status ProgramThunk::Run(CpuState& state) const {
  const CrashLine place(WriteKernelPlace, loop_);
  const int64_t stopped =
      function_(state.addresses.data(), state.scratch, state.max_loop_iterations);
  if (stopped == 0) return absl::OkStatus();
  return TooManyIterations(loops_[static_cast<size_t>(stopped - 1)], state.max_loop_iterations);
}

void ProgramThunk::AppendTo(std::string& out, int indent) const {
  out.append(static_cast<size_t>(indent) * 2, ' ');
  out += fmt::format("program {}\n", name());
  out += text_;
}

}  // namespace hlo::cpu

#include "backends/common/poisoned_run.h"

#include <algorithm>

#include "backends/common/stored_array.h"
#include "lib/analysis/live_range.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/async_chain.h"

namespace hlo {
namespace {

constexpr int kPoison = 0xA5;
constexpr int64_t kMostIterations = 1000;

class Runner {
 public:
  Runner(const Module& module, const BufferAssignment& buffers, BackgroundRuns background)
      : module_(module), buffers_(buffers), background_(background), ranges_(buffers.values()) {
    for (const Allocation& allocation : buffers.allocations())
      memory_.emplace_back(static_cast<size_t>(allocation.size), kPoison);
    FindDeaths();
  }

  absl::StatusOr<Literal> Run(absl::Span<const Literal> arguments) {
    size_t number = 0;
    for (const Instruction* parameter : module_.entry()->parameters())
      RETURN_IF_ERROR(Store(arguments[number++], *parameter));
    for (const Allocation& allocation : buffers_.allocations()) {
      if (allocation.kind != Allocation::Kind::kConstant) continue;
      if (allocation.value->is_elided())
        return Unsupported(allocation.constant->loc(), "an elided constant");
      const auto place = static_cast<size_t>(&allocation - buffers_.allocations().data());
      RETURN_IF_ERROR(
          StoreArray(*allocation.value, allocation.value->shape(), memory_[place].data()));
    }
    RETURN_IF_ERROR(RunComputation(*module_.entry()));
    size_t next = 0;
    return LoadValue(module_.entry()->root()->shape(), buffers_.results(), next, Address{this});
  }

 private:
  uint8_t* At(const BufferSlice& slice) {
    static uint8_t nothing[64];
    if (slice.allocation < 0) return nothing;
    return memory_[static_cast<size_t>(slice.allocation)].data() + slice.offset;
  }
  // At() for LoadValue and StoreValue.
  struct Address {
    Runner* runner;
    uint8_t* operator()(const BufferSlice& slice) const { return runner->At(slice); }
  };
  Literal Load(const Instruction& instruction) {
    size_t next = 0;
    return LoadValue(instruction.shape(), buffers_.slices(instruction), next, Address{this});
  }
  absl::Status Store(const Literal& value, const Instruction& instruction) {
    size_t next = 0;
    return StoreValue(value, instruction.shape(), buffers_.slices(instruction), next,
                      Address{this});
  }

  // After each instruction, the values that are not needed any more.
  void FindDeaths() {
    std::vector<const Instruction*> by_time(static_cast<size_t>(ranges_.end()) + 1, nullptr);
    for (const ProgramStep& step : buffers_.values().order()) {
      if (step.kind == ProgramStep::Kind::kVisit)
        by_time[static_cast<size_t>(ranges_.TimeOf(*step.instruction))] = step.instruction;
    }
    // A time without an instruction counts as the one after it.
    const Instruction* next = nullptr;
    for (size_t time = by_time.size(); time-- > 0;) {
      if (by_time[time] == nullptr) by_time[time] = next;
      next = by_time[time];
    }
    for (ValueId value = 0; value < buffers_.values().count(); ++value) {
      const Instruction* last = by_time[static_cast<size_t>(ranges_.Of(value).end)];
      if (last != nullptr && IsTemporary(value)) deaths_[last].push_back(value);
    }
  }

  bool IsTemporary(ValueId value) const {
    const BufferSlice slice = buffers_.slice_of(value);
    if (slice.allocation < 0) return false;
    const Allocation& allocation = buffers_.allocations()[static_cast<size_t>(slice.allocation)];
    return allocation.kind == Allocation::Kind::kTemp ||
           allocation.kind == Allocation::Kind::kResult || allocation.donated;
  }

  // Fills what died, but for bytes of values that are needed after `time`.
  void Poison(const Instruction& instruction) {
    const auto dead = deaths_.find(&instruction);
    if (dead == deaths_.end()) return;
    const int time = ranges_.TimeOf(instruction);
    for (const ValueId value : dead->second) {
      const BufferSlice slice = buffers_.slice_of(value);
      std::vector<bool> needed(static_cast<size_t>(slice.size), false);
      for (ValueId other = 0; other < buffers_.values().count(); ++other) {
        const LiveRange& range = ranges_.Of(other);
        const BufferSlice place = buffers_.slice_of(other);
        if (range.start > time || range.end <= time || !place.Overlaps(slice)) continue;
        const int64_t from = std::max(place.offset, slice.offset) - slice.offset;
        const int64_t to =
            std::min(place.offset + place.size, slice.offset + slice.size) - slice.offset;
        std::fill(needed.begin() + from, needed.begin() + to, true);
      }
      uint8_t* bytes = At(slice);
      for (size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i]) bytes[i] = kPoison;
      }
    }
  }

  absl::Status RunComputation(const Computation& computation) {
    for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
      RETURN_IF_ERROR(RunInstruction(*instruction));
      Poison(*instruction);
    }
    return absl::OkStatus();
  }

  absl::Status RunInstruction(const Instruction& instruction) {
    if (NeedsNoCode(instruction)) return absl::OkStatus();
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kCall) return RunComputation(*instruction.to_apply());
    if (opcode == Opcode::kWhile) return RunLoop(instruction);
    if (opcode == Opcode::kConditional) return RunBranch(instruction);
    if (opcode == Opcode::kAsyncUpdate) return absl::OkStatus();
    if (opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncDone) return RunEnd(instruction);
    std::vector<Literal> operands;
    for (const Instruction* operand : instruction.operands()) operands.push_back(Load(*operand));
    ASSIGN_OR_RETURN(const Literal value, evaluator_.EvaluateInstruction(instruction, operands));
    return Store(value, instruction);
  }

  // Of a pair: its computation runs at one of the two.
  absl::Status RunEnd(const Instruction& end) {
    const bool is_start = end.opcode() == Opcode::kAsyncStart;
    const Instruction* const start = is_start ? &end : AsyncStartOf(end);
    if (start == nullptr || start->call_count() == 0)
      return Unsupported(end.loc(), "`{}`, whose start is not in its computation", end.name());
    if (is_start != (background_ == BackgroundRuns::kAtStart)) return absl::OkStatus();
    return RunComputation(*start->call(0));
  }

  absl::Status RunBranch(const Instruction& conditional) {
    const Literal selector = Load(*conditional.operand(0));
    int64_t branch = selector.GetInt();
    if (IsPred(selector.element_type())) branch = branch != 0 ? 0 : 1;
    const int64_t last = conditional.call_count() - 1;
    if (branch < 0 || branch > last) branch = last;
    return RunComputation(*conditional.call(static_cast<int>(branch)));
  }

  absl::Status RunLoop(const Instruction& loop) {
    for (int64_t i = 0; i < kMostIterations; ++i) {
      RETURN_IF_ERROR(RunComputation(*loop.while_condition()));
      if (Load(*loop.while_condition()->root()).GetInt() == 0) return absl::OkStatus();
      RETURN_IF_ERROR(RunComputation(*loop.while_body()));
    }
    return Unsupported(loop.loc(), "a loop of more than {} iterations", kMostIterations);
  }

  const Module& module_;
  const BufferAssignment& buffers_;
  const BackgroundRuns background_;
  const LiveRanges ranges_;
  Evaluator evaluator_;
  std::vector<std::vector<uint8_t>> memory_;                              // by allocation
  absl::flat_hash_map<const Instruction*, std::vector<ValueId>> deaths_;  // looked up only
};

}  // namespace

absl::StatusOr<Literal> PoisonedRun(const Module& module, const BufferAssignment& buffers,
                                    absl::Span<const Literal> arguments,
                                    BackgroundRuns background) {
  return Runner(module, buffers, background).Run(arguments);
}

}  // namespace hlo

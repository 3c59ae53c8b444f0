#include "passes/schedule/remat_peaks.h"

namespace hlo::remat {

std::vector<Computation*> RunCallees(const Instruction& instruction) {
  if (CallKindOf(instruction.opcode()) != CallKind::kControlFlow) return {};
  std::vector<Computation*> callees = instruction.calls();
  if (instruction.opcode() == Opcode::kWhile) absl::c_reverse(callees);
  return callees;
}

Peaks::Peaks(Model& model, CallGraph& calls, Counted counted) : model_(model), counted_(counted) {
  for (Computation* computation : calls.without_fusions()) {
    const CallContext context = calls.ContextOf(*computation);
    if (context == CallContext::kControlFlow || context == CallContext::kBoth)
      order_.push_back(computation);
  }
}

void Peaks::Find(const std::function<bool(const Computation&)>& runs) {
  bytes_.clear();
  for (const Computation* computation : order_) {
    if (runs(*computation)) Set(*computation, Measure(computation->SequenceOrPostOrder()).bytes);
  }
}

int64_t Peaks::Inside(const Instruction& instruction) const {
  int64_t bytes = 0;
  for (const Computation* callee : RunCallees(instruction)) bytes += Of(*callee);
  return bytes;
}

MemoryPeak Peaks::Measure(absl::Span<Instruction* const> sequence) const {
  return PeakOf(
      sequence,
      [this](Shape node) {
        const bool is_array = node.IsArray() && node.rank() > 0;
        return is_array || counted_ == Counted::kAll ? model_.DeviceBytesOf(node) : 0;
      },
      [this](const Instruction& instruction) { return Inside(instruction); });
}

}  // namespace hlo::remat

#include "passes/collectives/carried_sums.h"

#include "lib/analysis/region.h"
#include "passes/util/same_kind.h"

namespace hlo {

bool IsBodyOfLoop(const Computation& computation) {
  const auto callers = computation.callers();
  return absl::c_any_of(callers, [&](const CallSite& site) {
    return site.caller->opcode() == Opcode::kWhile && site.caller->while_body() == &computation;
  });
}

bool IsElementOfState(const Instruction& value) {
  return value.opcode() == Opcode::kGetTupleElement &&
         value.operand(0)->opcode() == Opcode::kParameter;
}

bool IsReadOnceInAnyOrder(const Instruction& value) {
  return value.use_count() == 1 && !value.has_control_edges();
}

bool MayConvertBefore(const Instruction& convert, const Instruction& reduce) {
  constexpr OpcodeSet kMay = {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum};
  const std::optional<Opcode> combine = CombinerOpcode(*reduce.to_apply());
  if (!combine || !kMay.Has(*combine)) return false;
  const ElementType from = convert.operand(0)->shape().element_type();
  const ElementType to = convert.shape().element_type();
  if (combine == Opcode::kAdd && IsInteger(from) && IsInteger(to))
    return BitWidth(to) <= BitWidth(from);
  return CanUpcast(from, to);
}

}  // namespace hlo

// Fails, on purpose, when the module holds an instruction of the given opcode: to try out what
// handles and reduces failures (hlo-reduce, bisecting, reproducers).
//
//   how=abort     a failed check ends the process
//   how=segfault  a signal ends the process
//   how=hang      runs for ever
//   how=error     an error at the instruction
//   how=internal  an error of our own
//   how=invalid   breaks the module: the instruction's shape is no longer what its rule says
//   how=hide      the same, but says that nothing changed
//   how=lie       puts a copy after the instruction but says that nothing changed
//   how=stale     writes to the host although it declares to keep what is known of side effects
//
// With `operand`, only where an operand has that opcode.
// Leaves alone: modules without such an instruction.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_words.h"

namespace hlo {

struct TestOnlyMisbehaveOptions {
  OneOf<"abort", "segfault", "hang", "error", "internal", "invalid", "hide", "lie", "stale"> how;
  std::string opcode = "multiply";
  std::string operand;

  HLO_OPTIONS(TestOnlyMisbehaveOptions, how, opcode, operand)
};

class TestOnlyMisbehave final : public WithOptions<Pass, TestOnlyMisbehaveOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr AnalysisSet kPreserves = AnalysisSet::Of<SideEffects>();
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

// Computes in another element type what reads nothing but arrays of a given one.
//
//   d = f16[4,4] dot(x, y)      =>   w = f32[4,4] dot(f32[4,8] convert(x), f32[8,4] convert(y))
//                                    d = f16[4,4] convert(w)
//
// `types` lists pairs `from:to`, `opcodes` the opcodes that are changed (empty: all), both
// separated by `;`. A result that is of the wanted type already is not converted back.
//
// Requires: nothing.  Ensures: no listed opcode reads operands that are all of a type `from`, but
// for those below.
// Leaves alone: operands of several types; results of other types than `from` and `to`; what passes
// values on or means their bits (parameters, conversions, bitcasts, custom calls); what calls a
// computation, which takes such values, too; instructions with side effects or dynamic shapes;
// bodies of fusions, of composite calls and of asynchronous operations.
#pragma once

#include "passes/pass.h"
#include "passes/util/opcode_lists.h"
#include "passes/util/type_lists.h"

namespace hlo {

struct ChangeOpDataTypeOptions {
  ElementTypePairs types{{{ElementType::kF16, ElementType::kF32}}};
  OpcodeList opcodes{{Opcode::kDot, Opcode::kConvolution}};

  HLO_OPTIONS(ChangeOpDataTypeOptions, types, opcodes)
};

class ChangeOpDataType final : public WithOptions<Pass, ChangeOpDataTypeOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

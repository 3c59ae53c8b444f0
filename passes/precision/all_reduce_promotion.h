// Lets devices reduce narrow types as wide ones.
//
//   r = bf16[4] all-reduce(x), to_apply=add      =>   w = f32[4] all-reduce(f32[4] convert(x)), to_apply=add_promoted
//                                                     r = bf16[4] convert(w)
//
// So for all-reduce and reduce-scatter of an array. `types` lists pairs `from:to`,
// separated by `;`; with `promote_all_reduce_only` reduce-scatters stay.
//
// Requires: nothing.  Leaves alone: combiners that are not one operation on both parameters,
// several arrays at once, fusion bodies.
#pragma once

#include "passes/expander.h"
#include "passes/util/type_lists.h"

namespace hlo {

struct AllReducePromotionOptions {
  ElementTypePairs types{{{ElementType::kBF16, ElementType::kF32}}};
  bool promote_all_reduce_only = false;

  HLO_OPTIONS(AllReducePromotionOptions, types, promote_all_reduce_only)
};

class AllReducePromotion final : public WithOptions<ExpanderPass, AllReducePromotionOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kAllReduce, Opcode::kReduceScatter}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce, Rewriter& rewriter) override;
};

}  // namespace hlo

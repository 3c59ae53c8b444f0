// Looks for the first elements of long rows in parts of them.
//
//   t = (f32[5], s32[5]) topk(f32[1048576] x), k=5
//       =>   p = (f32[16,5], s32[16,5]) topk(f32[16,65536] reshape(x)), k=5
//            i = s32[16,5] add(gte(p, 1), broadcast(multiply(iota, 65536)))     // places in x
//            s = (f32[80], s32[80]) sort(reshape(gte(p, 0)), reshape(i)), is_stable=true
//            t = tuple(slice(gte(s, 0)), slice(gte(s, 1)))                      // the first 5
//
// Each part is as long as `split_threshold` says, up to twice that; there are at most 1024. The
// sort is stable and parts stand in their order, so equal elements come as they did.
//
// Requires: nothing.  Leaves alone: several rows at once; rows shorter than two parts or not a
// multiple of 1024 elements; more first elements than the square root of the row or than a part
// has; custom calls without comparator.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct TopkSplitterOptions {
  int64_t split_threshold = 1024 * 1024;

  HLO_OPTIONS(TopkSplitterOptions, split_threshold)
};

class TopkSplitter final : public WithOptions<ExpanderPass, TopkSplitterOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kTopK, Opcode::kCustomCall}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* topk, Rewriter& rewriter) override;
};

}  // namespace hlo

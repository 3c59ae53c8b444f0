// Writes long cumulative reductions as short ones of parts.
//
//   r = f32[64] reduce-window(x, 0), window={size=64 pad=63_0}, to_apply=add      // x[0] + … + x[i]
//     =>   p = f32[4,16] reduce-window(reshape(x), 0), window={size=1x16 pad=0_0x15_0}, to_apply=add
//          s = f32[5] reduce-window(p[:, 15], 0), window={size=4 pad=4_0}, to_apply=add
//          r = reshape(map(p, broadcast(s[0:4])), to_apply=add)
//
// Parts have `base_length` elements (below 2: nothing is done). Windows from the end, too. Windows
// over arrays of one dimension become windows over two, the second of size 1.
//
// Requires: nothing.  Ensures: no cumulative reduce-window of one array along more than
// `base_length` elements, but with computations that are not one commutative operation, with other
// initial values than those that change nothing, and of dynamic shapes; outside fusion bodies.
// Floats are added in another order.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct ReduceWindowRewriterOptions {
  int64_t base_length = 16;

  static auto Fields() {
    return std::tuple{Optional("base_length", &ReduceWindowRewriterOptions::base_length)};
  }
};

class ReduceWindowRewriter final : public ExpanderPass {
 public:
  using Options = ReduceWindowRewriterOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  explicit ReduceWindowRewriter(Options options = {}) : options_(options) {}

 protected:
  OpcodeSet Roots() const override { return {Opcode::kReduceWindow}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* reduce_window, Rewriter& rewriter) override;

 private:
  bool IsLongScan(const Instruction& instruction) const;
  Options options_;
};

}  // namespace hlo

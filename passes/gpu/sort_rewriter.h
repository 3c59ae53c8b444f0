// Lets CUB sort.
//
//   s = sort(keys, values), to_apply=less
//     =>   c = custom-call(keys, values), custom_call_target="__cub$DeviceRadixSort",
//              backend_config={"descending":false}
//          s = tuple(gte(c, 0), gte(c, 1))
//
// `less` compares two keys, which may be either operand. Keys are integers of 8 to 64 bits, f16,
// bf16, f32 and f64, and values, which only one sort of pairs has, 16, 32 or 64 bits wide. CUB
// orders floats totally, whatever the comparison says of zeros and NaNs. Where the region takes
// all zeros and all NaNs of a float for one and then compares them totally, as for NumPy, the
// elements are sorted as values of unsigned keys that are in this order. The last result is what
// CUB works in: another array of keys, one of values, and of more than one row the bounds.
//
// Options: `mode`, `auto` (what CUB sorts faster than a kernel of ours on the GPU of `device`, by
// measurements of Ampere and Hopper, of which Blackwell takes those of Hopper; on others what has
// more than 16,384 elements) or `always`.
//
// Requires: nothing.  Ensures: nothing.
// Leaves alone: more than two operands, dynamic shapes, other dimensions than the last, which is to
// be the minor one; other regions; of pairs, orders in which equal keys go before each other.
#pragma once

#include <string>
#include <utility>

#include "passes/expander.h"
#include "passes/gpu/gpu_device.h"
#include "passes/util/option_words.h"

namespace hlo {

struct SortRewriterOptions {
  OneOf<"auto", "always"> mode;
  Checked<CheckGpuDevice> device{"h100_sxm"};

  static auto Fields() {
    return std::tuple{Optional("mode", &SortRewriterOptions::mode),
                      Optional("device", &SortRewriterOptions::device)};
  }
};

class SortRewriter final : public WithOptions<ExpanderPass, SortRewriterOptions> {
 public:
  static constexpr RuleSafety kSafety = kExceptSpecials;
  using WithOptions::WithOptions;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kSort}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* sort, Rewriter& rewriter) override;
};

}  // namespace hlo

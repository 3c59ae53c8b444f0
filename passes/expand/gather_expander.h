// Writes gathers as loops over dynamic-slices.
//
//   g = gather(x, indices), slice_sizes={1,6}, …
//       =>   for (i = 0; i < number of index vectors; ++i) rows[i] = dynamic-slice(x, start i)
//            g = transpose(reshape(rows))
//
// A gather whose slices are the whole operand becomes a broadcast. Starts are clamped by
// dynamic-slice as gather clamps them.
//
// `simple` (the default): only gathers of one slice (after `simplify-while-loops` no loop is left)
// and those of the whole operand.
//
// Requires: nothing.  Ensures: with `simple=false`, no gather is left outside fusion bodies.
// Leaves alone: dynamic shapes and gathers without elements; more than 2^31 - 1 index
// vectors are an error.
#pragma once

#include "passes/expander.h"

namespace hlo {

struct GatherExpanderOptions {
  bool simple = true;

  static auto Fields() { return std::tuple{Optional("simple", &GatherExpanderOptions::simple)}; }
};

class GatherExpander final : public WithOptions<ExpanderPass, GatherExpanderOptions> {
 public:
  using WithOptions::WithOptions;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kGather}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* gather, Rewriter& rewriter) override;
};

}  // namespace hlo

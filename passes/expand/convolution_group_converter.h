// Writes grouped convolutions as convolutions of one group.
//
//   convolution(x, k), feature_group_count=4, one input feature per group
//       =>   convolution(x, select(same group, broadcast(k), 0))
//   convolution(x, k), feature_group_count=2, more of them
//       =>   reshape(convolution(reshape(x), reshape(k))), the groups being a spatial dimension
//            that meets group by group
//   convolution(x, k), batch_group_count=G
//       =>   the same with the groups of the batch, or, where each group is one sample and one
//            output feature, reduce-window(select(same group, convolution(x, k), 0))
//
// Options: `convert_batch_groups_only` treats batch groups, else feature groups (a back end runs
// the pass twice); with `filter_expansion` off, kernels of one input feature get a spatial
// dimension for the outputs of a group instead of zeros where `is_cost_viable`, and are left
// alone if each group has one output; `skip_types` lists element types that are left alone,
// separated by `;`.
//
// Requires: nothing.  Ensures: with the default options, the chosen kind of groups is left only on
// dynamic shapes and in fusion bodies.
#pragma once

#include "passes/expander.h"
#include "passes/util/type_lists.h"

namespace hlo {

struct ConvolutionGroupConverterOptions {
  bool convert_batch_groups_only = false;
  bool filter_expansion = true;
  bool is_cost_viable = true;
  ElementTypeList skip_types;

  HLO_OPTIONS(ConvolutionGroupConverterOptions, convert_batch_groups_only, filter_expansion,
              is_cost_viable, skip_types)
};

class ConvolutionGroupConverter final
    : public WithOptions<ExpanderPass, ConvolutionGroupConverterOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;

 protected:
  OpcodeSet Roots() const override { return {Opcode::kConvolution}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* conv, Rewriter& rewriter) override;
};

}  // namespace hlo

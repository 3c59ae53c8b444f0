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

  static auto Fields() {
    using O = ConvolutionGroupConverterOptions;
    return std::tuple{Optional("convert_batch_groups_only", &O::convert_batch_groups_only),
                      Optional("filter_expansion", &O::filter_expansion),
                      Optional("is_cost_viable", &O::is_cost_viable),
                      Optional("skip_types", &O::skip_types)};
  }
};

class ConvolutionGroupConverter final : public ExpanderPass {
 public:
  using Options = ConvolutionGroupConverterOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  explicit ConvolutionGroupConverter(Options options = {}) : options_(std::move(options)) {}

 protected:
  OpcodeSet Roots() const override { return {Opcode::kConvolution}; }
  bool Matches(const Instruction& instruction) const override;
  absl::StatusOr<Instruction*> Expand(Instruction* conv, Rewriter& rewriter) override;

 private:
  Options options_;
};

}  // namespace hlo

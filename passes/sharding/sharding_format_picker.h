// Writes the devices of shardings as lists, or as transposed counts where they are such.
//
//   v1               {devices=[2,2]<=[2,2]T(1,0)}  =>  {devices=[2,2]0,2,1,3}
//   best_effort_v2   {devices=[2,2]0,2,1,3}        =>  {devices=[2,2]<=[2,2]T(1,0)}
//
// Requires: nothing.  Ensures: the same tiles are on the same devices.
// Leaves alone: what is not divided into tiles; named axes; with v1 shardings of tuples, as XLA
// does; with best_effort_v2 more than 32 devices, for which there are too many ways to try.
#pragma once

#include "passes/pass.h"
#include "passes/util/option_words.h"

namespace hlo {

struct ShardingFormatPickerOptions {
  OneOf<"v1", "best_effort_v2"> sharding_type;

  HLO_OPTIONS(ShardingFormatPickerOptions, sharding_type)
};

class ShardingFormatPicker final : public WithOptions<Pass, ShardingFormatPickerOptions> {
 public:
  static constexpr AnalysisSet kPreserves =
      AnalysisSet::Of<CallGraph, Reachabilities, SideEffects>();
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

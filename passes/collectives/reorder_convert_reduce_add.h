// Converts before devices reduce, where what follows is a sum: it may then be moved out of loops.
//
//   add(acc, f32[4] convert(bf16[4] all-reduce(x)))      =>   add(acc, all-reduce(f32[4] convert(x)))
//
// The reduction is then done, and carried, in the type of the sum. Option `enable_reduce_scatter`:
// reduce-scatters, too.
//
// Requires: nothing.  Leaves alone: conversions that no add reads, to a narrower type, or between
// kinds of numbers; other combiners than add; reductions that something else reads; several arrays.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct ReorderConvertReduceAddOptions {
  bool enable_reduce_scatter = true;

  static auto Fields() {
    return std::tuple{
        Optional("enable_reduce_scatter", &ReorderConvertReduceAddOptions::enable_reduce_scatter)};
  }
};

class ReorderConvertReduceAdd final : public Pass {
 public:
  using Options = ReorderConvertReduceAddOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  explicit ReorderConvertReduceAdd(Options options = {}) : options_(options) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo

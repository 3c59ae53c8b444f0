// A bound of how much a pass may make a module grow by copying computations. Calls that call twice,
// in forty levels, are a small text and 2^40 instructions.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"
#include "lib/support/status.h"

namespace hlo {

class GrowthLimit {
 public:
  // What a module may have added: many times what real ones have in all.
  static constexpr int64_t kMostAdded = 2'000'000;

  // The copy of so many instructions for `call`.
  absl::Status Add(int64_t instructions, const Instruction& call) {
    added_ += instructions;
    if (added_ <= kMostAdded) return absl::OkStatus();
    return Error(
        call.loc(),
        "copying what is called has added {} instructions so far, more than the limit of {}",
        added_, kMostAdded);
  }

 private:
  int64_t added_ = 0;
};

}  // namespace hlo

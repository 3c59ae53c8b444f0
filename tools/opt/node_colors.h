// --color-by: what the colours of instructions in pictures of modules say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/module.h"

namespace hlo {

class NodeColors {
 public:
  // The words of --color-by:
  //
  //   kind                 parameters, constants, products, fusions, control flow
  //   time, bytes, flops   from white to red: the share of the largest one, as lib/analysis/cost.h
  //                        counts and estimates it, of all runs of the instruction
  //   sharding             a colour for each sharding, white without
  static std::vector<std::string_view> Words();

  // `word` is one of these.
  NodeColors(const Module& module, std::string_view word);

  // `#rrggbb`
  std::string Of(const Instruction& instruction) const {
    return colors_[static_cast<size_t>(instruction.id())];
  }

 private:
  std::vector<std::string> colors_;  // by instruction's number
};

}  // namespace hlo

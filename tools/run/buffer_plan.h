// Which inputs a run may keep (--donate), and which outputs are inputs of the next step (--feed).
//
//   --donate=0,1:{0}   parameter 0, all of its arrays, and the part {0} of parameter 1
//   --donate=all|none
//   --feed=0:1,{2}:3:{0}   output 0 to parameter 1, output {2} to part {0} of parameter 3
//   --feed=aliases     each output to the parameter that it is aliased to
//
// What is fed is donated: the loop owns it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/types/shape_util.h"

namespace hlo {

struct BufferPlan {
  // By leaf of the parameters.
  std::vector<bool> donated;
  // By numbers of leaves; each input is fed once.
  struct Feed {
    size_t output, input;
  };
  std::vector<Feed> feeds;
};

// What is wrong with the text of --donate= or --feed=; "": nothing.
std::string DonateMistake(const std::string& text);
std::string FeedMistake(const std::string& text);

// The plan for a module that runs `steps` times, and the aliases that it allows: outputs that are
// fed are aliased (may-alias) to their inputs; what else is donated becomes a buffer donor, for
// which `optimize_input_output_buffer_alias` finds outputs; donors of the module that are not
// donated are none in this run. Refuses places that do not exist, feeds between different shapes,
// `must-alias` of what is not donated, and what is donated in the first step without being fed for
// the next.
absl::StatusOr<BufferPlan> MakeBufferPlan(Module& module, std::string_view donate,
                                          std::string_view feed, int64_t steps);

}  // namespace hlo

// All-gathers of arrays whose parts a loop sends round anyway.
//
//   w = while(tuple(x, y, …))                 x goes round; each iteration multiplies two parts
//   g = all-gather(x), dimensions={1}
//   d = dot(g, z)
//     =>   w = while(tuple(x, y, …, broadcast(0))), body: the parts are put beside each other
//          d = dot(get-tuple-element(w, n), z)
//
// The gather may be of `x` scaled, multiply(convert(f8[…] x), broadcast(s)) or divided so: what the
// loop put together is scaled after it.
//
// That the loop sees each part of the gather, on each device, and that it knows where it belongs,
// is tried out: the places to which it writes the products of parts, or from which it takes what
// parts are multiplied by, are computed for all devices and iterations.
#pragma once

#include <optional>
#include <vector>

#include "passes/pass.h"

namespace hlo {

class WindowedGathers {
 public:
  // `loops`: those whose first element goes round.
  explicit WindowedGathers(const std::vector<Instruction*>& loops);

  // Lets `dot` read what a loop has put together instead of an all-gather; whether it did so.
  absl::StatusOr<bool> Visit(Instruction* dot, PassContext& context);

 private:
  struct Loop {
    Instruction* loop;
    std::optional<int64_t> kept_at;  // the element that holds the parts, once one does
    // Of what it holds.
    int64_t dimension = 0;
    std::vector<std::vector<int64_t>> groups;
  };
  struct Gather;
  static std::optional<Gather> FindGather(Instruction* operand, const Instruction& parts);
  static absl::StatusOr<bool> Keep(Loop& loop, const Gather& gather, PassContext& context);
  std::vector<Loop> loops_;
};

}  // namespace hlo

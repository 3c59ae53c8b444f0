// Says how every array lies, and copies where one instruction wants it otherwise than
// another has it.
//
//   x {0,1}, ROOT r = negate(x), result {0,1}    =>   c = {1,0} copy(x), n = {1,0} negate(c), ROOT {0,1} copy(n)
//   ROOT t = transpose(x), x {1,0}               =>   t = {0,1} transpose(x), moves nothing; ROOT {1,0} copy(t)
//   ROOT b = broadcast(x), result {0,1}          =>   b = {0,1} broadcast(x)
//   while(x) whose body returns {1,0}            =>   while({1,0} copy(x)), and so are the parameters of body and condition
//
// Begins with what is given: the layouts of the entry, collectives and custom calls with layout
// constraints, infeed, outfeed, send and recv; bitcasts and fusions as they are. Then come what
// the platform prefers (layout_preferences.h) and what follows from all of that
// (layout_constraints.h); what is left is row-major. Computations are looked at callees first,
// until loops and branches agree with what calls them: the state of a loop lies as its body
// returns it, the result of a conditional as its largest branch does. An operand that only
// conditionals read is copied in the branches. What is sent, and what custom calls with layout
// constraints write over, is copied first.
//
// Options: `platform` is `cpu` (default), or `none`: no preferences.
//
// Requires: nothing; XLA's refuses bitcasts. Ensures: layouts agree as the verifier wants it with
// `layout_sensitive`.
// Leaves alone: fusions; asynchronous computations; memory spaces and tiles of the entry's layouts,
// which go to parameters and result, all others go.
#pragma once

#include <string>

#include "passes/pass.h"

namespace hlo {

struct LayoutAssignmentOptions {
  std::string platform = "cpu";

  static auto Fields() {
    return std::tuple{Optional("platform", &LayoutAssignmentOptions::platform)};
  }
};

class LayoutAssignment final : public Pass {
 public:
  using Options = LayoutAssignmentOptions;
  explicit LayoutAssignment(Options options = {}) : options_(std::move(options)) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo

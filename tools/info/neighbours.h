// What stands around an instruction: what it is made from and who uses it, the ways from one to
// another, and who runs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"

namespace hlo {

// --around: a line for each instruction of the computation up to `depth` steps away, in the order
// of the module; the number in front is negative for operands, positive for users.
//
//   -1  %d = f32[64,64]{1,0} subtract(%x, %mb)
//    0  %e = f32[64,64]{1,0} exponential(%d)
//    1  ROOT %r = f32[64,64]{1,0} divide(%e, %tb)
struct Around {
  int64_t depth = 1;
  bool operands = true, users = true;
};
absl::StatusOr<std::string> AroundText(const Module& module, std::string_view name,
                                       const Around& around);

// --paths=A,B: the instructions on all ways by which the value of A gets to B. An error where there
// is none, or they are of different computations.
absl::StatusOr<std::string> PathsText(const Module& module, std::string_view from,
                                      std::string_view to);

// --stack: the instruction, then whoever runs its computation, and so on to the entry; each with
// its line of the program.
absl::StatusOr<std::string> StackText(const Module& module, std::string_view name);

}  // namespace hlo

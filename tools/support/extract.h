// A part of a module as a module of its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Leaves of `module` the part of this name and what it calls:
//
//   a computation    as the entry
//   an instruction   as the result, with what it is computed from. With `producers` from 0 on, not
//                    all of that: what is so many steps away; what comes before becomes parameters
//                    of the names it had. Constants stay, and the halves of asynchronous
//                    operations stay together. With `users`, the instructions that use it up to so
//                    many steps away come along; what none of these uses is the result, several
//                    of them as a tuple.
//
// `COMPUTATION/INSTRUCTION` is an instruction, too. Names, layouts and the schedule stay.
absl::Status Extract(Module& module, std::string_view name, int64_t producers, int64_t users = 0);

}  // namespace hlo

// Constants whose values were left out when the text was printed (`constant({...})`).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "tools/support/flag_values.h"

namespace hlo {

// Gives them values: `how` is "zeros", "ones", "random:SEED", or "xla" for those that XLA makes up
// when the module is the first that a process reads. Without it (""), such constants are
// an error that names them. Returns how many there were.
absl::StatusOr<int> FillElided(Module& module, const std::string& how);

// What --fill-elided takes.
FlagValues FillElidedValues();

}  // namespace hlo

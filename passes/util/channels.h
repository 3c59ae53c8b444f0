// Channel ids.
#pragma once

#include <cstdint>

#include "lib/ir/module.h"

namespace hlo {

// One more than the largest channel id of a collective with groups.
int64_t NextChannelId(const Module& module);

// Gives a collective that has a channel another one; false if `instruction` is none.
bool ReplaceChannelId(Instruction* instruction, int64_t channel);

}  // namespace hlo

// Channel ids.
#pragma once

#include <cstdint>

#include "lib/ir/module.h"

namespace hlo {

// One more than the largest channel id of a collective with groups.
int64_t NextChannelId(const Module& module);

}  // namespace hlo

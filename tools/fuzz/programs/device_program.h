// Random programs for several devices: collectives among random groups of every kind, in every
// form, sends and receives, between elementwise steps that tell the devices apart.
#pragma once

#include <string>

#include "tools/fuzz/random.h"

namespace hlo {

std::string RandomDeviceProgram(FuzzRandom& random);

}  // namespace hlo

// Where XLA:CPU, asked through jaxlib, is known to answer something else than is right here. Each
// difference has its reason; modules with one are not compared.
#pragma once

#include <string_view>

#include "lib/ir/module.h"

namespace hlo {

// The reason why this module is not compared with XLA; empty: it is.
std::string_view KnownXlaDifference(const Module& module);

}  // namespace hlo

// Kinds of shardings by the words of the text.
#pragma once

#include <string_view>

#include "lib/types/sharding.h"

namespace hlo {

std::string_view Word(TiledSharding::Kind kind);

}  // namespace hlo

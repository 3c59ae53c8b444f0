// A random valid module: a few rows of growth (rows.h), then what dumps of compilers have, too:
// fusions and other layouts.
#pragma once

#include <string>

#include "tools/fuzz/random.h"

namespace hlo {

// The text of a module that the verifier takes and that holds nothing random or endless. The same
// state of `random`, the same text.
std::string RandomProgram(FuzzRandom& random);

}  // namespace hlo

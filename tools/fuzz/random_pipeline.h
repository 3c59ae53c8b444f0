// Random pipelines: passes with random options.
#pragma once

#include <string>

#include "tools/fuzz/random.h"

namespace hlo {

// One to `most` passes as a text that ParsePipeline reads: `dce,algsimp{exact=true}`.
std::string RandomPipelineText(size_t most, FuzzRandom& random);

}  // namespace hlo

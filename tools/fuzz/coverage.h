// Which code an input has reached, in builds that mark it (build type Fuzz). Elsewhere there is
// nothing to see and every input looks the same.
#pragma once

#include <cstddef>

namespace hlo {

// Forgets what has been reached since the last call.
void StartCoverage();
// Whether code was reached since StartCoverage() that no input before has reached (or a loop turned
// more often by a power of two); remembers it.
bool TakeNewCoverage();
// Edges reached so far.
size_t CoverageCount();

}  // namespace hlo

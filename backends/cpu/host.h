// The description of the processor lives with the libraries that choose code by it.
#pragma once

#include "backends/cpu/library/host.h"  // IWYU pragma: export

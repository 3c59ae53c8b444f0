// The border between passes and code generators: there, every array is dense and row-major.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Whether no array of the module has another layout than the row-major one: an error at the first
// that has. The pass row-major-layouts makes it so. The entry layout is about the caller's arrays
// and not looked at.
absl::Status CheckRowMajor(const Module& module);

}  // namespace hlo

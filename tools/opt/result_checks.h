// What hlo-opt can demand of a result: that it reads back, that it is another file's module. Each
// writes what is wrong and returns the exit code.
#pragma once

#include <string>

#include "lib/ir/module.h"
#include "lib/ir/printer.h"

namespace hlo {

// --verify-roundtrip: printed with `options` and read again, the module prints the same.
int CheckRoundtrip(const Module& module, PrintOptions options);
// --expect-equal: the module of `path`, names and layouts aside.
int CheckEqualTo(const std::string& path, bool with_layouts, const Module& module);

}  // namespace hlo

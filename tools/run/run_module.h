// The main job of hlo-run on one file: load, transform, compile, run, print, compare, report.
#pragma once

#include <string>

#include "tools/run/options.h"

namespace hlo {

// Does what the options ask for with the module in `path`; words after it are inputs. Prints
// results and errors; returns the exit code.
int RunModule(const ToolOptions& options, const std::string& path);

}  // namespace hlo

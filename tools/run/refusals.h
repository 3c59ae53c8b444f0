// What some runs cannot do: flags that are for one device, or for one process.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"
#include "tools/run/options.h"

namespace hlo {

// Whether the module has an infeed or outfeed.
bool Feeds(const Module& module);

// Of a module that runs on so many devices.
absl::Status RefuseOneDeviceFlags(const ToolOptions& options, const Module& module,
                                  int64_t devices);

// Of --distributed: what several processes would do in different ways.
absl::Status RefuseOneProcessFlags(const ToolOptions& options, bool feeds);

}  // namespace hlo

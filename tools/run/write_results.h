// What hlo-run leaves of a run: arrays in folders and files, values on standard output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/eval/in_process_communicator.h"
#include "lib/types/literal.h"
#include "tools/run/feed_files.h"
#include "tools/run/options.h"

namespace hlo {

// Whether all that the options name could be written, results of `result_shape` among them: what
// can fail without the run fails before it.
absl::Status CheckDestinations(const ToolOptions& options, Shape result_shape);

// The arrays of each device as .npy files in a folder of its own; an empty `directory`: none.
absl::Status WriteByDevice(absl::Span<const std::vector<Literal>> values,
                           const std::string& directory, const DeviceMesh& mesh,
                           std::string_view prefix);

// Prints and writes the result of each device and what it gave to its outfeed, as the options say;
// `outfeed` is empty where nothing was fed.
absl::Status WriteResults(const ToolOptions& options, absl::Span<const Literal> results,
                          absl::Span<const Outfeed> outfeed, const DeviceMesh& mesh);

// What each device gave to its outfeed, as .npy files that are numbered on; an empty `directory`:
// none.
absl::Status WriteOutfeed(absl::Span<const Outfeed> outfeed, const std::string& directory,
                          const DeviceMesh& mesh);

}  // namespace hlo

#include "tools/run/write_results.h"

#include <fmt/format.h>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "tools/run/devices.h"
#include "tools/run/output_files.h"
#include "tools/run/outputs.h"
#include "tools/support/tool_support.h"

namespace hlo {

absl::Status CheckDestinations(const ToolOptions& options, Shape result_shape) {
  std::vector<std::string> files = {options.json, options.trace, options.time_trace,
                                    options.save_executable};
  for (const auto& profile : options.profile_files) files.push_back(profile.file);
  files.insert(files.end(), options.memory_files.begin(), options.memory_files.end());
  for (const std::string& file : files) {
    if (!file.empty()) RETURN_IF_ERROR(CheckWritable(file));
  }
  RETURN_IF_ERROR(CheckOutputFiles(options.outputs, result_shape));
  for (const std::string& folder :
       {options.output_dir, options.save_inputs, options.outfeed_dir, options.save_temps}) {
    if (!folder.empty()) RETURN_IF_ERROR(CheckOutputFolder(folder));
  }
  return absl::OkStatus();
}

absl::Status WriteByDevice(absl::Span<const std::vector<Literal>> values,
                           const std::string& directory, const DeviceMesh& mesh,
                           std::string_view prefix) {
  for (size_t device = 0; device < values.size() && !directory.empty(); ++device) {
    const std::string folder = DeviceFolder(directory, mesh, static_cast<int64_t>(device));
    RETURN_IF_ERROR(WriteArrays(values[device], folder, prefix));
  }
  return absl::OkStatus();
}

absl::Status WriteResults(const ToolOptions& options, absl::Span<const Literal> results,
                          absl::Span<const Outfeed> outfeed, const DeviceMesh& mesh) {
  std::vector<std::vector<Literal>> arrays;
  for (size_t device = 0; device < results.size(); ++device) {
    arrays.push_back({results[device]});
    if (options.print_outputs == PrintOutputs::kNone) continue;
    WriteStdout(DeviceHeading(mesh, static_cast<int64_t>(device)) +
                OutputText(results[device], options.print_outputs));
    if (!options.outfeed_dir.empty() || outfeed.empty()) continue;
    int64_t number = outfeed[device].first;
    for (const Literal& value : outfeed[device].values) {
      WriteStdout(
          fmt::format("// outfeed {}\n{}", number++, OutputText(value, options.print_outputs)));
    }
  }
  RETURN_IF_ERROR(WriteOutputFiles(options.outputs, results, mesh));
  RETURN_IF_ERROR(WriteByDevice(arrays, options.output_dir, mesh, "out"));
  return WriteOutfeed(outfeed, options.outfeed_dir, mesh);
}

absl::Status WriteOutfeed(absl::Span<const Outfeed> outfeed, const std::string& directory,
                          const DeviceMesh& mesh) {
  for (size_t device = 0; device < outfeed.size() && !directory.empty(); ++device) {
    const std::string folder = DeviceFolder(directory, mesh, static_cast<int64_t>(device));
    RETURN_IF_ERROR(
        WriteArrays(outfeed[device].values, folder, "outfeed", outfeed[device].first_array));
  }
  return absl::OkStatus();
}

}  // namespace hlo

// What each thread of each device does in one run, as a picture on the time line:
//
//   $ hlo-run f.hlo --trace=f.json         for chrome://tracing and ui.perfetto.dev
//
// A process for each device, a track for each of its threads, a slice for each call of a thunk.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "tools/run/devices.h"

namespace hlo {

// Times in milliseconds.
struct TraceSlice {
  size_t track = 0;
  double start_ms = 0, ms = 0;
  std::string name, kind, shape;  // of the instruction, of the thunk
  std::string source;             // "model.py:12", or empty
  double flops = 0, bytes = 0;    // of this call
};

struct TraceProcess {
  std::string name;
  std::vector<std::string> tracks;
  std::vector<TraceSlice> slices;
};

// In the trace event format.
std::string TraceText(absl::Span<const TraceProcess> processes);

// Of one run of `states`, by device, after one that is not looked at. `executable`: of the states.
absl::StatusOr<std::vector<TraceProcess>> TakeTimeline(const Executable& executable,
                                                       DeviceStates& states,
                                                       const DeviceMesh& mesh);

}  // namespace hlo

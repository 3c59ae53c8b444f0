// Runs a program on buffers: once with donated inputs (--donate), or step after step, outputs fed
// back to inputs (--feed), with checkpoints between the steps. Of several devices each has inputs
// and outputs of its own; they do a step together, and the next one begins when all have done it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "lib/types/literal.h"
#include "tools/run/buffer_plan.h"
#include "tools/run/device_threads.h"
#include "tools/support/progress.h"

namespace hlo {

struct LoopOptions {
  int64_t steps = 1;
  std::string checkpoint;  // folder; empty: none are written
  int64_t every = 0;       // steps from one checkpoint to the next; 0: only after the last one
  bool resume = false;     // from the newest checkpoint, where there is one
  uint64_t module = 0;     // a hash of what runs
  // Called before each checkpoint: keeps what outfeeds have given by then. May be empty.
  std::function<absl::Status()> keep_outfeed;
};

// What runs the loop.
struct LoopDevices {
  DeviceMesh mesh;
  RunOptions options;
  DeviceLimits limits;
};

struct LoopResult {
  std::vector<Literal> values;  // of the last step, by device
  double milliseconds = 0;
  int64_t first_step = 0;          // the steps before it were done by another process
  std::vector<std::string> notes;  // what the user should know
};

// `arguments`, by device, are used up. The buffers of fed outputs become those of the inputs:
// nothing is copied that the platform need not copy, and memory is that of one step.
absl::StatusOr<LoopResult> RunLoop(const Executable& executable,
                                   std::vector<std::vector<Literal>> arguments,
                                   const BufferPlan& plan, const LoopOptions& loop,
                                   const LoopDevices& devices, Progress& progress);

}  // namespace hlo

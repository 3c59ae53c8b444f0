// `--require-donation`: what is donated is to be used.
#pragma once

#include "absl/status/status.h"
#include "backends/backend.h"
#include "tools/run/buffer_plan.h"

namespace hlo {

// An error that names each input which is donated and in whose memory no output is made, with the
// reason.
absl::Status RequireDonation(const Executable& executable, const BufferPlan& plan);

}  // namespace hlo

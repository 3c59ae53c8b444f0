// --distributed=mpi: messages by Open MPI, whose library is loaded when it is asked for; nothing is
// linked with it. Started by `mpirun -n 4 hlo-run …`; alone, a process is the only one.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "lib/eval/transport.h"

namespace hlo {

// One for a process. It goes when all processes let theirs go.
absl::StatusOr<std::unique_ptr<Transport>> MakeMpiTransport();

}  // namespace hlo

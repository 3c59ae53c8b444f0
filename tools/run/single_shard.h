// The part of one device of a module for many, so that it runs alone: what it would get from others
// is put together of its own values.
//
//   all-reduce, collective-permute, …     its operand
//   all-gather                            its operand, as often as the result has room
//   reduce-scatter, all-to-all            the first of its parts, as many as the result takes
//   recv                                  zeros
//   send                                  nothing
//   partition-id, replica-id              the device's
//
// The result of an asynchronous operation is there when it starts, and travels as the state of its
// chain did: through tuples, loops, calls and branches. A computation that an async-start runs
// calls what replaces its collective. The schedule goes, and so do control edges of what is
// replaced.
//
// Shapes, work and memory are those of the device; values are not.
#pragma once

#include "absl/status/statusor.h"
#include "lib/ir/module.h"

namespace hlo {

// Rewrites `module` for device `id` and makes it one for a single device; returns how many
// operations were replaced, a pair counted once. An id beyond the module's devices is an error; so
// are results whose sizes only the run knows.
absl::StatusOr<int64_t> KeepSingleShard(Module& module, int64_t id);

}  // namespace hlo

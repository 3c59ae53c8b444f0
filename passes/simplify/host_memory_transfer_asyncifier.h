// Lets transfers between the memory of the host and that of the device run beside other work.
//
//   s = f32[1,8]{1,0} dynamic-slice(x, i, zero)              x: f32[4,8]{1,0:S(5)}
//     =>   a = ((f32[4,8]{1,0:S(5)}, s32[], s32[]), f32[1,8]{1,0}, u32[], s32[]) async-start(x, i, zero)
//          s = f32[1,8]{1,0} async-done(a)
//
// Dynamic slices from the host, updates of arrays there by values of the device, and copies in both
// directions, which become copy-start and copy-done.
//
// Option: `host_memory_space_color`, the memory space of the host.
//
// Requires: layouts say the memory spaces.  Ensures: nothing.  Errors: an update of an array in the
// memory of the device that yields one in that of the host.
// Leaves alone: what runs asynchronously already; memory spaces of the device but its main one.
#pragma once

#include "lib/types/memory_space.h"
#include "passes/pass.h"

namespace hlo {

struct HostMemoryTransferAsyncifierOptions {
  int64_t host_memory_space_color = kHostMemorySpace;

  HLO_OPTIONS(HostMemoryTransferAsyncifierOptions, host_memory_space_color)
};

class HostMemoryTransferAsyncifier final
    : public WithOptions<Pass, HostMemoryTransferAsyncifierOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

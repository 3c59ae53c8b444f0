// Puts loops that touch little memory into computations of their own, which a CPU compiles as one
// function: the steps of such loops cost less than it takes to go from kernel to kernel.
//
//   w = (s32[], f32[8]) while(t), condition=c, body=b
//     =>   w_computation { p = (s32[], f32[8]) parameter(0)  ROOT w = while(p), condition=c, body=b }
//          call = (s32[], f32[8]) call(t), to_apply=w_computation,
//                 frontend_attributes={xla_cpu_small_call="true"}
//
// Little: one iteration reads and writes fewer bytes than
// `xla_cpu_small_while_loop_byte_threshold`.
//
// Requires: nothing.  Leaves alone: loops whose state is more than a tuple of arrays; loops with
// collectives, transforms, sorts, scatters, custom calls, feeds or messages between devices
// anywhere inside.
#pragma once

#include "passes/pass.h"

namespace hlo {

struct SmallWhileLoopHoistingOptions {
  int64_t byte_threshold = 1024;

  static auto Fields() {
    return std::tuple{Optional("xla_cpu_small_while_loop_byte_threshold",
                               &SmallWhileLoopHoistingOptions::byte_threshold)};
  }
};

class SmallWhileLoopHoisting final : public WithOptions<Pass, SmallWhileLoopHoistingOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

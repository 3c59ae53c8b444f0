// Fuses what saves most first, by a model of how long kernels take: XLA's main fusion for GPUs.
//
//   e = exponential(x)                                e is computed by both
//   a = f32[n] add(e, y)            =>   a = f32[n] fusion(y, x), kind=kLoop, calls={add(exp(x), y)}
//   r = f32[] reduce(e, zero)            r = f32[] fusion(x), kind=kInput, calls={reduce(exp(x), 0)}
//
// A producer goes into all that read it, or stays. What that is worth is the time of the producer and
// its readers as they are, less the time of the readers when each computes the producer itself
// (performance_model.h, for the GPU of option `device`). The producer that is worth most comes
// first, of several as good the newest one; what would cost time stays. After each step the readers,
// which have grown, and what they read are looked at again. Bitcasts come before all else, and go
// into those readers that can take them; constants of one element come last, into all that can. The
// kind of the fusions is kInput where warps reduce, transpose through shared memory or scatter, or
// one loop runs over each of at most 4 arrays that are joined; else it is kLoop.
//
// Parts of kernels are elementwise operations, broadcasts, bitcasts of elements of the same width,
// concatenates, copies, dynamic-(update-)slices, gathers, iotas, pads, reduces, reduce-windows,
// reshapes, reverses, scatters, slices, transposes, and fusions that are not kCustom.
//
// Not fused: the result of a computation; into a bitcast; what a scatter makes, and what it updates or
// reads what it updates; two reductions of at least 16 elements each; into what would make a loop of
// a kernel in which warps reduce; more operands, shared memory or reductions than kernels have room
// for (shared_kernels.h); what would be emitted as more than 10000 instructions, or in which a
// concatenate, dot, dynamic-update-slice, pad, reduce or reduce-window would be emitted twice; what an
// update in place still reads (in_place_update.h).
//
// Requires: layouts. Ensures: fusions have the outputs that they had.
// Leaves alone: control edges, side effects, what nobody reads; computations that run per element.
// XLA's fusions of Triton, which alone can have several outputs here, are left out.
#pragma once

#include <string>

#include "passes/pass.h"

namespace hlo {

struct PriorityFusionOptions {
  std::string device = "h100_sxm";

  static auto Fields() { return std::tuple{Optional("device", &PriorityFusionOptions::device)}; }
};

class PriorityFusion final : public Pass {
 public:
  using Options = PriorityFusionOptions;
  explicit PriorityFusion(Options options = {}) : options_(std::move(options)) {}
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;

 private:
  Options options_;
};

}  // namespace hlo

// Fuses what saves most first, by a model of how long kernels take: XLA's main fusion for GPUs.
//
//   e = exponential(x)                              e is computed by both
//   a = f32[n] add(e, y)         =>    a = f32[n] fusion(y, x), kind=kLoop, calls={add(exp(x), y)}
//   r = f32[] reduce(e, zero)          r = f32[] fusion(x), kind=kInput, calls={reduce(exp(x), 0)}
//
// A producer goes into all that read it, or stays. What that is worth is the time of the producer
// and its readers as they are, less the time of the readers when each computes the producer itself
// (performance_model.h, for the GPU of option `device`). The producer that is worth most comes
// first, of several as good the newest one; what would cost time stays. After each step the
// readers, which have grown, and what they read are looked at again. Bitcasts come before all else,
// and go into those readers that can take them; constants of one element come last, into all that
// can. Fusions are kInput where warps reduce, transpose through shared memory or scatter, or where
// a loop runs over each of at most 4 arrays that are joined; else they are kLoop.
//
// Parts of kernels are elementwise operations, bitcasts of elements of the same width, broadcasts,
// concatenates, constants, copies, dynamic-(update-)slices, gathers, iotas, maps, pads, reduces,
// reduce-windows, reshapes, reverses, scatters, slices, transposes; fusions that are not kCustom
// and whose outputs have no operand's memory.
//
// Not fused: the result of a computation; into a bitcast; what a scatter makes, its array, and what
// else reads that; two reductions of at least 16 elements each; into what would make a loop of a
// kernel in which warps reduce; more operands, shared memory or reductions than kernels have room
// for (shared_kernels.h); what would be emitted as more than 10000 instructions, or in which a
// concatenate, dot, dynamic-update-slice, pad, reduce or reduce-window would be emitted twice; what
// an update in place still reads (in_place_update.h), and into fusions of several outputs with one.
//
// Requires: layouts. Ensures: fusions have the outputs that they had.
// Leaves alone: control edges, side effects, what nobody reads; computations that run per element.
// Nothing gets more outputs: XLA does that here for Triton alone, whose fusions are left out, as
// are its estimates by tiles.
#pragma once

#include "passes/gpu/gpu_device.h"
#include "passes/util/option_words.h"

namespace hlo {

struct PriorityFusionOptions {
  Checked<CheckGpuDevice> device{"h100_sxm"};

  static auto Fields() { return std::tuple{Optional("device", &PriorityFusionOptions::device)}; }
};

class PriorityFusion final : public WithOptions<Pass, PriorityFusionOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

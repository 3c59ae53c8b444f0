// Lets values be bf16 where everything that reads them rounds them to it anyway.
//
//   a = f32[4,3] add(x, y)                                a = bf16[4,3] add(x, y)
//   t = f32[3,4] transpose(a), dimensions={1,0}     =>    t = bf16[3,4] transpose(a), dimensions={1,0}
//   d = f32[3,5] dot(t, z)                                d = f32[3,5] dot(t, z)
//
// The dot is one that rounds its operands, add one that takes f32 and gives bf16.
//
// Which operations round their operands, take bf16 and mix it with f32 is for the back end to say
// (options, float_support.h): by default none. A value is bf16 when it can be made so and each
// reader rounds it, or hands it on unchanged (float_support.h, KeepsPrecision) to a value that is
// bf16. What is one place in memory is one type: elements of tuples, loop states, what branches,
// calls and asynchronous computations take and return, parameters of fusions, buffers that are
// changed in place (narrow_places.h). Constants are rounded, conversions to the type that a value
// already has go.
//
// Conversions come where they cost little: of what a loop starts with, if something else reads it
// as f32; of the operands of what only hands values on; at the end of branches, bodies, callees and
// fusions that end with what gives f32. A fusion gives bf16 by itself where the back end says so of
// fusions; otherwise its result is of the type that its computation ends with. What could be bf16
// inside of a fusion only, from nowhere to nowhere, stays f32.
//
// Requires: nothing.  Ensures: `tuple-simplifier` and `dce` have run if anything changed.
// Leaves alone: parameters and result of the entry, what has side effects, custom calls (but
// AllocateBuffer), bitcasts between types, arrays in the memory of the host, operands that
// asynchronous computations get late, scans, several results of anything but collectives
// that move data, regions of anything but single operations.
#pragma once

#include "passes/pass.h"
#include "passes/precision/float_support.h"

namespace hlo {

class Bfloat16Propagation final : public WithOptions<Pass, FloatSupportOptions> {
 public:
  using WithOptions::WithOptions;
  static constexpr RuleSafety kSafety = kReassociate;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo

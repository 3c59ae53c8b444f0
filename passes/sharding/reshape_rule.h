// What the sharding of an array says of the array reshaped.
//
//   f32[8,4] {devices=[2,1]<=[2]}   as f32[32]:     {devices=[2]<=[2]}
//   f32[8,4] {devices=[2,1]<=[2]}   as f32[2,4,4]:  {devices=[2,1,1]<=[2]}
//   f32[8,4] {devices=[1,2]<=[2]}   as f32[32]:     {replicated}: no device has a run of elements
#pragma once

#include "lib/types/shape.h"
#include "passes/util/sharding_algebra.h"

namespace hlo {

// As much of `sharding`, of an array with dimensions `from`, as there is a way to say for `to`.
TiledSharding ThroughReshape(absl::Span<const int64_t> from, absl::Span<const int64_t> to,
                             const TiledSharding& sharding);

}  // namespace hlo

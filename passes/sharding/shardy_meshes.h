// The meshes that Shardy leaves at a module.
//
//   HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["a"=2, "b"=4]>}}
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "passes/sharding/shardy_text.h"

namespace hlo {

inline constexpr std::string_view kShardyMeshesKey = "xla.sdy.meshes";

// None where the module says nothing. Malformed text is an error at the entry computation.
absl::StatusOr<ShardyMeshes> ShardyMeshesOf(const Module& module);

}  // namespace hlo

// What Shardy leaves at a module as a whole, its meshes above all.
//
//   HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["a"=2, "b"=4]>}}
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "passes/sharding/shardy_text.h"

namespace hlo {

inline constexpr std::string_view kShardyMeshesKey = "xla.sdy.meshes";

// The text of an attribute of the module; "" where it has none.
std::string_view ShardyTextOf(const Module& module, std::string_view key);
// Why that text cannot be read: an error at the entry computation.
absl::Status BlameShardyText(const Module& module, std::string_view key,
                             const absl::Status& status);

// None where the module says nothing.
absl::StatusOr<ShardyMeshes> ShardyMeshesOf(const Module& module);

}  // namespace hlo

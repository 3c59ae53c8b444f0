#include "passes/sharding/shardy_meshes.h"

#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {

absl::StatusOr<ShardyMeshes> ShardyMeshesOf(const Module& module) {
  const FrontendAttributes& attributes = module.config().frontend_attributes;
  const auto it = attributes.find(kShardyMeshesKey);
  const std::string_view text = it == attributes.end() ? "" : ShardyText(it->second);
  if (text.empty()) return ShardyMeshes();
  absl::StatusOr<ShardyMeshes> meshes = ParseShardyMeshes(text);
  if (meshes.ok()) return meshes;
  return Error(module.entry()->loc(), "`{}` of the module: {}", kShardyMeshesKey,
               ToStd(meshes.status().message()));
}

}  // namespace hlo

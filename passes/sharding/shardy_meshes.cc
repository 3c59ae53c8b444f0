#include "passes/sharding/shardy_meshes.h"

#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {

std::string_view ShardyTextOf(const Module& module, std::string_view key) {
  const FrontendAttributes& attributes = module.config().frontend_attributes;
  const auto it = attributes.find(key);
  return it == attributes.end() ? "" : ShardyText(it->second);
}

absl::Status BlameShardyText(const Module& module, std::string_view key,
                             const absl::Status& status) {
  return Error(module.entry()->loc(), "`{}` of the module: {}", key, ToStd(status.message()));
}

absl::StatusOr<ShardyMeshes> ShardyMeshesOf(const Module& module) {
  const std::string_view text = ShardyTextOf(module, kShardyMeshesKey);
  if (text.empty()) return ShardyMeshes();
  absl::StatusOr<ShardyMeshes> meshes = ParseShardyMeshes(text);
  if (!meshes.ok()) return BlameShardyText(module, kShardyMeshesKey, meshes.status());
  return meshes;
}

}  // namespace hlo

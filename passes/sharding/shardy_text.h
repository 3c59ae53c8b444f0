// What Shardy says about shardings, in MLIR's text, as it stands in frontend attributes.
//
//   xla.sdy.meshes             {mesh = #sdy.mesh<["a"=2, "b"=4]>, one = #sdy.mesh<[], device_ids=[3]>}
//   xla.sdy.sharding           #sdy.sharding<@mesh, [{\"a\", ?}, {}], replicated={\"b\"}>
//   xla.sdy.in_shardings       #sdy.sharding_per_value<[<@mesh, [{\"b\"}]>, <@mesh, []>]>
//   xla.sdy.manual_axes        #sdy<manual_axes{\"a\"}>
//   xla.sdy.sharding_group_id  21 : i64
//
// Quotation marks may stand after a backslash. Errors name the character and what was expected;
// they have no place, since attributes have none.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/sharding.h"

namespace hlo {

// The value of a frontend attribute without the quotation marks around it.
std::string_view ShardyText(std::string_view value);

// By name. A mesh without axes and without a device is everybody's.
using ShardyMeshes = std::map<std::string, Mesh, std::less<>>;
absl::StatusOr<ShardyMeshes> ParseShardyMeshes(std::string_view text);

struct ShardyShardings {
  std::vector<NamedSharding> values;  // sound, but for the ranks, which the text does not know
  bool has_priorities = false;        // `{"a"}p1`
};
// One sharding, or one for each value. That the mesh has other devices than there are partitions is
// an error, too; with 1 partition nobody has said how many there are.
absl::StatusOr<ShardyShardings> ParseShardyShardings(std::string_view text,
                                                     const ShardyMeshes& meshes,
                                                     int64_t partitions);

absl::StatusOr<std::vector<std::string>> ParseShardyAxes(std::string_view text);
absl::StatusOr<int64_t> ParseShardyNumber(std::string_view text);

}  // namespace hlo

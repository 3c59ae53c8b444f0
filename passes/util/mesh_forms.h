// Shardings in terms of mesh axes: their classic form, in which they are propagated, and back.
//
//   {mesh['a'=2,'b'=4], [{'b'}, {}]}     {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}
#pragma once

#include <optional>

#include "lib/types/sharding.h"

namespace hlo {

// Of an array of `rank` dimensions.
TiledSharding ClassicForm(const NamedSharding& sharding, int64_t rank);
// The same tiles as axes of `mesh`, or parts of them; none if that is not what they are.
std::optional<NamedSharding> MeshForm(const TiledSharding& sharding, const Mesh& mesh);

}  // namespace hlo

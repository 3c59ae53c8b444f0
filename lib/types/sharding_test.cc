#include "lib/types/sharding.h"

#include <catch2/catch.hpp>

#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using enum SubgroupType;

// Written like the text: `devices=[dims]<=[reshape]T(transpose)`.
TiledSharding Iota(DimVec dims, DimVec reshape, DimVec transpose = {}) {
  TiledSharding sharding;
  sharding.kind = TiledSharding::Kind::kTiled;
  sharding.tile_dims = dims;
  sharding.iota = IotaTiles::Make(dims, reshape, transpose);
  return sharding;
}

TiledSharding List(DimVec dims, std::vector<int64_t> devices) {
  TiledSharding sharding;
  sharding.kind = TiledSharding::Kind::kTiled;
  sharding.tile_dims = dims;
  sharding.devices = devices;
  return sharding;
}

TiledSharding Groups(TiledSharding sharding, std::vector<SubgroupType> types) {
  sharding.last_tile_dims = types;
  return sharding;
}

TiledSharding Partial(TiledSharding sharding) {
  sharding.last_tile_dim_replicate = true;
  return sharding;
}

std::string CanonicalText(const TiledSharding& sharding) {
  REQUIRE(sharding.Validate().ok());
  const TiledSharding canonical = TiledSharding::Canonical(sharding);
  CHECK(TiledSharding::Canonical(canonical) == canonical);
  if (canonical.iota.has_value()) CHECK(canonical.iota->dims == canonical.tile_dims);
  return Sharding::Of(canonical).ToString();
}

TEST_CASE("classic shardings in canonical form", "[types][sharding]") {
  CHECK(CanonicalText(Iota({2, 2}, {4})) == "{devices=[2,2]<=[4]}");
  CHECK(CanonicalText(Iota({24}, {1, 24}, {1, 0})) == "{devices=[24]<=[24]}");
  CHECK(CanonicalText(Iota({2, 21}, {2, 3, 7}, {1, 2, 0})) == "{devices=[2,21]<=[2,21]T(1,0)}");
  CHECK(CanonicalText(Iota({1, 1}, {1})) == "{devices=[1,1]<=[1]}");
  CHECK(CanonicalText(List({2, 2}, {0, 2, 1, 3})) == "{devices=[2,2]0,2,1,3}");
}

TEST_CASE("replication along the last dimension", "[types][sharding]") {
  CHECK(CanonicalText(Partial(Iota({4, 1, 1}, {4}))) == "{devices=[4,1]<=[4]}");
  CHECK(CanonicalText(Partial(Iota({4}, {4}))) == "{replicated}");
  CHECK(CanonicalText(Partial(Iota({1, 4}, {4}))) == "{replicated}");
  CHECK(CanonicalText(Partial(Iota({2, 2, 2}, {8}))) ==
        "{devices=[2,2,2]<=[8] last_tile_dim_replicate}");
  CHECK(CanonicalText(Partial(List({1, 4, 2}, {7, 6, 5, 4, 3, 2, 1, 0}))) ==
        "{devices=[1,4,2]6,7,4,5,2,3,0,1 last_tile_dim_replicate}");
  CHECK(TiledSharding::Canonical(Partial(Iota({2, 2}, {4}))).data_rank() == 1);
}

TEST_CASE("subgroups are merged, sorted and simplified", "[types][sharding]") {
  CHECK(CanonicalText(Groups(Iota({2, 2, 2}, {8}), {kManual, kManual})) ==
        "{devices=[2,4]<=[8] last_tile_dims={manual}}");
  CHECK(CanonicalText(Groups(Iota({2, 2, 2}, {8}), {kReplicated, kManual})) ==
        "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}");
  CHECK(CanonicalText(Groups(Iota({2, 1, 2}, {4}), {kManual, kReplicated})) ==
        "{devices=[2,2]<=[4] last_tile_dim_replicate}");
  CHECK(CanonicalText(Groups(Iota({2, 2, 1, 2}, {8}), {kManual, kReplicated})) ==
        "{devices=[2,2,2]<=[8] last_tile_dim_replicate}");
  CHECK(CanonicalText(Groups(Iota({2, 1, 2, 2}, {2, 2, 2}, {2, 0, 1}), {kManual, kReplicated})) ==
        "{devices=[2,1,2,2]<=[4,2]T(1,0) last_tile_dims={manual, replicated}}");
  CHECK(CanonicalText(Groups(Iota({1, 4}, {4}), {kManual})) == "{manual}");
  CHECK(CanonicalText(Groups(Iota({1, 2, 2}, {4}), {kReplicated, kReplicated})) == "{replicated}");
  CHECK(CanonicalText(Groups(Iota({1, 4}, {4}), {kUnreduced})) == "{unreduced}");
  CHECK(CanonicalText(Groups(Iota({1, 4, 1}, {4}), {kManual, kReplicated})) == "{manual}");
  CHECK(CanonicalText(Groups(Iota({4, 1}, {4}), {kManual})) == "{devices=[4]<=[4]}");
  CHECK(CanonicalText(Groups(Iota({2, 2, 2}, {8}), {kUnreduced, kManual})) ==
        "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, unreduced}}");
  CHECK(CanonicalText(Groups(Iota({2, 2, 2}, {8}), {kReplicated, kUnreduced})) ==
        "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={unreduced, replicated}}");
  CHECK(CanonicalText(Groups(Iota({2, 2, 2}, {8}), {kManual, kMaximal})) ==
        "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={maximal, manual}}");
  CHECK(CanonicalText(Groups(Iota({1, 4}, {4}), {kMaximal})) ==
        "{devices=[1,4]<=[4] last_tile_dims={maximal}}");
  CHECK(CanonicalText(Groups(Iota({2, 3, 4}, {4, 6}, {1, 0}), {kReplicated, kManual})) ==
        "{devices=[2,4,3]<=[4,2,3]T(1,0,2) last_tile_dims={manual, replicated}}");
  CHECK(CanonicalText(Groups(Iota({2, 6, 2}, {6, 4}, {1, 0}), {kReplicated, kManual})) ==
        "{devices=[2,2,6]<=[3,2,2,2]T(2,1,0,3) last_tile_dims={manual, replicated}}");
  CHECK(CanonicalText(Groups(Iota({2, 2, 2}, {4, 2}, {1, 0}), {kReplicated, kManual})) ==
        "{devices=[2,2,2]<=[2,2,2]T(2,1,0) last_tile_dims={manual, replicated}}");
}

TEST_CASE("a single unreduced subgroup is recognised as written only", "[types][sharding]") {
  // As in XLA: dropping the manual dimension of size 1 leaves this form, reading it again
  // simplifies it.
  const TiledSharding once =
      TiledSharding::Canonical(Groups(Iota({1, 4, 1}, {4}), {kUnreduced, kManual}));
  CHECK(Sharding::Of(once).ToString() == "{devices=[1,4]<=[4] last_tile_dims={unreduced}}");
  CHECK(Sharding::Of(TiledSharding::Canonical(once)).ToString() == "{unreduced}");
}

TEST_CASE("lists of devices are moved and sorted where they hold copies", "[types][sharding]") {
  const std::vector<int64_t> falling = {7, 6, 5, 4, 3, 2, 1, 0};
  CHECK(CanonicalText(Groups(List({2, 2, 2}, falling), {kReplicated, kManual})) ==
        "{devices=[2,2,2]5,7,4,6,1,3,0,2 last_tile_dims={manual, replicated}}");
  CHECK(CanonicalText(Groups(List({2, 2, 2}, falling), {kManual, kReplicated})) ==
        "{devices=[2,2,2]6,7,4,5,2,3,0,1 last_tile_dims={manual, replicated}}");
  CHECK(CanonicalText(Groups(List({4, 2}, falling), {kReplicated})) ==
        "{devices=[4,2]6,7,4,5,2,3,0,1 last_tile_dim_replicate}");
  CHECK(CanonicalText(Groups(List({1, 2, 2}, {3, 2, 1, 0}), {kReplicated, kManual})) ==
        "{devices=[1,2,2]1,3,0,2 last_tile_dims={manual, replicated}}");
  // Iotas whose digits do not fit the tiles become lists.
  CHECK(CanonicalText(Groups(Iota({3, 2}, {3, 2}, {1, 0}), {kReplicated, kManual})) ==
        "{devices=[2,3]0,3,4,1,2,5 last_tile_dims={manual, replicated}}");
  CHECK(
      CanonicalText(Groups(Iota({2, 2, 3, 2}, {4, 6}, {1, 0}), {kManual, kReplicated, kManual})) ==
      "{devices=[2,4,3]0,1,12,6,7,18,2,13,14,8,19,20,3,4,15,9,10,21,5,16,17,11,22,23 "
      "last_tile_dims={manual, replicated}}");
}

TEST_CASE("unsound classic shardings are refused", "[types][sharding]") {
  const auto problem = [](const TiledSharding& sharding) {
    return std::string(sharding.Validate().message());
  };
  CHECK(problem(List({2, 2}, {0, 1, 2})) == "sharding lists 3 devices, expected 4 as the tiles");
  CHECK(problem(List({1}, {0})) ==
        "tiled sharding lists one device, expected several (or `maximal device=0`)");
  CHECK(problem(List({}, {})) == "a tiled sharding needs `devices=[…]`");
  CHECK(problem(Iota({2, 2}, {8})) == "sharding lists 8 devices, expected 4 as the tiles");
  CHECK(problem(List({2, 0}, {})) ==
        "sharding has a tile dimension of size 0, expected at least 1");
  CHECK(problem(List({INT64_MAX, 2}, {})) == "number of tiles of a sharding overflows 64 bits");
  CHECK(problem(Groups(Partial(Iota({2, 2}, {4})), {kManual})) ==
        "sharding has both `last_tile_dim_replicate` and `last_tile_dims`");
  CHECK(problem(Groups(Iota({4}, {4}), {kManual, kManual})) ==
        "sharding has 2 subgroups, but only 1 tile dimensions");
  TiledSharding manual = List({2}, {0, 1});
  manual.kind = TiledSharding::Kind::kManual;
  CHECK(problem(manual) == "`manual` sharding has a list of devices");
}

OpMetadata Named(std::string name) {
  OpMetadata metadata;
  metadata.op_name = std::move(name);
  return metadata;
}

TEST_CASE("kinds, groups, metadata and tuples print", "[types][sharding]") {
  CHECK(Sharding::Replicated().ToString() == "{replicated}");
  CHECK(Sharding::Maximal(3).ToString() == "{maximal device=3}");
  CHECK(Sharding::Manual().ToString() == "{manual}");
  TiledSharding unknown;
  unknown.kind = TiledSharding::Kind::kUnknown;
  CHECK(Sharding::Of(unknown).ToString() == "{unknown}");
  CHECK(Sharding::Tuple({}).ToString() == "{}");

  TiledSharding grouped = Iota({2}, {2});
  grouped.group_kind = ShardGroupKind::kLike;
  grouped.group_id = 5;
  grouped.metadata = {Named("a")};
  CHECK(Sharding::Of(grouped).ToString() == "{devices=[2]<=[2] shard_like 5}");
  CHECK(Sharding::Of(grouped).ToString(/*with_metadata=*/true) ==
        R"({devices=[2]<=[2] shard_like 5 metadata={op_name="a"}})");
  TiledSharding replicated;
  replicated.metadata = {Named("a"), Named("b")};
  CHECK(Sharding::Of(replicated).ToString(/*with_metadata=*/true) ==
        R"({replicated metadata={{op_name="a"}, {op_name="b"}}})");

  std::vector<Sharding::Leaf> leaves(7);
  CHECK(Sharding::Tuple(leaves).ToString() ==
        "{{replicated}, {replicated}, {replicated}, {replicated}, {replicated}, "
        "/*index=5*/{replicated}, "
        "{replicated}}");
  CHECK(Sharding::Tuple(leaves).IsReplicated());
  std::get<TiledSharding>(leaves[3]).kind = TiledSharding::Kind::kManual;
  CHECK_FALSE(Sharding::Tuple(leaves).IsReplicated());
  CHECK_FALSE(Sharding::Tuple(leaves).IsManual());
  CHECK(Sharding::Manual().IsManual());
}

TEST_CASE("the reduction of an unreduced sharding is an entry of the metadata, once",
          "[types][sharding]") {
  TiledSharding sharding;
  sharding.kind = TiledSharding::Kind::kUnreduced;
  sharding.reduction = ReductionKind::kMax;
  const char* text = R"({unreduced metadata={op_type="sdy::reduction_op" op_name="MAX"}})";
  CHECK(Sharding::Of(sharding).ToString(/*with_metadata=*/true) == text);
  CHECK(Sharding::Of(sharding).ToString() == "{unreduced}");
  OpMetadata entry = Named("MAX");
  entry.op_type = "sdy::reduction_op";
  sharding.metadata = {entry};
  CHECK(Sharding::Of(sharding).ToString(/*with_metadata=*/true) == text);
}

NamedSharding OnMesh(std::vector<MeshAxis> axes) {
  NamedSharding sharding;
  sharding.mesh.axes = std::move(axes);
  return sharding;
}

std::string TextOf(const NamedSharding& sharding) { return Sharding::Of(sharding).ToString(true); }

TEST_CASE("named shardings print", "[types][sharding]") {
  NamedSharding sharding = OnMesh({{"data", 4}, {"model", 2}});
  CHECK(TextOf(sharding) == "{replicated}");
  CHECK(sharding.IsReplicated());
  sharding.dims.resize(2);
  sharding.dims[0].axes = {AxisRef{0}};
  sharding.dims[1].axes = {AxisRef{1}};
  sharding.dims[1].open = true;
  CHECK(TextOf(sharding) == "{mesh['data'=4,'model'=2], [{'data'}, {'model', ?}]}");
  sharding.dims[0].axes.clear();
  sharding.dims[1] = {{AxisRef{0, 2, 2}}, false};
  sharding.replicated = {AxisRef{1}};
  sharding.mesh.device_iota = IotaTiles::Make({8}, {2, 4}, {1, 0});
  CHECK(TextOf(sharding) ==
        "{mesh['data'=4,'model'=2], device_ids=([2,4]T(1,0)), [{}, {'data':(2)2}], "
        "replicated={'model'}}");
  CHECK(sharding.Validate().ok());

  NamedSharding manual = OnMesh({{"a", 2}});
  manual.manual = {AxisRef{0}};
  CHECK(TextOf(manual) == "{mesh['a'=2], manual}");
  CHECK(manual.IsManual());
  manual.metadata = {Named("m")};
  CHECK(TextOf(manual) == R"({mesh['a'=2], manual, metadata={{op_name="m"}}})");

  NamedSharding reordered = OnMesh({{"a", 2}});
  reordered.mesh.device_ids = {1, 0};
  CHECK(TextOf(reordered) == "{mesh['a'=2], device_ids=(1,0), replicated}");

  NamedSharding unreduced = OnMesh({{"a", 2}, {"b", 2}});
  unreduced.unreduced = {AxisRef{0}, AxisRef{1}};
  CHECK(TextOf(unreduced) == "{unreduced}");
  unreduced.unreduced_kind = ReductionKind::kMax;
  CHECK(TextOf(unreduced) == "{unreduced=max}");
  unreduced.unreduced = {AxisRef{1}};
  unreduced.dims = {{{AxisRef{0}}, false}, {{}, true}};
  CHECK(TextOf(unreduced) == "{mesh['a'=2,'b'=2], [{'a'}, {?}], unreduced=max{'b'}}");
  unreduced.unreduced_kind = ReductionKind::kSum;
  CHECK(TextOf(unreduced) == "{mesh['a'=2,'b'=2], [{'a'}, {?}], unreduced={'b'}}");

  NamedSharding maximal;
  maximal.mesh.maximal_device = 5;
  CHECK(TextOf(maximal) == "{maximal_mesh[device_id=5]}");
  CHECK_FALSE(maximal.IsReplicated());
}

TEST_CASE("unsound named shardings are refused", "[types][sharding]") {
  NamedSharding sharding = OnMesh({{"a", 8}, {"b", 2}});
  sharding.dims.resize(2);
  sharding.dims[0].axes = {AxisRef{0, 1, 2}};
  sharding.dims[1].axes = {AxisRef{0, 2, 2}};
  CHECK(sharding.Validate().ok());  // neighbours in different dimensions are fine
  sharding.replicated = {AxisRef{1}, AxisRef{0, 4, 2}};
  CHECK(std::string(sharding.Validate().message()) ==
        "axes of `replicated` are not in the order of the mesh");
  sharding.replicated = {AxisRef{0, 4, 2}, AxisRef{1}};
  CHECK(sharding.Validate().ok());
  sharding.manual = {AxisRef{1}};
  CHECK(std::string(sharding.Validate().message()) == "`'b'` and `'b'` overlap");
}

}  // namespace
}  // namespace hlo

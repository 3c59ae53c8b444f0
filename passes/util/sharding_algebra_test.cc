#include "passes/util/sharding_algebra.h"

#include <catch2/catch.hpp>

#include "parser/parser.h"
#include "passes/sharding/reshape_rule.h"
#include "passes/sharding/sharding_merge.h"
#include "passes/util/mesh_forms.h"

namespace hlo {
namespace {

Sharding::Leaf ParsedLeaf(std::string_view text) {
  const absl::StatusOr<Sharding> sharding = ParseSharding(text);
  INFO(text);
  REQUIRE(sharding.ok());
  return sharding->leaves[0];
}
TiledSharding Tiles(std::string_view text) { return std::get<TiledSharding>(ParsedLeaf(text)); }
std::string TextOf(const TiledSharding& sharding) { return Sharding::Of(sharding).ToString(); }

TEST_CASE("dimensions are permuted, added and dropped", "[passes][sharding]") {
  struct Row {
    std::string_view from;
    DimMap map;
    int64_t rank;
    std::string_view to;
  };
  const Row rows[] = {
      {"{devices=[2,4]<=[8]}", {1, 0}, 2, "{devices=[4,2]<=[2,4]T(1,0)}"},
      {"{devices=[2,4]<=[8]}", {0, -1}, 1, "{devices=[2,4]<=[8] last_tile_dim_replicate}"},
      {"{devices=[2,4]<=[8]}", {-1, 0}, 1, "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"},
      {"{devices=[2,4]<=[8]}", {1, 2}, 3, "{devices=[1,2,4]<=[8]}"},
      {"{devices=[2,4]<=[8]}", {-1, -1}, 1, "{replicated}"},
      {"{devices=[2,1,4]<=[8] last_tile_dim_replicate}", {-1, 0}, 1, "{replicated}"},
      {"{devices=[2,2,2]<=[8] last_tile_dim_replicate}",
       {-1, 0},
       1,
       "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}"},
      {"{devices=[2,2,2]<=[8] last_tile_dims={manual}}",
       {0, -1},
       1,
       "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}"},
      {"{devices=[2,2]0,3,1,2}", {1, 0}, 2, "{devices=[2,2]0,1,3,2}"},
      {"{manual}", {-1}, 0, "{manual}"},
      {"{maximal device=1}", {-1}, 0, "{maximal device=1}"},
  };
  for (const Row& row : rows) {
    INFO(row.from);
    CHECK(TextOf(MapDims(Tiles(row.from), row.map, row.rank)) == row.to);
  }
  CHECK(InverseMap(DimMap{2, -1, 0}, 4) == DimMap{2, -1, 0, -1});
}

TEST_CASE("what is replicated, kept and reversed", "[passes][sharding]") {
  const TiledSharding tiles = Tiles("{devices=[2,4]<=[8]}");
  CHECK(TextOf(ReplicateDims(tiles, {1})) == "{devices=[2,1,4]<=[8] last_tile_dim_replicate}");
  CHECK(TextOf(ReplicateDims(tiles, {})) == "{devices=[2,4]<=[8]}");
  CHECK(TextOf(KeepDims(tiles, {1})) == "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  CHECK(TextOf(ReplicateAllDims(tiles, 3)) == "{replicated}");
  CHECK(TextOf(ReplicateAllDims(Tiles("{devices=[2,2]<=[4] last_tile_dims={manual}}"), 2)) ==
        "{devices=[1,1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}");
  CHECK(TextOf(ReverseDims(Tiles("{devices=[2,2]<=[4]}"), {0})) == "{devices=[2,2]2,3,0,1}");
  CHECK(TextOf(ReverseDims(Tiles("{devices=[2,1]<=[2]}"), {1})) == "{devices=[2,1]<=[2]}");
  CHECK(SameTiles(Tiles("{devices=[2,2]0,1,2,3}"), Tiles("{devices=[2,2]<=[4]}")));
  CHECK_FALSE(SameTiles(Tiles("{devices=[2,2]0,1,3,2}"), Tiles("{devices=[2,2]<=[4]}")));
}

TEST_CASE("what says more", "[passes][sharding]") {
  // Each says more than those before it.
  const std::string_view rising[] = {"{replicated}", "{maximal device=0}",
                                     "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
                                     "{devices=[4,1]<=[4]}"};
  for (size_t i = 0; i < std::size(rising); ++i) {
    for (size_t j = 0; j < std::size(rising); ++j) {
      INFO(rising[i] << " " << rising[j]);
      CHECK(IsMoreSpecific(Tiles(rising[i]), Tiles(rising[j])) == (i > j));
    }
  }
  CHECK(IsMoreSpecific(Tiles("{manual}"), Tiles("{replicated}")));
  CHECK_FALSE(IsMoreSpecific(Tiles("{manual}"), Tiles("{devices=[2]<=[2]}")));
  CHECK_FALSE(IsMoreSpecific(Tiles("{devices=[2]<=[2]}"), Tiles("{manual}")));
}

TEST_CASE("merges refine both", "[passes][sharding]") {
  const auto merged = [](std::string_view a, std::string_view b) {
    TiledSharding into = Tiles(b);
    return MergeIfCompatible(Tiles(a), into) ? TextOf(into) : "no";
  };
  const std::string_view rows = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}";
  CHECK(merged(rows, "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}") ==
        "{devices=[2,2]<=[4]}");
  CHECK(merged(rows, "{devices=[1,2,2]<=[4] last_tile_dim_replicate}") == "no");
  CHECK(merged(rows, rows) == "no");
  CHECK(merged(rows, "{replicated}") == rows);
  CHECK(merged("{replicated}", rows) == "no");
  CHECK(merged("{devices=[4,1]<=[4]}", rows) == "no");  // 4 and 2 tiles of one dimension
  CHECK(merged("{devices=[2,2]<=[4]}", rows) == "{devices=[2,2]<=[4]}");
  CHECK(merged("{devices=[2,2]0,1,2,3}", "{devices=[2,2]<=[4]}") == "no");
  CHECK(merged("{devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}",
               "{devices=[2,1,2]0,3,1,2 last_tile_dim_replicate}") == "{devices=[2,2]0,3,2,1}");
  CHECK(merged("{devices=[2,1,2,2]<=[8] last_tile_dims={manual,replicated}}",
               "{devices=[1,2,2,2]<=[2,2,2]T(2,1,0) last_tile_dims={manual,replicated}}") ==
        "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual}}");
}

TEST_CASE("tiles within tiles", "[passes][sharding]") {
  const Shape shape = Shape::Array(ElementType::kF32, {8, 4});
  const auto refines = [&](std::string_view fine, std::string_view coarse) {
    return RefinesTiles(shape, Tiles(fine), Tiles(coarse));
  };
  CHECK(refines("{devices=[4,1]<=[4]}", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"));
  CHECK_FALSE(refines("{devices=[4,1]0,2,1,3}", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"));
  CHECK_FALSE(refines("{devices=[1,4]<=[4]}", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"));
  CHECK(refines("{devices=[2,2]<=[4]}", "{replicated}"));
  CHECK_FALSE(refines("{replicated}", "{devices=[2,2]<=[4]}"));
}

TEST_CASE("through reshapes", "[passes][sharding]") {
  const auto through = [](DimVec from, DimVec to, std::string_view sharding) {
    return TextOf(ThroughReshape(from, to, Tiles(sharding)));
  };
  CHECK(through({8, 4}, {32}, "{devices=[2,1]<=[2]}") == "{devices=[2]<=[2]}");
  CHECK(through({8, 4}, {32}, "{devices=[1,2]<=[2]}") == "{replicated}");
  CHECK(through({8, 4}, {32}, "{devices=[2,2]<=[4]}") ==
        "{devices=[2,2]<=[4] last_tile_dim_replicate}");
  CHECK(through({8, 4}, {2, 4, 4}, "{devices=[4,1]<=[4]}") == "{devices=[2,2,1]<=[4]}");
  CHECK(through({8, 4}, {8, 1, 2, 2}, "{devices=[2,4]<=[8]}") == "{devices=[2,1,2,2]<=[8]}");
  CHECK(through({6, 4}, {4, 6}, "{devices=[6,1]<=[6]}") ==
        "{devices=[2,1,3]<=[6] last_tile_dim_replicate}");
  CHECK(through({8, 4}, {4, 2, 4}, "{devices=[2,1,2]<=[4] last_tile_dims={manual}}") ==
        "{devices=[2,1,1,2]<=[4] last_tile_dims={manual}}");
  CHECK(through({0, 4}, {4, 0}, "{devices=[2,1]<=[2]}") == "{devices=[2,1]<=[2]}");
}

TEST_CASE("mesh axes as tiles", "[passes][sharding]") {
  const auto classic = [](std::string_view text, int64_t rank) {
    return TextOf(ClassicForm(std::get<NamedSharding>(ParsedLeaf(text)), rank));
  };
  // All of these are found again.
  for (const std::string_view text :
       {"{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}", "{mesh['a'=2,'b'=4], [{'b'}, {}]}",
        "{mesh['a'=2,'b'=4], [{'b', 'a'}]}", "{mesh['a'=2,'b'=4], [{'b':(1)2}, {'a'}]}",
        "{mesh['a'=2,'b'=4], [{'a'}, {}], manual={'b'}}"}) {
    const auto named = std::get<NamedSharding>(ParsedLeaf(text));
    const auto again =
        MeshForm(ClassicForm(named, static_cast<int64_t>(named.dims.size())), named.mesh);
    INFO(text);
    REQUIRE(again.has_value());
    CHECK(Sharding::Of(*again).ToString() == text);
  }
  CHECK_FALSE(MeshForm(Tiles("{devices=[3,2]<=[2,3]T(1,0)}"),
                       std::get<NamedSharding>(ParsedLeaf("{mesh['a'=3,'b'=2], [{'a'}, {}]}")).mesh)
                  .has_value());
  CHECK(classic("{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}", 2) == "{devices=[2,4]<=[8]}");
  CHECK(classic("{mesh['a'=2,'b'=4], [{'b'}, {}]}", 2) ==
        "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  CHECK(classic("{mesh['a'=2,'b'=4], [{'b', 'a'}]}", 1) == "{devices=[8]<=[2,4]T(1,0)}");
  CHECK(classic("{mesh['a'=2,'b'=4], [{'b':(1)2}, {'a'}]}", 2) ==
        "{devices=[2,2,2]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}");
  CHECK(classic("{mesh['a'=2,'b'=4], [{'a'}, {}], manual={'b'}}", 2) ==
        "{devices=[2,1,4]<=[8] last_tile_dims={manual}}");
}

}  // namespace
}  // namespace hlo

#include "lib/types/shape_util.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace hlo {
namespace {

Shape F32Array(std::vector<int64_t> dims) { return Shape::Array(ElementType::kF32, dims); }
Shape F32Array(std::vector<int64_t> dims, std::vector<int64_t> minor_to_major) {
  return F32Array(dims).WithLayout(Layout::FromMinorToMajor(minor_to_major));
}

TEST_CASE("trees of shapes are walked in order", "[types][shape-util]") {
  const Shape inner = Shape::Tuple({F32Array({1}), Shape::Token()});
  const Shape shape = Shape::Tuple({F32Array({2}), inner, Shape::Tuple({})});
  std::string all, leaves;
  ForEachSubShape(shape, [&](Shape, const ShapeIndex& index) { all += ToString(index); });
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex& index) {
    leaves += ToString(index) + leaf.ToString();
  });
  CHECK(all == "{}{0}{1}{1,0}{1,1}{2}");
  CHECK(leaves == "{0}f32[2]{0}{1,0}f32[1]{0}{1,1}token[]");
  CHECK(LeafCount(shape) == 3);
  CHECK(SubShape(shape, {1, 1}) == Shape::Token());
  CHECK(IndexIsValid(shape, {1, 1}));
  CHECK_FALSE(IndexIsValid(shape, {1, 2}));
  CHECK_FALSE(IndexIsValid(shape, {0, 0}));
  CHECK_FALSE(IndexIsValid(shape, {-1}));
}

TEST_CASE("linear and multi indices are inverse", "[types][shape-util]") {
  const DimVec dims = {2, 3, 4};
  DimVec index(3, 0);
  int64_t linear = 0;
  do {
    CHECK(LinearIndex(index, dims) == linear);
    CHECK(MultiIndex(linear, dims) == index);
    ++linear;
  } while (NextIndex(absl::MakeSpan(index), dims));
  CHECK(linear == 24);
  CHECK(RowMajorStrides(dims) == DimVec{12, 4, 1});
  CHECK(LayoutStrides(F32Array({2, 3, 4}, {0, 2, 1})) == DimVec{1, 8, 2});
}

TEST_CASE("products tell overflow", "[types][shape-util]") {
  CHECK(Product({2, 3, 4}) == 24);
  CHECK(Product({}) == 1);
  CHECK(CheckedProduct({int64_t{1} << 40, int64_t{1} << 22}) == int64_t{1} << 62);
  CHECK_FALSE(CheckedProduct({int64_t{1} << 40, int64_t{1} << 23}).has_value());
  CHECK(CheckedProduct({int64_t{1} << 40, int64_t{1} << 40, 0}) == 0);
}

TEST_CASE("permutations", "[types][shape-util]") {
  CHECK(IsPermutation({2, 0, 1}, 3));
  CHECK(IsPermutation({}, 0));
  CHECK_FALSE(IsPermutation({2, 0}, 3));
  CHECK_FALSE(IsPermutation({0, 0}, 2));
  CHECK_FALSE(IsPermutation({0, 2}, 2));
  CHECK(InversePermutation({2, 0, 1}) == DimVec{1, 2, 0});
  CHECK(Permute({5, 6, 7}, {2, 0, 1}) == DimVec{7, 5, 6});
}

// The place in memory of every element, in logical row-major order.
std::vector<int64_t> Places(Shape shape) {
  const DimVec strides = LayoutStrides(shape);
  std::vector<int64_t> places;
  DimVec index(shape.rank(), 0);
  do {
    places.push_back(std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0}));
  } while (NextIndex(absl::MakeSpan(index), shape.dims()));
  return places;
}

TEST_CASE("reshape is a bitcast exactly if every element stays in place", "[types][shape-util]") {
  const std::vector<std::vector<int64_t>> all_dims = {
      {24},    {2, 12}, {12, 2},   {4, 6}, {2, 3, 4}, {4, 3, 2}, {2, 2, 6},
      {1, 24}, {24, 1}, {3, 1, 8}, {6, 4}, {8, 3},    {2, 1, 12}};
  std::vector<Shape> shapes;
  for (const auto& dims : all_dims) {
    std::vector<int64_t> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      shapes.push_back(F32Array(dims, order));
    } while (std::next_permutation(order.begin(), order.end()));
  }
  int bitcasts = 0;
  for (const Shape from : shapes) {
    for (const Shape to : shapes) {
      CAPTURE(from.ToString(), to.ToString());
      const bool expected = Places(from) == Places(to);
      CHECK(ReshapeIsBitcast(from, to) == expected);
      bitcasts += expected;
    }
  }
  CHECK(bitcasts > 100);
  CHECK_FALSE(ReshapeIsBitcast(F32Array({2}), Shape::Array(ElementType::kS32, {2})));
  Layout tiled = Layout::RowMajor(2);
  tiled.tiles = {Tile{{2, 2}}};
  CHECK(ReshapeIsBitcast(F32Array({4, 4}).WithLayout(tiled), F32Array({4, 4}).WithLayout(tiled)));
  CHECK_FALSE(
      ReshapeIsBitcast(F32Array({4, 4}).WithLayout(tiled), F32Array({2, 8}).WithLayout(tiled)));
  CHECK_FALSE(ReshapeIsBitcast(F32Array({4, 4}).WithLayout(tiled), F32Array({4, 4})));
}

TEST_CASE("transpose is a bitcast if the layout undoes it", "[types][shape-util]") {
  CHECK(TransposeIsBitcast(F32Array({2, 3}), F32Array({3, 2}, {0, 1}), {1, 0}));
  CHECK_FALSE(TransposeIsBitcast(F32Array({2, 3}), F32Array({3, 2}), {1, 0}));
  CHECK(TransposeIsBitcast(F32Array({2, 3, 4}), F32Array({4, 2, 3}, {0, 2, 1}), {2, 0, 1}));
  CHECK_FALSE(TransposeIsBitcast(F32Array({2, 3, 4}), F32Array({4, 2, 3}, {0, 1, 2}), {2, 0, 1}));
  CHECK(TransposeIsBitcast(F32Array({1, 3}), F32Array({3, 1}), {1, 0}));
  CHECK(TransposeIsBitcast(F32Array({2, 3}), F32Array({2, 3}), {0, 1}));
}

TEST_CASE("common factors split shapes into groups of equal size", "[types][shape-util]") {
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  CHECK(CommonFactors({2, 3}, {2, 3}) == Pairs{{0, 0}, {1, 1}, {2, 2}});
  CHECK(CommonFactors({4, 6}, {2, 2, 6}) == Pairs{{0, 0}, {1, 2}, {2, 3}});
  CHECK(CommonFactors({2, 12}, {24}) == Pairs{{0, 0}, {2, 1}});
  CHECK(CommonFactors({2, 3, 4}, {6, 4}) == Pairs{{0, 0}, {2, 1}, {3, 2}});
  CHECK(CommonFactors({4}, {4, 1}) == Pairs{{0, 0}, {1, 1}, {1, 2}});
  CHECK(CommonFactors({1, 4}, {4}) == Pairs{{0, 0}, {1, 0}, {2, 1}});
  CHECK(CommonFactors({}, {}) == Pairs{{0, 0}});
  CHECK(CommonFactors({}, {1, 1}) == Pairs{{0, 0}, {0, 1}, {0, 2}});
  CHECK(CommonFactors({2, 0}, {0}) == Pairs{{0, 0}, {2, 1}});
  CHECK(CommonFactors({2, 0, 3}, {2, 7, 0}) == Pairs{{0, 0}, {1, 1}, {3, 3}});
}

std::string Problem(Shape shape) { return std::string(ValidateShape(shape).message()); }

TEST_CASE("unsound shapes are named", "[types][shape-util]") {
  CHECK(ValidateShape(F32Array({2, 0, 3})).ok());
  CHECK(ValidateShape(Shape::Tuple({Shape::Token(), Shape::Buffer(F32Array({2}))})).ok());
  CHECK(ValidateShape(F32Array({Shape::kUnbounded})).ok());
  CHECK(Problem(F32Array({2, -3})) == "dimension 1 of `f32[2,-3]` is negative");
  CHECK(Problem(Shape::Tuple({F32Array({int64_t{1} << 61})})) ==
        "`f32[2305843009213693952]` has more than 2^63 - 1 bytes");
  CHECK(Problem(F32Array({2, 3}, {1, 1})) ==
        "layout of `f32[2,3]{1,1}` is not a permutation of the dimensions");
  CHECK(Problem(F32Array({2, 3}, {0})) ==
        "layout of `f32[2,3]{0}` orders 1 dimensions, but the rank is 2");
  Layout layout = Layout::RowMajor(2);
  layout.tiles = {Tile{}};
  CHECK(Problem(F32Array({4, 6}).WithLayout(layout)) ==
        "layout of `f32[4,6]{1,0:T()}` has an empty tile");
  layout.tiles = {Tile{{Tile::kCombine, 0}}};
  CHECK(Problem(F32Array({4, 6}).WithLayout(layout)) ==
        "layout of `f32[4,6]{1,0:T(*,0)}` has a tile of size 0, expected a positive one");
  layout.tiles.clear();
  layout.split_configs = {SplitConfig{0, {2}}, SplitConfig{1, {3, 4}}};
  CHECK(ValidateShape(F32Array({4, 6}).WithLayout(layout)).ok());
  layout.split_configs = {SplitConfig{0, {2, 4}}};
  CHECK(Problem(F32Array({4, 6}).WithLayout(layout)) ==
        "layout of `f32[4,6]{1,0:SC(0:2,4)}` splits dimension 0 of size 4 at 4, expected rising "
        "indices inside it");
  layout.split_configs = {SplitConfig{2, {1}}};
  CHECK_FALSE(ValidateShape(F32Array({4, 6}).WithLayout(layout)).ok());
  CHECK(Problem(Shape::Buffer(Shape::Token())) ==
        "`b(token[])` is a buffer of `token[]`, expected an array");
}

}  // namespace
}  // namespace hlo

#include "lib/types/memory_order.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

Shape LaidOut(std::vector<int64_t> dims, std::vector<int64_t> minor_to_major) {
  return Shape::Array(ElementType::kF32, dims).WithLayout(Layout::FromMinorToMajor(minor_to_major));
}

TEST_CASE("the dimensions of memory are those of the layout, major first",
          "[types][memory-order]") {
  CHECK(MajorToMinor(LaidOut({2, 3, 4}, {0, 2, 1})) == DimVec{1, 2, 0});
  CHECK(MajorToMinor(LaidOut({2, 3}, {1, 0})) == DimVec{0, 1});
  CHECK(MajorToMinor(Shape::Array(ElementType::kF32, {2, 3}).WithoutLayout()) == DimVec{0, 1});
  CHECK(MajorToMinor(Shape::Scalar(ElementType::kF32)).empty());
}

TEST_CASE("an array in memory order has the same bytes row-major", "[types][memory-order]") {
  CHECK(InMemoryOrder(LaidOut({2, 3, 4}, {0, 2, 1})) == LaidOut({3, 4, 2}, {2, 1, 0}));

  // What else a layout says is about the bytes, a dynamic dimension goes along.
  Layout layout = Layout::FromMinorToMajor({0, 1});
  layout.memory_space = 5;
  layout.tiles = {Tile{{8, 128}}};
  const Shape special =
      Shape::Array(ElementType::kF32, {2, 3}).WithLayout(layout).WithDynamic(0, true);
  CHECK(InMemoryOrder(special).ToString() == "f32[3,<=2]{1,0:T(8,128)S(5)}");
}

TEST_CASE("only the order of dimensions may differ", "[types][memory-order]") {
  const Shape shape = LaidOut({2, 3}, {0, 1});
  CHECK(DifferInOrderOnly(shape, LaidOut({2, 3}, {1, 0})));
  CHECK(DifferInOrderOnly(shape, Shape::Array(ElementType::kF32, {2, 3}).WithoutLayout()));
  Layout elsewhere = shape.layout();
  elsewhere.memory_space = 1;
  CHECK_FALSE(DifferInOrderOnly(shape, shape.WithLayout(elsewhere)));
}

}  // namespace
}  // namespace hlo

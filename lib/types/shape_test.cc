#include "lib/types/shape.h"

#include <catch2/catch.hpp>
#include <thread>

#include "lib/types/shape_util.h"

namespace hlo {
namespace {

Shape F32(std::vector<int64_t> dims) { return Shape::Array(ElementType::kF32, dims); }

TEST_CASE("shapes print as XLA prints them", "[types][shape]") {
  CHECK(Shape().ToString() == "()");
  CHECK(F32({}).ToString() == "f32[]");
  CHECK(F32({2, 3}).ToString() == "f32[2,3]{1,0}");
  CHECK(F32({2, 3}).ToString(/*with_layout=*/false) == "f32[2,3]");
  CHECK(Shape::Token().ToString() == "token[]");
  CHECK(Shape::Opaque().ToString() == "opaque[]");
  CHECK(Shape::Buffer(F32({8})).ToString() == "b(f32[8]{0})");
  CHECK(Shape::Buffer(F32({8})).ToString(/*with_layout=*/false) == "b(f32[8])");
  CHECK(
      Shape::Array(ElementType::kF32, {4, Shape::kUnbounded, 3}, {true, false, false}).ToString() ==
      "f32[<=4,?,3]{2,1,0}");
  const Shape scalar = F32({});
  CHECK(Shape::Tuple({scalar, scalar, scalar, scalar, scalar, scalar, scalar}).ToString() ==
        "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[], f32[])");
  CHECK(Shape::Tuple({F32({2}), Shape::Tuple({Shape::Token()})}).ToString() ==
        "(f32[2]{0}, (token[]))");
  Layout layout;
  layout.memory_space = 5;
  CHECK(scalar.WithLayout(layout).ToString() == "f32[]{:S(5)}");
  CHECK(fmt::format("{} {:l}", F32({7}), F32({7})) == "f32[7] f32[7]{0}");
  std::string out = "x";
  F32({1}).AppendTo(out);
  CHECK(out == "xf32[1]{0}");
}

TEST_CASE("equal shapes are one node", "[types][shape]") {
  CHECK(sizeof(Shape) == 8);
  CHECK(F32({2, 3}) == F32({2, 3}));
  CHECK(F32({2, 3}) != F32({3, 2}));
  CHECK(F32({2}).Hash() == F32({2}).Hash());
  CHECK(F32({2}).Text().data() == F32({2}).Text().data());
  CHECK(F32({2}) != Shape::Array(ElementType::kF32, {2}, {true}));
  CHECK(F32({2}) != F32({2}).WithoutLayout());
  CHECK(Shape::Tuple({F32({2})}) != F32({2}));
  CHECK(Shape::Tuple({F32({2})}) != Shape::Buffer(F32({2})));
  CHECK(Shape::Tuple({}) == Shape());
  // The hash does not depend on the process.
  CHECK(F32({2, 3}).Hash() == 0x3ecf69764ef55a50);
}

TEST_CASE("threads that make the same shapes get the same nodes", "[types][shape]") {
  std::vector<std::vector<Shape>> made(4);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 2000; ++i) {
        mine.push_back(Shape::Tuple({F32({i, 17}), F32({i})}));
        mine.back().WithoutLayout();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : made) CHECK(mine == made[0]);
}

TEST_CASE("counts and sizes of arrays", "[types][shape]") {
  CHECK(F32({}).element_count() == 1);
  CHECK(F32({2, 3}).byte_size() == 24);
  CHECK(F32({2, 0}).IsZeroSized());
  CHECK(F32({1, 1}).IsEffectiveScalar());
  CHECK_FALSE(F32({1, 1}).IsScalar());
  CHECK(F32({}).IsScalarOf(ElementType::kF32));
  CHECK(Shape::Array(ElementType::kS4, {5}).byte_size() == 5);
  CHECK(F32({INT64_MAX, INT64_MAX}).element_count() == INT64_MAX);
  const Shape unbounded = F32({Shape::kUnbounded, 2});
  CHECK(unbounded.is_dynamic(0));
  CHECK(unbounded.element_count() == 0);
  CHECK_FALSE(unbounded.IsZeroSized());
  CHECK(Shape::Tuple({F32({2}), unbounded}).has_dynamic_dims());
  CHECK_FALSE(F32({2}).has_dynamic_dims());
}

TEST_CASE("changing one thing keeps the others", "[types][shape]") {
  Layout column = Layout::FromMinorToMajor({0, 1});
  column.memory_space = 1;
  const Shape shape = F32({2, 3}).WithLayout(column).WithDynamic(1, true);
  CHECK(shape.ToString() == "f32[2,<=3]{0,1:S(1)}");
  CHECK(shape.WithElementType(ElementType::kBF16).ToString() == "bf16[2,<=3]{0,1:S(1)}");
  CHECK(shape.WithDim(0, 9).ToString() == "f32[9,<=3]{0,1:S(1)}");
  CHECK(shape.WithSizes({4, 5}).ToString() == "f32[4,<=5]{0,1:S(1)}");
  CHECK(shape.WithDimensions({4, 5}).ToString() == "f32[4,5]{1,0}");
  CHECK(shape.WithoutDynamic().ToString() == "f32[2,3]{0,1:S(1)}");
  CHECK(shape.WithDynamic(1, false) == shape.WithoutDynamic());
  CHECK(shape.WithoutLayout().ToString() == "f32[2,<=3]");
  CHECK_FALSE(shape.WithoutLayout().has_layout());
  CHECK(shape.WithoutLayout().WithMissingLayoutsFilled().ToString() == "f32[2,<=3]{1,0}");
  CHECK(shape.WithMissingLayoutsFilled() == shape);
  CHECK(shape.WithDefaultLayout().ToString() == "f32[2,<=3]{1,0}");
  const Shape tuple = Shape::Tuple({shape, Shape::Buffer(shape)});
  CHECK(tuple.WithoutLayout().ToString() == "(f32[2,<=3], b(f32[2,<=3]))");
  CHECK(tuple.WithElement(1, Shape::Token()).ToString() == "(f32[2,<=3]{0,1:S(1)}, token[])");
  CHECK(tuple.WithoutDynamic().ToString() == "(f32[2,3]{0,1:S(1)}, b(f32[2,3]{0,1:S(1)}))");
}

TEST_CASE("a packed size goes with its type", "[types][shape]") {
  Layout packed = Layout::RowMajor(1);
  packed.element_size_in_bits = 4;
  const Shape shape = Shape::Array(ElementType::kS4, {8}).WithLayout(packed);
  CHECK(shape.ToString() == "s4[8]{0:E(4)}");
  CHECK(shape.WithElementType(ElementType::kU4).ToString() == "u4[8]{0:E(4)}");
  CHECK(shape.WithElementType(ElementType::kS8).ToString() == "s8[8]{0}");
}

TEST_CASE("kinds of compatibility", "[types][shape]") {
  const Shape column = F32({2, 3}).WithLayout(Layout::FromMinorToMajor({0, 1}));
  CHECK(Compatible(F32({2, 3}), column));
  CHECK(Compatible(Shape::Tuple({column}), Shape::Tuple({F32({2, 3})})));
  CHECK_FALSE(Compatible(F32({2}), F32({3})));
  CHECK(SameDimensions(column, Shape::Array(ElementType::kS32, {2, 3})));
  CHECK_FALSE(SameDimensions(Shape::Tuple({}), Shape::Tuple({})));
  CHECK(CompatibleIgnoringDynamic(F32({4, 3}), F32({9, 3}).WithDynamic(0, true)));
  CHECK_FALSE(CompatibleIgnoringDynamic(F32({4, 3}), F32({9, 2}).WithDynamic(0, true)));
}

}  // namespace
}  // namespace hlo

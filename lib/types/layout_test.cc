#include "lib/types/layout.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

TEST_CASE("only what is not the default is printed, in the fixed order", "[types][layout]") {
  CHECK(Layout::RowMajor(0).ToString() == "{}");
  CHECK(Layout::RowMajor(3).ToString() == "{2,1,0}");
  Layout layout = Layout::FromMinorToMajor({0, 1});
  CHECK(layout.ToString() == "{0,1}");
  layout.tiles = {Tile{{2, Tile::kCombine}}, Tile{{4}}};
  layout.tail_padding_alignment = 4;
  layout.memory_space = 1;
  layout.split_configs = {SplitConfig{0, {2, 4}}, SplitConfig{1, {3}}};
  layout.dynamic_shape_metadata_prefix_bytes = 32;
  CHECK(layout.ToString() == "{0,1:T(2,*)(4)L(4)S(1)SC(0:2,4)(1:3)M(32)}");
  layout.element_size_in_bits = 4;
  layout.index_type = ElementType::kU32;
  layout.pointer_type = ElementType::kF32;
  CHECK(layout.ToString() == "{0,1:T(2,*)(4)L(4)#(u32)*(invalid)E(4)S(1)SC(0:2,4)(1:3)M(32)}");
}

TEST_CASE("row-major is recognised by the order alone", "[types][layout]") {
  Layout layout = Layout::RowMajor(2);
  layout.memory_space = 5;
  CHECK(layout.IsRowMajor());
  CHECK(layout.HasProperties());
  CHECK_FALSE(Layout::FromMinorToMajor({0, 1}).IsRowMajor());
  CHECK_FALSE(Layout::RowMajor(4).HasProperties());
}

TEST_CASE("each property is part of equality and hash", "[types][layout]") {
  const Layout plain = Layout::RowMajor(2);
  std::vector<Layout> changed(8, plain);
  changed[0].minor_to_major = {0, 1};
  changed[1].tiles = {Tile{{2}}};
  changed[2].split_configs = {SplitConfig{0, {1}}};
  changed[3].tail_padding_alignment = 2;
  changed[4].element_size_in_bits = 4;
  changed[5].memory_space = 1;
  changed[6].dynamic_shape_metadata_prefix_bytes = 8;
  changed[7].index_type = ElementType::kU8;
  for (const Layout& layout : changed) {
    CAPTURE(layout.ToString());
    CHECK_FALSE(layout == plain);
    CHECK(layout.Hash() != plain.Hash());
  }
  CHECK(plain.Hash() == Layout::FromMinorToMajor({1, 0}).Hash());
}

}  // namespace
}  // namespace hlo

// Shapes, layouts, literals, shardings, device lists and the other values, one by one.
#include <catch2/catch.hpp>

#include "lib/ops/attr_print.h"
#include "parser/parser_test.h"

namespace hlo {
namespace {

std::string ShapeBack(std::string_view text) {
  const auto shape = ParseShape(text);
  return shape.ok() ? shape->ToString() : MessageOf(shape);
}

TEST_CASE("shapes of every form print back", "[parser][shape]") {
  for (const char* text : {"f32[]",
                           "pred[3]{0}",
                           "f32[2,3]{1,0}",
                           "f32[2,3]{0,1}",
                           "s4[64]{0:E(4)}",
                           "bf16[8,128]{1,0:T(8,128)(2,1)}",
                           "f32[<=4,3]{1,0}",
                           "f32[?,3]{1,0}",
                           "token[]",
                           "opaque[]",
                           "()",
                           "(f32[], (s32[2]{0}, token[]))",
                           "b(f32[8]{0})",
                           "f32[]{:S(5)}",
                           "f32[3,5,7]{2,1,0:T(2,*,128)}",
                           "f32[4,6]{1,0:T(2,128)S(1)SC(0:2)(1:3,4)}",
                           "f32[16]{0:L(8)M(64)}",
                           "u32[]{:T(128)S(6)}",
                           "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])",
                           "f8e4m3b11fnuz[2]{0}",
                           "c128[1]{0}"}) {
    CHECK(ShapeBack(text) == text);
  }
}

TEST_CASE("shapes in other words", "[parser][shape]") {
  CHECK(ShapeBack("f32[ 2, 3 ] {1 , 0}") == "f32[2,3]{1,0}");
  CHECK(ShapeBack("f32[2,3]") == "f32[2,3]{1,0}");
  CHECK(ShapeBack("f32[2]{0:}") == "f32[2]{0}");
  CHECK(ShapeBack("f32[2]{0:D(C+~)}") == "f32[2]{0}");
  CHECK(ShapeBack("f32/*x*/[2]") == "f32[2]{0}");
  ParserOptions bare;
  bare.fill_missing_layouts = false;
  CHECK(ParseShape("(f32[2,3], f32[2]{0}, s32[])", bare)->ToString() ==
        "(f32[2,3], f32[2]{0}, s32[])");
}

TEST_CASE("wrong shapes are refused with a reason", "[parser][shape]") {
  CHECK(ShapeBack("s3[]") == "expected a shape, found `s3`, which is no element type");
  CHECK(ShapeBack("f32[-1]") == "a dimension of size -1, expected 0 to 2^63 - 1");
  CHECK(ShapeBack("f32[2}") == "expected `,` or `]` in a shape, found `}`");
  CHECK(ShapeBack("f32[2]{1,0}") == "the layout orders 2 dimensions, but the shape has 1");
  CHECK(ShapeBack("f32[2,2]{1,1}") ==
        "layout of `f32[2,2]{1,1}` is not a permutation of the dimensions");
  CHECK(ShapeBack("f32[2]{0:T(0)}") == "a tile of size 0, expected a positive one");
  CHECK(ShapeBack("f32[2]{0:S(1)T(8)}") ==
        "expected `}`, or layout properties in the order `D`, `T`, `L`, `#`, `*`, `E`, `S`, `SC`, "
        "`M`, found `T`");
  CHECK(ShapeBack("f32[2]{}") == "expected the end of the text, found `{`");
  CHECK(ShapeBack("token[2]") == "`token` has no dimensions");
  CHECK(ShapeBack("b((f32[]))") == "a buffer holds an array, not `(f32[])`");
  CHECK(ShapeBack("(f32[],)") == "expected a shape, found `)`");
}

std::string LiteralBack(std::string_view text) {
  const auto literal = ParseLiteralWithShape(text);
  return literal.ok() ? literal->ToString() : MessageOf(literal);
}

TEST_CASE("literals print back", "[parser][literal]") {
  CHECK(LiteralBack("f32[] 1.5") == "1.5");
  CHECK(LiteralBack("f32[3] {1, -0.0, nan}") == "{1, -0, nan}");
  CHECK(LiteralBack("f32[2,2] {{1,2},{3,4}}") == "{ { 1, 2 }, { 3, 4 } }");
  CHECK(LiteralBack("s32[1,2,1,2] { { { {1, 2} }, { {3, 4} } } }") ==
        "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 } }, { /*i1=1*/ { 3, 4 } } } }");
  CHECK(LiteralBack("pred[3] {true, 0, 1}") == "{1, 0, 1}");
  CHECK(LiteralBack("c64[2] {(1, 2), (inf, -0.5)}") == "{(1, 2), (inf, -0.5)}");
  CHECK(LiteralBack("(f32[], s32[2], ()) (1, {2, 3}, ())") == "( 1, {2, 3}, (  ) )");
  CHECK(LiteralBack("f32[2,0] {{},{}}") == "{ {}, {} }");
  CHECK(LiteralBack("s32[2] {1 2}") == "{1, 2}");
  CHECK(LiteralBack("f32[4] {-inf, inf, nan(0x7), -nan}") == "{-inf, inf, nan(0x7), -nan}");
  CHECK(LiteralBack("u64[] 18446744073709551615") == "18446744073709551615");
  CHECK(LiteralBack("f64[] 1e-400") == "0");
  CHECK(LiteralBack("f16[] 65519") == "65504");
  CHECK(LiteralBack("f32[2] {...}") == "{...}");
  CHECK(LiteralBack("f32[<=2] {1, 2}") == "{1, 2}");
}

TEST_CASE("wrong literals are refused with a reason", "[parser][literal]") {
  CHECK(LiteralBack("s8[] 128") == "`128` is out of range for s8, expected -128 to 127");
  CHECK(LiteralBack("s32[] 1.5") == "expected an integer for type s32");
  CHECK(LiteralBack("s32[] true") == "`true` in a constant of type s32");
  CHECK(LiteralBack("f16[] 65520") == "`65520` is out of range for f16");
  CHECK(LiteralBack("f32[] 1e39") == "`1e39` is out of range for f32");
  CHECK(LiteralBack("f64[] 1e999") == "this number is out of range for a 64-bit float");
  CHECK(LiteralBack("f32[2] {1}") ==
        "the minor-most dimension of `f32[2]` has 1 elements here, expected 2");
  CHECK(LiteralBack("f32[2] {1, 2, 3}") ==
        "the minor-most dimension of `f32[2]` has more than 2 elements here");
  CHECK(LiteralBack("f32[2,1] {{1}}") == "dimension 0 of `f32[2,1]` has 1 items here, expected 2");
  CHECK(LiteralBack("f32[2] 5") == "expected `{` of dimension 0 of `f32[2]`, found `5`");
  CHECK(LiteralBack("f32[] {1}") == "expected a value, found `{`");
  CHECK(LiteralBack("f32[] 1x2") == "`1x2` is no number");
  CHECK(LiteralBack("f32[] .5") == "expected a value, found `.`");
  CHECK(LiteralBack("f16[] nan(0x400)") ==
        "NaN payload 0x400 is out of range for f16, expected at most 0x3ff");
  CHECK(LiteralBack("f8e4m3fn[] nan(0x1)") == "NaNs of type f8e4m3fn have no payload");
  CHECK(LiteralBack("f32[] nan(0x0)") ==
        "a malformed NaN payload, expected `(0x1)` to `(0xfffffffffffff)`");
  CHECK(LiteralBack("token[] 1") == "a constant of shape `token[]` has no text");
  CHECK(LiteralBack("f32[?] {1}") == "a constant of shape `f32[?]`, whose size is unbounded");
  CHECK(LiteralBack("(f32[], f32[]) (1)") == "expected `,` and element 1 of 2, found `)`");
  CHECK(LiteralBack("f32[] 1 2") == "expected the end of the text, found `2`");
}

std::string ShardingBack(std::string_view text) {
  const auto sharding = ParseSharding(text);
  return sharding.ok() ? sharding->ToString(/*with_metadata=*/true) : MessageOf(sharding);
}

TEST_CASE("shardings print back", "[parser][sharding]") {
  for (const char* text :
       {"{replicated}", "{maximal device=3}", "{manual}", "{unknown}", "{devices=[2,2]0,2,1,3}",
        "{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
        "{devices=[2,2,2]<=[4,2]T(1,0) last_tile_dims={manual, replicated}}",
        "{devices=[4]<=[4] shard_as 7}", "{{replicated}, {devices=[2]<=[2]}}", "{}",
        "{devices=[1,2]<=[2] metadata={op_name=\"a\"}}",
        "{replicated metadata={{op_name=\"a\"}, {op_name=\"b\"}}}",
        "{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}",
        "{mesh['a'=8], [{'a':(1)2}, {?}], replicated={'a':(2)4}}",
        "{mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)), [{'x', 'y'}]}",
        "{maximal_mesh[device_id=5]}", "{mesh['a'=2,'b'=2], [{'a'}], unreduced=max{'b'}}"}) {
    CHECK(ShardingBack(text) == text);
  }
}

TEST_CASE("shardings become canonical", "[parser][sharding]") {
  CHECK(ShardingBack("{devices=[2,21]<=[2,3,7]T(1,2,0)}") == "{devices=[2,21]<=[2,21]T(1,0)}");
  CHECK(ShardingBack("{devices=[1,8]<=[8] last_tile_dim_replicate}") == "{replicated}");
  CHECK(ShardingBack("{maximal devices=[1]0}") == "{maximal device=0}");
  CHECK(ShardingBack("{mesh['a'=2], replicated}") == "{replicated}");
}

TEST_CASE("wrong shardings are refused with a reason", "[parser][sharding]") {
  CHECK(ShardingBack("{devices=[2,2]0,1}") == "2 devices are listed, but the tiles need 4");
  CHECK(ShardingBack("{devices=[2,2]<=[8]}") == "the iota has 8 devices, but the tiles need 4");
  CHECK(ShardingBack("{devices=[4]<=[2,2]T(0,0)}") ==
        "the transpose names 2 dimensions, expected each of the 2 once");
  CHECK(ShardingBack("{devices=[4]<=[2,2]T(2,0)}") ==
        "dimension 2 in the transpose of an array of 2 dimensions");
  CHECK(ShardingBack("{replicated device=1}") == "a `replicated` sharding has no devices");
  CHECK(ShardingBack("{maximal}") == "a maximal sharding is on 0 devices, expected one `device=`");
  CHECK(ShardingBack("{device=1}") ==
        "only a maximal sharding has `device=`; a tiled one has `devices=[...]`");
  CHECK(ShardingBack("{mesh['data'=2], [{'date'}]}") ==
        "the mesh has no axis `date`; did you mean `data`?");
  CHECK(ShardingBack("{mesh['a'=2], [{'a'}, {'a'}]}") == "axis 'a' is used twice");
  CHECK(ShardingBack("{mesh['a'=8], [{'a':(1)3}]}") == "`(1)3` is no part of axis `a` of size 8");
  CHECK(ShardingBack("{mesh['a'=2,'b'=2], device_ids=(0,1,2), [{'a'}]}") ==
        "the mesh has 4 devices, but 3 ids are listed");
  CHECK(ShardingBack("{replicate}") == "expected a part of a sharding, or `}`, found `replicate`");
}

TEST_CASE("device lists keep the form they were written in", "[parser][replica-groups]") {
  for (const char* text : {"{{0,1},{2,3}}", "{}", "{{0},{1,2}}", "[2,4]<=[4,2]T(1,0)", "[1,8]<=[8]",
                           "mesh['a'=2,'b'=2] {'a'}"}) {
    const auto groups = ParseReplicaGroups(text);
    REQUIRE(groups.ok());
    CHECK(groups->ToString() == text);
  }
  CHECK(MessageOf(ParseReplicaGroups("[2,2,2]<=[8]")) ==
        "expected the number of groups and their size, found 3 numbers");
  CHECK(MessageOf(ParseReplicaGroups("[2,2]<=[8]")) ==
        "the iota has 8 devices, but the tiles need 4");
  CHECK(MessageOf(ParseReplicaGroups("{{0,1},}")) ==
        "expected `{` of a list of integers, found `}`");
}

TEST_CASE("windows, paddings and dimension labels", "[parser][values]") {
  CHECK(ParseWindow("{size=3x3 stride=2x2 pad=1_1x0_-1}")->ToString() ==
        "size=3x3 stride=2x2 pad=1_1x0_-1");
  CHECK(ParseWindow("size=3 rhs_reversal=1")->dims[0].reversal);
  CHECK(MessageOf(ParseWindow("{size=3x3 stride=2}")) ==
        "`stride` has 1 dimensions, but `size` has 2");
  CHECK(MessageOf(ParseWindow("{size=3 pad=1_1_1}")) ==
        "expected low and high padding per dimension, such as `1_1x0_2`, found `1_1_1`");
  CHECK(MessageOf(ParseWindow("{sice=3}")) == "a window has no `sice`; did you mean `size`?");
  CHECK(ParsePaddingConfig("0_1x2_3_1")->ToString() == "0_1_0x2_3_1");
  CHECK(MessageOf(ParsePaddingConfig("1_2_3_4")) == "expected the end of the text, found `_4`");
  CHECK(ParseConvolutionDimensionNumbers("b01f_01io->b01f")->ToString() == "b01f_01io->b01f");
  CHECK(ParseConvolutionDimensionNumbers("?b0f_0?io->b?0f")->ToString() == "?b0f_0?io->b?0f");
  CHECK(MessageOf(ParseConvolutionDimensionNumbers("bb0f_0io->b0f")) ==
        "`b` stands twice in the lhs labels `bb0f`");
  CHECK(MessageOf(ParseConvolutionDimensionNumbers("b5f_0io->b0f")) ==
        "label `5` in the lhs labels `b5f`, which have 1 spatial dimensions");
  CHECK(MessageOf(ParseConvolutionDimensionNumbers("b01f_0io->b0f")) ==
        "lhs, rhs and output have 2, 1 and 1 spatial dimensions, expected the same number");
}

TEST_CASE("metadata, frontend attributes, statistics and origins print back", "[parser][values]") {
  for (const char* attribute :
       {"metadata={op_type=\"t\" op_name=\"a/b\" source_file=\"f.py\" source_line=3 "
        "source_end_line=4 source_column=5 source_end_column=6 "
        "profile_type={1} deduplicated_name=\"d\" scheduling_name=\"s\" metadata_payload=\"p\"}",
        "frontend_attributes={a=\"x\",b={\"k\":1}}",
        "statistics={visualizing_index=1,flops=2,time=0.5}", "origin={{\"x\"}}",
        "origin={({\"t\" {0}}, {\"t\" {1}})}", "origin={(({}, {\"b\"}), {\"c\"})}",
        "origin={[synthetic_call]}", "backend_config={\"a\":{\"b\":\"}\"}}",
        "backend_config=\"not \\\"json\\\"\\n\\303\\251\"", "sharding={replicated}"}) {
    CAPTURE(attribute);
    const std::string text = Entry(fmt::format("ROOT p = f32[2]{{0}} parameter(0), {}", attribute));
    CHECK_THAT(Reprint(text, PrintOptions::Default()),
               Catch::Contains(fmt::format("parameter(0), {}\n", attribute)));
  }
  CHECK_THAT(
      ErrorsOf(Entry("p = f32[] parameter(0), metadata={op_nam=\"x\"}")),
      Catch::Contains("3:35: error: metadata has no field `op_nam`; did you mean `op_name`?"));
  CHECK_THAT(ErrorsOf(Entry("p = f32[] parameter(0), backend_config=\"\\q\"")),
             Catch::Contains("a malformed escape in this string"));
  CHECK_THAT(ErrorsOf(Entry("p = f32[] parameter(0), metadata={profile_type={9}}")),
             Catch::Contains("profile type 9, expected 0 to 3"));
}

TEST_CASE("fragments are read by themselves", "[parser][fragments]") {
  const auto print = [](const auto& value) {
    std::string out;
    AppendValue(out, value);
    return out;
  };
  CHECK(ParseLayout("{1,0:T(8,128)S(1)}")->memory_space == 1);
  CHECK(ParseLayout("{}")->minor_to_major.empty());
  CHECK(print(*ParseSliceRanges("{[0:4], [1:9:2]}")) == "{[0:4:1], [1:9:2]}");
  CHECK(print(*ParsePrecisionConfig("{HIGH,default}")) == "{high,default}");
  CHECK(ToString(*ParseShapeIndex("{1,0,}")) == "{1,0}");
  CHECK(print(*ParseOutputOperandAliases("{{0}: (1, {}),}")) == "{{0}: (1, {})}");
  CHECK(print(*ParseResultAccuracy("{tolerance={ulps=2}}")) ==
        "{tolerance={atol=0,rtol=0,ulps=2}}");
  CHECK(ParseMetadata("{op_name=\"a\", source_line=3}")->ToString() ==
        "op_name=\"a\" source_line=3");
  CHECK(ParseFrontendAttributes("{b=\"x\",a={\"k\":1}}")->at("a") == "{\"k\":1}");
  CHECK(ParseStatistics("{visualizing_index=1,flops=2.5}")->values[0].second == 2.5);
  CHECK(ParseOriginalValue("{({\"a\"}, {\"b\" {1}})}")->tree.children[1].leaf.name == "b");
  CHECK(ParseBools("true")->size() == 1);
  CHECK(*ParseBools("{true,false}") == std::vector<bool>{true, false});
  CHECK(ParseBools("{}")->empty());
  CHECK(ParseLiteral("{ {1, 2}, {3, 4} }", *ParseShape("s32[2,2]"))->ToString() ==
        "{ { 1, 2 }, { 3, 4 } }");
}

TEST_CASE("a fragment is the whole text, and errors have places in it", "[parser][fragments]") {
  CHECK(MessageOf(ParseShape("f32[2] x")) == "expected the end of the text, found `x`");
  CHECK(MessageOf(ParseShape("")) == "expected a shape, found the end of the text");
  CHECK(MessageOf(ParseSharding("{replicated}}")) == "expected the end of the text, found `}`");
  CHECK(MessageOf(ParseSharding("")) == "expected `{` of a sharding, found the end of the text");
  CHECK(MessageOf(ParseWindow("")) == "accepted");
  CHECK(MessageOf(ParseBools("{true,}")) == "expected one of `true`, `false`, found `}`");
  CHECK(MessageOf(ParseReplicaGroups("{{0,1}")) ==
        "expected `,` or `}` in replica groups, found the end of the text");
  CHECK(MessageOf(ParseLayout("1,0")) == "expected `{` of a layout, found `1`");
  CHECK(MessageOf(ParseMetadata("{source_line=4294967296}")) ==
        "`4294967296` does not fit 32 bits");
  const std::vector<Diagnostic> errors = DiagnosticsOf(ParseShape("(f32[], s3[])").status());
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].loc.offset == 8);
}

TEST_CASE("a file is cut at lines of five dashes", "[parser][split]") {
  const auto parts = SplitInputFile("a\nb\n// -----\nc\n// ------\n// -----\r\nd");
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].text == "a\nb\n");
  CHECK(parts[1].text == "c\n// ------\n");
  CHECK(parts[1].first_line == 4);
  CHECK(parts[2].text == "d");
  CHECK(parts[2].first_line == 7);
  CHECK(SplitInputFile("a").size() == 1);
}

}  // namespace
}  // namespace hlo

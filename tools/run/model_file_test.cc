#include "tools/run/model_file.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <limits>

#include "lib/support/file.h"
#include "lib/support/json_value.h"
#include "tools/run/inputs.h"
#include "tools/support/generator.h"

namespace hlo {
namespace {

std::vector<double> First(const Literal& literal, int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(literal.GetDouble(i));
  return values;
}

// Reads a model file with these inputs and outputs.
absl::StatusOr<ModelFile> Read(const std::string& inputs, const std::string& outputs) {
  const std::string path = std::tmpnam(nullptr) + std::string(".json");
  const std::string text =
      R"({"schema":1,"name":"m","hlo":"m.hlo","seed":18446744073709551615,"inputs":[)" + inputs +
      R"(],"outputs":[)" + outputs + "]}";
  REQUIRE(WriteFile(path, text).ok());
  absl::StatusOr<ModelFile> model = ReadModelFile(path);
  std::remove(path.c_str());
  return model;
}

std::string Message(const absl::Status& status) {
  const std::string text(status.message());
  return text.substr(text.find(".json") == std::string::npos ? 0 : text.find(".json") + 5);
}

}  // namespace

TEST_CASE("the generator gives the scalars that the README states", "[run][generator]") {
  InputSpec wide;
  wide.lo = -1;
  const Shape floats = Shape::Array(ElementType::kF32, {3});
  CHECK(First(GenerateInput(floats, wide, 1, 0), 3) ==
        std::vector<double>{-0.2636209726333618, 0.8871283531188965, -0.9094860553741455});
  InputSpec narrow;
  narrow.lo = 0.75;
  narrow.hi = 1.25;
  CHECK(First(GenerateInput(floats, narrow, 1, 1), 3) ==
        std::vector<double>{0.9834831357002258, 0.7671655416488647, 0.7729849219322205});
  InputSpec integers;
  integers.kind = InputSpec::Kind::kRandint;
  integers.int_lo = -5;
  integers.int_hi = 50257;
  CHECK(First(GenerateInput(Shape::Array(ElementType::kS32, {3}), integers, 1, 1), 3) ==
        std::vector<double>{23465, 1720, 2305});
}

TEST_CASE("narrow and complex inputs are the f32 scalars, rounded or paired", "[run][generator]") {
  InputSpec spec;
  spec.lo = -1;
  const Literal wide = GenerateInput(Shape::Array(ElementType::kF32, {6}), spec, 1, 0);
  const Literal narrow = GenerateInput(Shape::Array(ElementType::kBF16, {6}), spec, 1, 0);
  CHECK(narrow == *wide.Converted(ElementType::kBF16));
  const Literal pairs = GenerateInput(Shape::Array(ElementType::kC64, {3}), spec, 1, 0);
  CHECK(pairs.GetComplex(1) == std::complex<double>(wide.GetDouble(2), wide.GetDouble(3)));
  // Longer than one block of the generator: every element is made by itself.
  const Literal more = GenerateInput(Shape::Array(ElementType::kF32, {10000}), spec, 1, 0);
  CHECK(First(more, 6) == First(wide, 6));
  CHECK(more.GetDouble(9999) ==
        static_cast<float>(
            -1 + 2 * (static_cast<double>(InputDraw(InputKey(1, 0), 9999) >> 40) / 16777216)));
}

TEST_CASE("a model file is read and compared", "[run][model]") {
  const absl::StatusOr<ModelFile> model = Read(
      R"({"index":0,"name":"x","shape":"f32[2]","kind":"const","value":1.5})",
      R"({"index":0,"shape":"f32[2,2]","tolerance":{"abs":0.1,"rel":0,"why":""},"samples":[[0,1],[3,"nan"]],
               "statistics":{"nonfinite":1,"min":1,"max":3,"mean":2,"rms":2.160246899469287}})");
  REQUIRE(model.ok());
  CHECK(model->seed == std::numeric_limits<uint64_t>::max());
  CHECK(GenerateInput(model->inputs[0].shape, model->inputs[0].spec, model->seed, 0).GetDouble(1) ==
        1.5);

  const ModelOutput& output = model->outputs[0];
  const auto report = [&output](std::string_view text) {
    return CompareWithModel(*ParseShapeAndLiteral(text), output, {});
  };
  CHECK(report("f32[2,2] { {1.05, 2}, {3, nan} }").ok());
  const CompareReport sample = report("f32[2,2] { {1.2, 2}, {3, nan} }");
  CHECK(sample.mismatched == 1);
  CHECK(sample.first.index == DimVec{0, 0});
  CHECK(report("f32[2,2] { {1, 2}, {3, 4} }").first.index == DimVec{1, 1});
  // Not sampled, but the statistics tell.
  CHECK(report("f32[2,2] { {1, 2}, {9, nan} }")
            .shape_error.find("max of all values is 9, expected 3") == 0);
  CHECK(report("f32[2,2] { {1, inf}, {3, nan} }")
            .shape_error.find("2 values are not finite, expected 1") == 0);
  CHECK(report("f32[4] {1, 2, 3, nan}")
            .shape_error.find("actual shape is `f32[4]`, expected `f32[2,2]`") == 0);
}

TEST_CASE("complex outputs are compared scalar by scalar", "[run][model]") {
  const absl::StatusOr<ModelFile> model =
      Read("", R"({"index":0,"shape":"c64[2]","values":[1,2,3,4]})");
  REQUIRE(model.ok());
  CHECK(CompareWithModel(*ParseShapeAndLiteral("c64[2] {(1, 2), (3, 4)}"), model->outputs[0], {})
            .ok());
  const CompareReport report =
      CompareWithModel(*ParseShapeAndLiteral("c64[2] {(1, 2), (3, 5)}"), model->outputs[0], {});
  CHECK(report.mismatched == 1);
  CHECK(report.first.index == DimVec{1});
}

TEST_CASE("a bad model file is an error with its place", "[run][model]") {
  CHECK(
      Message(Read(R"({"shape":"f32[2]","kind":"noise"})", "").status()) ==
      ":1:101: unknown kind `noise` of input; there are uniform, randint, const, iota and values");
  CHECK(Message(Read(R"({"shape":"f32[2","kind":"iota"})", "").status())
            .find("expected `,` or `]` in a shape") != std::string::npos);
  CHECK(Message(Read("", R"({"shape":"f32[2]","values":[1]})").status())
            .find("`f32[2]` has 2 scalars, got 1") != std::string::npos);
  CHECK(Message(Read("", R"({"shape":"f32[2]","samples":[[2,1]]})").status())
            .find("index 2 lies outside") != std::string::npos);
  CHECK(Message(Read("", "{\"shape\"").status()).find("expected `:`, found `]`") !=
        std::string::npos);
}

TEST_CASE("JSON strings, numbers and nesting", "[run][json]") {
  const auto parse = [](std::string text) {
    return ParseJson(std::make_shared<const Source>("t", std::move(text)));
  };
  const absl::StatusOr<JsonDocument> document =
      parse(R"({"a":"x\n\u00e9\ud83d\ude00","b":[1,-2.5e3,true,null],"c":9223372036854775808})");
  REQUIRE(document.ok());
  CHECK(*document->root.GetString("a") == "x\n\xC3\xA9\xF0\x9F\x98\x80");
  CHECK(*document->root.Find("b")->items()[1].AsDouble() == -2500);
  CHECK(*document->root.GetUnsigned("c") == 9223372036854775808u);
  for (const char* bad : {"", "{", "[1,]", "{\"a\":}", "\"\\x\"", "\"", "01x", "1 2", "-", "1.",
                          "nul", "\"\\u12\""}) {
    CAPTURE(bad);
    CHECK_FALSE(parse(bad).ok());
  }
  CHECK_FALSE(parse(std::string(100000, '[')).ok());
}

}  // namespace hlo

#include "lib/proto/proto.h"

#include <google/protobuf/text_format.h>

#include <catch2/catch.hpp>

#include "lib/ir/printer.h"
#include "lib/proto/schema.h"
#include "lib/support/strings.h"
#include "parser/parse_test_util.h"
#include "parser/parser.h"

namespace hlo {
namespace {

std::string Whole(const Module& module) {
  PrintOptions options;
  options.large_constants = options.lossless = true;
  return ToText(module, options);
}

// The text of the module after a trip through each form.
void CheckTrip(std::string_view text) {
  const std::unique_ptr<Module> module = ParsedModule(text);
  for (const SerialForm form : {SerialForm::kBinary, SerialForm::kText}) {
    const absl::StatusOr<std::string> bytes = Serialize(*module, form, kParseText);
    REQUIRE(bytes.ok());
    CHECK(IsSerialized(*bytes));
    const absl::StatusOr<std::string> again = TextOfSerialized(*bytes);
    INFO(again.status());
    REQUIRE(again.ok());
    CHECK(*again == Whole(*module));
  }
}

std::string ReadProblem(std::string_view bytes) {
  const absl::StatusOr<std::string> text = TextOfSerialized(bytes);
  return text.ok() ? "" : std::string(ToStd(text.status().message()));
}

TEST_CASE("a literal of every type survives", "[proto]") {
  for (const char* constant : {"pred[3]{0} constant({1, 0, 1})",
                               "s1[3]{0} constant({0, -1, 0})",
                               "s2[5]{0} constant({1, -2, 0, -1, 1})",
                               "s4[3]{0} constant({7, -8, 3})",
                               "s8[2]{0} constant({127, -128})",
                               "s16[2]{0} constant({-32768, 5})",
                               "s32[2]{0} constant({-5, 7})",
                               "s64[2]{0} constant({-9223372036854775808, 1})",
                               "u1[9]{0} constant({1, 0, 1, 1, 0, 0, 0, 0, 1})",
                               "u2[3]{0} constant({3, 0, 2})",
                               "u4[3]{0} constant({15, 1, 2})",
                               "u8[2]{0} constant({255, 0})",
                               "u16[2]{0} constant({65535, 1})",
                               "u32[2]{0} constant({4294967295, 0})",
                               "u64[1]{0} constant({18446744073709551615})",
                               "f32[3]{0} constant({1.5, -inf, nan})",
                               "f64[2]{0} constant({1e+300, -0.25})",
                               "f16[2]{0} constant({0.5, 65504})",
                               "bf16[2]{0} constant({1, -3})",
                               "f8e5m2[2]{0} constant({1, 2})",
                               "f8e4m3fn[2]{0} constant({1, 448})",
                               "f8e4m3b11fnuz[2]{0} constant({1, 2})",
                               "f4e2m1fn[3]{0} constant({1, -6, 0.5})",
                               "f8e8m0fnu[2]{0} constant({1, 2})",
                               "f6e2m3fn[2]{0} constant({1, 2})",
                               "c64[2]{0} constant({(1, -2), (0, inf)})",
                               "c128[1]{0} constant({(0.5, 1e+200)})",
                               "f32[0]{0} constant({})"}) {
    CAPTURE(constant);
    CheckTrip(std::string("HloModule m\nENTRY e {\n  ROOT c = ") + constant + "\n}\n");
  }
}

TEST_CASE("a literal in another order of dimensions is written in that order", "[proto]") {
  constexpr std::string_view kText =
      "HloModule m\nENTRY e {\n  ROOT c = s32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } "
      "})\n}\n";
  CheckTrip(kText);
  const absl::StatusOr<std::string> text =
      Serialize(*ParsedModule(kText), SerialForm::kText, kParseText);
  REQUIRE(text.ok());
  size_t at = 0;
  for (const char* value :
       {"s32s: 1\n", "s32s: 4\n", "s32s: 2\n", "s32s: 5\n", "s32s: 3\n", "s32s: 6\n"}) {
    at = text->find(value, at);
    CHECK(at != std::string::npos);
  }
}

TEST_CASE("loops, shardings, aliases, schedules and groups survive", "[proto]") {
  CheckTrip(
      R"(HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, must-alias) }, buffer_donor={ (2, {}) }, entry_computation_layout={(s32[], f32[4]{0}, f32[4]{0})->(s32[], f32[4]{0})}, replica_count=2, num_partitions=2, frontend_attributes={a="b"}

%cond (p: (s32[], f32[4])) -> pred[] {
  %p = (s32[], f32[4]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %n = s32[] constant(3)
  ROOT %lt = pred[] compare(%i, %n), direction=LT
}

%body (q: (s32[], f32[4])) -> (s32[], f32[4]) {
  %q = (s32[], f32[4]{0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%j, %one), control-predecessors={%one}
  %v = f32[4]{0} get-tuple-element(%q), index=1
  ROOT %r = (s32[], f32[4]{0}) tuple(%next, %v)
}

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}

ENTRY %e (a: s32[], b: f32[4], c: f32[4]) -> (s32[], f32[4]) {
  %a = s32[] parameter(0), sharding={replicated}
  %b = f32[4]{0} parameter(1), sharding={devices=[2,2]<=[4] last_tile_dim_replicate}, metadata={op_name="x" source_file="f.py" source_line=7}
  %c = f32[4]{0} parameter(2), frontend_attributes={k="v"}
  %all = f32[4]{0} all-reduce(%b), channel_id=3, replica_groups=[2,2]<=[4], use_global_device_ids=true, to_apply=%sum
  %init = (s32[], f32[4]{0}) tuple(%a, %all)
  ROOT %loop = (s32[], f32[4]{0}) while(%init), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"3"}}
}
)");
}

constexpr std::string_view kSmall = R"(hlo_module {
  name: "m" entry_computation_id: 1
  computations {
    name: "e" id: 1 root_id: 2
    instructions { name: "p" opcode: "parameter" id: 1 shape { element_type: F32 } }
    instructions { name: "n" opcode: "negate" id: 2 operand_ids: 1 shape { element_type: F32 } }
  }
})";

std::string Edited(std::string_view from, std::string_view to) {
  std::string text(kSmall);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST_CASE("messages with faults are refused by name", "[proto]") {
  CHECK(ReadProblem(kSmall) == "");
  CHECK(ReadProblem(Edited("\"negate\"", "\"negat\"")) ==
        "instruction `n` of computation `e`: `negat` is no opcode; did you mean `negate`?");
  CHECK(
      ReadProblem(Edited("operand_ids: 1", "operand_ids: 7")) ==
      "instruction `n` of computation `e`: no instruction above it in its computation has the id 7 "
      "(`operand_ids`)");
  CHECK(ReadProblem(Edited("operand_ids: 1", "")) ==
        "instruction `n` of computation `e`: `negate` expects 1 operand (operand), found 0");
  CHECK(ReadProblem(Edited("id: 2 operand", "id: 1 operand")) ==
        "instruction `n` of computation `e`: a second instruction has the id 1");
  CHECK(ReadProblem(Edited("root_id: 2", "root_id: 9")) == "computation `e` has no root");
  CHECK(ReadProblem(Edited("entry_computation_id: 1", "")) ==
        "the message names no entry computation");
  CHECK(ReadProblem(Edited("negate\" id: 2", "negate\" id: 2 called_computation_ids: 1")) ==
        "instruction `n` of computation `e`: no computation above its own has the id 1 "
        "(`called_computation_ids`)");
  CHECK(ReadProblem(
            Edited("shape { element_type: F32 }", "shape { element_type: F32 dimensions: -3 }")) ==
        "instruction `p` of computation `e`: a shape has a dimension of size -3");
  CHECK(ReadProblem(Edited("name: \"m\"", "nam: \"m\"")) ==
        "2:6: Message type \"xla.HloModuleProto\" has no field named \"nam\".");
}

TEST_CASE("HLO text is no message", "[proto]") {
  for (const char* text :
       {"HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }",
        "ENTRY e { ROOT p = f32[] parameter(0) }",
        "name {\n p = f32[] parameter(0) }\nENTRY e { ROOT p = f32[] parameter(0) }",
        "computations { p = f32[] parameter(0) }", "", "# proto-file: x\n"}) {
    CHECK_FALSE(IsSerialized(text));
  }
  CHECK(IsSerialized(kSmall));
  CHECK(IsSerialized("# proto-file: x\nhlo_module { name: \"m\" }"));
}

TEST_CASE("elided constants have no message", "[proto]") {
  const auto module = ParsedModule("HloModule m\nENTRY e { ROOT c = f32[99] constant({...}) }");
  CHECK_FALSE(Serialize(*module, SerialForm::kBinary, kParseText).ok());
}

}  // namespace
}  // namespace hlo

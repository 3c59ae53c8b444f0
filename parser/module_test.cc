// Headers, computations, names, frames, schedules and asynchronous operations.
#include <catch2/catch.hpp>

#include "parser/parser_test.h"

namespace hlo {
namespace {

// The first line of the print.
std::string HeaderOf(const std::string& text) {
  const std::string printed = Reprint(text);
  return printed.substr(0, printed.find('\n'));
}

constexpr std::string_view kBody =
    " ENTRY e { p = f32[2] parameter(0) q = s32[] parameter(1) ROOT t = (f32[2], s32[]) tuple(p, "
    "q) }";
constexpr std::string_view kLayout =
    "entry_computation_layout={(f32[2]{0}, s32[])->(f32[2]{0}, s32[])}";

TEST_CASE("every module attribute prints back in XLA's order", "[parser][module]") {
  const auto header = [](std::string_view attributes) {
    return HeaderOf(fmt::format("HloModule m, {}{}", attributes, kBody));
  };
  CHECK(header("replica_count=2, is_scheduled=true") ==
        fmt::format("HloModule m, is_scheduled=true, {}, replica_count=2", kLayout));
  CHECK(header("input_output_alias={ {1}: (1, {}, must-alias), {0}: (0, {}), }") ==
        fmt::format("HloModule m, input_output_alias={{ {{0}}: (0, {{}}, may-alias), {{1}}: (1, "
                    "{{}}, must-alias) }}, {}",
                    kLayout));
  CHECK(header("input_output_alias={ {0}: 0 }") ==
        fmt::format("HloModule m, input_output_alias={{ {{0}}: (0, {{}}, may-alias) }}, {}",
                    kLayout));
  CHECK(
      header("buffer_donor={ (1, {}), (0, {}), (1, {}) }, alias_passthrough_params=true") ==
      fmt::format(
          "HloModule m, buffer_donor={{ (0, {{}}), (1, {{}}) }}, alias_passthrough_params=true, {}",
          kLayout));
  CHECK(header("num_partitions=4, allow_spmd_sharding_propagation_to_output={true,false}, "
               "frontend_attributes={a=\"b\"}") ==
        fmt::format("HloModule m, {}, allow_spmd_sharding_propagation_to_output={{true,false}}, "
                    "num_partitions=4, "
                    "frontend_attributes={{a=\"b\"}}",
                    kLayout));
  CHECK(header("entry_computation_layout={(f32[2]{0}, s32[])->(f32[2]{0}, s32[])}") ==
        fmt::format("HloModule m, {}", kLayout));
}

TEST_CASE("module attributes that do not fit are refused", "[parser][module]") {
  const auto message = [](std::string_view attributes) {
    return MessageOf(ParseModule(fmt::format("HloModule m, {}{}", attributes, kBody)));
  };
  CHECK(message("input_output_alias={ {2}: (0, {}) }") ==
        "output index {2} is not in the result `(f32[2], s32[])` of the entry computation");
  CHECK(message("input_output_alias={ {0}: (-1, {}) }") ==
        "parameter number -1, expected at least 0");
  CHECK(
      message("input_output_alias={ {0}: (0, {}, maybe-alias) }") ==
      "expected one of `may-alias`, `must-alias`, found `maybe-alias`; did you mean `may-alias`?");
  CHECK(message("is_scheduled=1") == "expected one of `true`, `false`, found `1`");
  CHECK(message("replica_count=1, replica_count=1") == "attribute `replica_count` is given twice");
  CHECK(message("origin_recovery_table={{\"a\"}:{\"b\"},\"x = f32[] nonsense()\"}") ==
        "the module in the recovery table does not parse: unknown opcode `nonsense`");
}

TEST_CASE("missing layouts of the entry stay unset on demand", "[parser][module]") {
  ParserOptions options;
  options.keep_module_auto_layouts = true;
  const auto module = ParseModule(
      fmt::format("HloModule m, entry_computation_layout={{(f32[2], s32[])->(f32[2], s32[])}}{}",
                  kBody),
      "t", options);
  REQUIRE(module.ok());
  CHECK_FALSE((*module)->config().entry_layout.parameters[0].has_layout());
  CHECK((*module)->entry()->parameter(0)->shape().has_layout());
}

TEST_CASE("names become unique in the order of the text", "[parser][names]") {
  const std::string text = Reprint(
      "HloModule m\nf { p0 = f32[] parameter(0) ROOT x.007 = f32[] negate(p0) }\nf.0 { p0 = f32[] "
      "parameter(0) ROOT x = f32[] negate(p0) }\n"
      "ENTRY e { p0 = f32[] parameter(0) c = f32[] call(p0), to_apply=f.0 ROOT d = f32[] call(c), "
      "to_apply={ p0 = f32[] parameter(0) } }");
  CHECK(text ==
        "HloModule m, entry_computation_layout={(f32[])->f32[]}\n\n"
        "f {\n  p0 = f32[] parameter(0)\n  ROOT x.7 = f32[] negate(p0)\n}\n\n"
        "f.1 {\n  p0.1 = f32[] parameter(0)\n  ROOT x = f32[] negate(p0.1)\n}\n\n"
        "_ {\n  ROOT p0.2 = f32[] parameter(0)\n}\n\n"
        "ENTRY e {\n  p0.3 = f32[] parameter(0)\n  c = f32[] call(p0.3), to_apply=f.1\n  ROOT d = "
        "f32[] call(c), to_apply=_\n}\n\n");
  CHECK(Reprint(text) == text);
}

TEST_CASE("texts without a header", "[parser][module]") {
  CHECK(HeaderOf("ENTRY main { ROOT c = s32[] constant(1) }") ==
        "HloModule module_main, entry_computation_layout={()->s32[]}");
  CHECK(HeaderOf("f { ROOT c = s32[] constant(1) }") ==
        "HloModule module_f, entry_computation_layout={()->s32[]}");
  CHECK(Reprint("x = (f32[2], s32[]) tuple(f32[2] a, s32[] b)") ==
        "HloModule _, is_scheduled=true, entry_computation_layout={(f32[2]{0}, s32[])->(f32[2]{0}, "
        "s32[])}\n\n"
        "ENTRY _ {\n  a = f32[2]{0} parameter(0)\n  b = s32[] parameter(1)\n  ROOT x = (f32[2]{0}, "
        "s32[]) tuple(a, b)\n}\n\n");
  CHECK(Reprint("f32[2] add(f32[2], f32[2])") ==
        "HloModule _, is_scheduled=true, entry_computation_layout={(f32[2]{0}, "
        "f32[2]{0})->f32[2]{0}}\n\n"
        "ENTRY _ {\n  _0 = f32[2]{0} parameter(0)\n  _1 = f32[2]{0} parameter(1)\n  ROOT _ = "
        "f32[2]{0} add(_0, _1)\n}\n\n");
  // An operand without a name is called after its number.
  CHECK_THAT(Reprint("f32[2] clamp(f32[2] a, f32[2], f32[2])"),
             Catch::Contains("ROOT _ = f32[2]{0} clamp(a, _1, _2)"));
  CHECK(MessageOf(ParseModule("x = f32[2] negate(y)")) ==
        "operand `y` of a single instruction needs its shape written");
}

constexpr std::string_view kFrames = R"(
FileNames
1 "unused.py"
2 "train.py"

FunctionNames
1 "unused"
2 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=1}
2 {file_name_id=2 function_name_id=2 line=42 end_line=43, column=5 end_column=12}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}
3 {file_location_id=2 parent_frame_id=3}
4 {file_location_id=2 parent_frame_id=5}

)";

TEST_CASE("stack frames are kept as far as they are used, and renumbered", "[parser][frames]") {
  const auto text = [](std::string_view id) {
    return fmt::format(
        "HloModule m\n{}ENTRY e {{ ROOT c = s32[] constant(7), metadata={{op_name=\"k\" "
        "stack_frame_id={}}} }}",
        kFrames, id);
  };
  CHECK(Reprint(text("3"), PrintOptions::Default()) ==
        "HloModule m, entry_computation_layout={()->s32[]}\n\nFileNames\n1 "
        "\"train.py\"\n\nFunctionNames\n1 \"step\"\n\nFileLocations\n"
        "1 {file_name_id=1 function_name_id=1 line=42 end_line=43 column=5 "
        "end_column=12}\n\nStackFrames\n"
        "1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=1 parent_frame_id=2}\n\n\n"
        "ENTRY %e () -> s32[] {\n  ROOT %c = s32[] constant(7), metadata={op_name=\"k\" "
        "stack_frame_id=2}\n}\n\n");
  // A cycle and a number out of range count as no frame.
  for (const std::string_view id : {"4", "9", "-1"}) {
    CHECK_THAT(Reprint(text(id), PrintOptions::Default()),
               Catch::Contains("metadata={op_name=\"k\"}"));
  }
}

TEST_CASE("a schedule is the order of the text", "[parser][schedule]") {
  const auto module = ParseModule(
      "HloModule m, is_scheduled=true ENTRY e { a = s32[] constant(1) b = s32[] constant(2) ROOT c "
      "= s32[] add(b, a) }");
  REQUIRE(module.ok());
  REQUIRE((*module)->entry()->has_schedule());
  CHECK((*module)->entry()->schedule()[0]->name() == "a");
}

TEST_CASE("control predecessors become edges", "[parser][control]") {
  const auto module = ParseModule(
      "HloModule m ENTRY e { a = s32[] constant(1) ROOT c = s32[] constant(2), "
      "control-predecessors={a, %a} }");
  REQUIRE(module.ok());
  CHECK((*module)->entry()->root()->control_predecessors().size() == 1);
  CHECK_THAT(ErrorsOf("HloModule m ENTRY e { a = s32[] constant(1), control-predecessors={} }"),
             Catch::Contains("expected the name of an instruction"));
}

// ---- asynchronous operations ----

TEST_CASE("sugar and the generic form are one", "[parser][async]") {
  const std::string sugared = Entry(
      "x = f32[8]{0} parameter(0)\ns = ((f32[8]{0}), f32[4]{0}, u32[]) slice-start(x), "
      "async_execution_thread=\"t\", slice={[0:4]}\n"
      "u = ((f32[8]{0}), f32[4]{0}, u32[]) slice-update(s)\nROOT d = f32[4]{0} slice-done(u)");
  PrintOptions plain = PrintOptions::ShortParsable();
  plain.syntax_sugar_async_ops = false;
  const std::string generic = Reprint(sugared, plain);
  CHECK(generic ==
        "HloModule m, entry_computation_layout={(f32[8]{0})->f32[4]{0}}\n\n"
        "async_wrapped {\n  async_param = f32[8]{0} parameter(0)\n  ROOT slice = f32[4]{0} "
        "slice(async_param), slice={[0:4]}\n}, "
        "execution_thread=\"t\"\n\n"
        "ENTRY e {\n  x = f32[8]{0} parameter(0)\n  s = ((f32[8]{0}), f32[4]{0}, u32[]) "
        "async-start(x), async_execution_thread=\"t\", "
        "calls=async_wrapped\n  u = ((f32[8]{0}), f32[4]{0}, u32[]) async-update(s)\n  ROOT d = "
        "f32[4]{0} async-done(u)\n}\n\n");
  CHECK(Reprint(generic, plain) == generic);
  CHECK(Reprint(generic) == Reprint(sugared));
}

TEST_CASE("an update binds operands late", "[parser][async]") {
  PrintOptions plain = PrintOptions::ShortParsable();
  plain.syntax_sugar_async_ops = false;
  const std::string text =
      Reprint(Entry("x = f32[8]{0} parameter(0)\ny = f32[8]{0} parameter(1)\n"
                    "s = ((f32[8]{0}), f32[8]{0}, u32[]) add-start(x)\n"
                    "u = ((f32[8]{0}, f32[8]{0}), f32[8]{0}, u32[]) add-update(s, y)\n"
                    "ROOT d = f32[8]{0} add-done(u)"),
              plain);
  CHECK_THAT(text, Catch::Contains("  ROOT add = f32[8]{0} add(async_param, async_param.1)\n"));
  CHECK_THAT(text, Catch::Contains("  async_param.1 = f32[8]{0} parameter(1)\n"));
}

TEST_CASE("asynchronous operations that do not fit are refused", "[parser][async]") {
  const auto message = [](std::string_view lines) {
    return MessageOf(ParseModule(Entry(fmt::format("x = f32[8] parameter(0)\n{}", lines))));
  };
  CHECK(message("s = f32[8] foo-start(x)") ==
        "unknown opcode `foo-start`: there is no `foo` to wrap");
  CHECK(message("s = f32[8] constant-start(x)") ==
        "`constant` cannot be wrapped in an asynchronous operation");
  CHECK(message("s = ((f32[8]), f32[8], u32[]) negate-start(x)\nd = f32[8] abs-done(s)") ==
        "this step wraps `abs`, but `s` wraps `negate`");
  CHECK(message("s = ((f32[8]), f32[8], u32[]) negate-start(x)\nd = f32[8] negate-done(s)\ne = "
                "f32[8] negate-done(d)") ==
        "operand `d` of an asynchronous done is a done; expected a start or update");
}

}  // namespace
}  // namespace hlo

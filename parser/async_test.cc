// Asynchronous operations: sugar both ways, flat shapes, repeated attributes, what is refused.
#include <catch2/catch.hpp>

#include "lib/ops/ops.h"
#include "parser/parser_test.h"

namespace hlo {
namespace {

PrintOptions GenericPrint() {
  PrintOptions options = PrintOptions::ShortParsable();
  options.syntax_sugar_async_ops = false;
  return options;
}

std::string AsyncEntry(std::string_view lines) {
  return fmt::format(
      "HloModule m\n"
      "sum {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}\n"
      "twice {{ p = f32[8]{{0}} parameter(0) ROOT q = f32[8]{{0}} add(p, p) }}\n"
      "ENTRY e {{\nx = f32[8]{{0}} parameter(0)\ny = f32[8]{{0}} parameter(1)\n{}\n}}\n",
      lines);
}

std::string AsyncMessage(std::string_view lines) {
  return MessageOf(ParseModule(AsyncEntry(lines)));
}

TEST_CASE("operands in the shape of a start or update need no tuple of their own",
          "[parser][async]") {
  CHECK(Reprint(AsyncEntry("s = (f32[8], f32[8], u32[]) negate-start(x)\n"
                           "u = (f32[8], f32[8], u32[]) negate-update(s)\n"
                           "ROOT d = f32[8] negate-done(u)")) ==
        Reprint(AsyncEntry("s = ((f32[8]), f32[8], u32[]) negate-start(x)\n"
                           "u = ((f32[8]), f32[8], u32[]) negate-update(s)\n"
                           "ROOT d = f32[8] negate-done(u)")));
  CHECK(Reprint(AsyncEntry("s = (f32[8], f32[8], f32[8]) add-start(x, y)\n"
                           "ROOT d = f32[8] add-done(s)")) ==
        Reprint(AsyncEntry("s = ((f32[8], f32[8]), f32[8]) add-start(x, y)\n"
                           "ROOT d = f32[8] add-done(s)")));
  CHECK(Reprint(AsyncEntry("s = (u32[], s32[]) replica-id-start()\n"
                           "ROOT d = u32[] replica-id-done(s)")) ==
        Reprint(AsyncEntry("s = ((), u32[], s32[]) replica-id-start()\n"
                           "ROOT d = u32[] replica-id-done(s)")));
  // Operands that an update binds count, too; so do those of the generic form.
  CHECK(Reprint(AsyncEntry("s = (f32[8], f32[8], u32[]) add-start(x)\n"
                           "u = (f32[8], f32[8], f32[8], u32[]) add-update(s, y)\n"
                           "ROOT d = f32[8] add-done(u)")) ==
        Reprint(AsyncEntry("s = ((f32[8]), f32[8], u32[]) add-start(x)\n"
                           "u = ((f32[8], f32[8]), f32[8], u32[]) add-update(s, y)\n"
                           "ROOT d = f32[8] add-done(u)")));
  CHECK(Reprint(AsyncEntry("s = (f32[8], f32[8], u32[]) async-start(x), calls=twice\n"
                           "ROOT d = f32[8] async-done(s)")) ==
        Reprint(AsyncEntry("s = ((f32[8]), f32[8], u32[]) async-start(x), calls=twice\n"
                           "ROOT d = f32[8] async-done(s)")));
  CHECK(AsyncMessage("s = (f32[8], f32[8]) add-start(x, y)") ==
        "the shape of an asynchronous start is `(f32[8], f32[8])`, expected `((operands), result, "
        "context)`");
  CHECK(AsyncMessage("s = f32[8] negate-start(x)") ==
        "the shape of an asynchronous start is `f32[8]`, expected `((operands), result, context)`");
  CHECK(AsyncMessage("s = negate-start(x)") == "an asynchronous start needs its shape written");
}

TEST_CASE("an update or done may repeat the attributes of the wrapped operation",
          "[parser][async]") {
  const std::string plain = Reprint(
      AsyncEntry("s = ((f32[8]), f32[4], u32[]) slice-start(x), slice={[0:4]}\n"
                 "u = ((f32[8]), f32[4], u32[]) slice-update(s)\nROOT d = f32[4] slice-done(u)"));
  CHECK(Reprint(AsyncEntry(
            "s = ((f32[8]), f32[4], u32[]) slice-start(x), slice={[0:4]}\n"
            "u = ((f32[8]), f32[4], u32[]) slice-update(s), slice={[0:4:1]}\n"
            "ROOT d = f32[4] slice-done(u), metadata={op_name=\"d\"}, slice={[0:4]}")) == plain);
  CHECK(AsyncMessage("s = ((f32[8]), f32[4], u32[]) slice-start(x), slice={[0:4]}\n"
                     "d = f32[4] slice-done(s), slice={[1:5]}") ==
        "`slice` differs from that of the start");
  // Called computations, accuracies and values that are stored otherwise than written.
  for (const char* chain :
       {"s = ((f32[8]), f32[4], u32[]) reduce-scatter-start(x), dimensions={0}, "
        "replica_groups={{0,1}}, to_apply=sum\n"
        "ROOT d = f32[4] reduce-scatter-done(s), dimensions={0}, to_apply=sum, "
        "replica_groups={{0,1}}",
        "s = ((f32[8]), f32[8], u32[]) tanh-start(x), result_accuracy={mode=highest}\n"
        "ROOT d = f32[8] tanh-done(s), result_accuracy={mode=highest}",
        "s = ((f32[8], f32[8]), pred[8], u32[]) compare-start(x, y), direction=LT, type=FLOAT\n"
        "ROOT d = pred[8] compare-done(s), direction=LT, type=FLOAT",
        "s = ((f32[8], f32[8]), f32[8], u32[]) map-start(x, y), dimensions={0}, to_apply=sum\n"
        "ROOT d = f32[8] map-done(s), dimensions={0}, to_apply=sum",
        "s = ((f32[8]), f32[8], u32[]) custom-call-start(x), custom_call_target=\"f\"\n"
        "u = ((f32[8]), f32[8], u32[]) custom-call-update(s), custom_call_target=\"f\"\n"
        "ROOT d = f32[8] custom-call-done(u), custom_call_target=\"f\"",
        "s = ((f32[8]), f32[8], u32[]) fusion-start(x), kind=kLoop, calls=twice\n"
        "ROOT d = f32[8] fusion-done(s), kind=kLoop, calls=twice"}) {
    CAPTURE(chain);
    const std::string text = Reprint(AsyncEntry(chain));
    CHECK_THAT(text, Catch::StartsWith("HloModule m"));
    CHECK(Reprint(text) == text);
    CHECK(Reprint(Reprint(AsyncEntry(chain), GenericPrint())) == text);
  }
  CHECK(AsyncMessage("s = ((f32[8]), f32[4], u32[]) reduce-scatter-start(x), dimensions={0}, "
                     "to_apply=sum\nd = f32[4] reduce-scatter-done(s), to_apply=twice") ==
        "the called computation differs from that of the start");
  CHECK(AsyncMessage("s = ((f32[8]), f32[8], u32[]) tanh-start(x)\nd = f32[8] tanh-done(s), "
                     "result_accuracy={mode=highest}") ==
        "`result_accuracy` differs from that of the start");
  CHECK(AsyncMessage("s = ((f32[8]), f32[8], u32[]) call-start(x), to_apply=twice\nd = f32[8] "
                     "call-done(s), to_apply={ ROOT p = f32[8] parameter(0) }") ==
        "expected the name of the computation that the start calls, found `{`");
  CHECK(AsyncMessage("s = ((f32[8]), f32[8], u32[]) negate-start(x)\nd = f32[8] negate-done(s), "
                     "slice={[0:4]}") ==
        "`negate` has no attribute `slice`; its own attributes are async_execution_thread");
}

TEST_CASE("the error of a repeated attribute is at the attribute", "[parser][async][errors]") {
  CHECK(ErrorsOf("HloModule m\nENTRY e {\nx = f32[8] parameter(0)\n"
                 "s = ((f32[8]), f32[4], u32[]) slice-start(x), slice={[0:4]}\n"
                 "ROOT d = f32[4] slice-done(s), slice={[4:8]}\n}\n") ==
        "t:5:32: error: `slice` differs from that of the start\n"
        "ROOT d = f32[4] slice-done(s), slice={[4:8]}\n"
        "                               ^~~~~\n"
        "t:4:1: note: the `slice` is started here\n"
        "s = ((f32[8]), f32[4], u32[]) slice-start(x), slice={[0:4]}\n"
        "^\n");
}

TEST_CASE("opcodes with asynchronous forms of their own are named with them", "[parser][async]") {
  CHECK(AsyncMessage("s = f32[8] send-start(x)") ==
        "unknown opcode `send-start`: the asynchronous forms of `send` are `send` and `send-done`");
  CHECK(AsyncMessage("s = f32[8] recv-start(x)") ==
        "unknown opcode `recv-start`: the asynchronous forms of `recv` are `recv` and `recv-done`");
  for (const char* opcode : {"all-reduce", "all-gather", "copy", "collective-permute"}) {
    CHECK(AsyncMessage(fmt::format("s = f32[8] {}-update(x)", opcode)) ==
          fmt::format("unknown opcode `{0}-update`: the asynchronous forms of `{0}` are "
                      "`{0}-start` and `{0}-done`, with nothing between them",
                      opcode));
  }
  CHECK(AsyncMessage("s = f32[8] async-done-start(x)") ==
        "`async-done` cannot be wrapped in an asynchronous operation");
  CHECK(AsyncMessage("s = f32[8] negate-start-start(x)") ==
        "unknown opcode `negate-start-start`: there is no `negate-start` to wrap");
}

TEST_CASE("what sugar cannot say prints in the generic form", "[parser][async][print]") {
  PrintOptions lossless = PrintOptions::ShortParsable();
  lossless.lossless = true;
  for (const auto& [wrapped, as_xla] :
       {std::pair("w { p = f32[8]{0} parameter(0) ROOT r = f32[8]{0} copy(p) }", "copy-start(x)"),
        std::pair("w { p = f32[8]{0} parameter(0) ROOT r = f32[8]{0} add(p, p) }", "add-start(x)"),
        // These no parser reads with sugar.
        std::pair("w { ROOT p = f32[8]{0} parameter(0) }", "async-start(x), calls=w"),
        std::pair("w { p = f32[8]{0} parameter(0) ROOT r = f32[8]{0} constant({...}) }",
                  "async-start(x), calls=w")}) {
    CAPTURE(wrapped);
    const std::string text = fmt::format(
        "HloModule m\n{}\nENTRY e {{ x = f32[8] parameter(0) s = ((f32[8]), f32[8], "
        "u32[]) async-start(x), calls=w ROOT d = f32[8] async-done(s) }}",
        wrapped);
    CHECK_THAT(Reprint(text), Catch::Contains(as_xla));
    const std::string again = Reprint(text, lossless);
    CHECK_THAT(again, Catch::Contains("async-start(x), calls=w"));
    CHECK(Reprint(again, lossless) == again);
  }
}

TEST_CASE("chains of any length, nested and in threads, survive both forms", "[parser][async]") {
  std::string chain =
      "w0 = ((f32[8]), f32[8], u32[]) negate-start(x), "
      "async_execution_thread=\"t\", output_to_operand_aliasing={{1}: (0, {})}\n";
  for (int i = 1; i <= 20; ++i) {
    chain += fmt::format(
        "w{} = ((f32[8]), f32[8], u32[]) negate-update(w{}), metadata={{op_name="
        "\"u{}\"}}\n",
        i, i - 1, i);
  }
  chain += "ROOT d = f32[8] negate-done(w20)";
  const std::string inner =
      "s = ((f32[8]), f32[8], u32[]) call-start(x), async_execution_thread=\"t\", to_apply={ "
      "p = f32[8] parameter(0) i = ((f32[8]), f32[8], u32[]) abs-start(p), "
      "async_execution_thread=\"t\" ROOT j = f32[8] abs-done(i) }\nROOT d = f32[8] call-done(s)";
  const std::string nested =
      "ROOT d = f32[8] negate-done(((f32[8]), f32[8], u32[]) "
      "negate-start(f32[8] x))";
  for (const std::string& text : {chain, inner, nested}) {
    CAPTURE(text);
    const std::string sugared = Reprint(AsyncEntry(text));
    CHECK_THAT(sugared, Catch::StartsWith("HloModule m"));
    CHECK_THAT(sugared, !Catch::Contains("async-start("));
    CHECK(Reprint(sugared) == sugared);
    const std::string generic = Reprint(AsyncEntry(text), GenericPrint());
    CHECK_THAT(generic, !Catch::Contains("negate-start"));
    CHECK(Reprint(generic, GenericPrint()) == generic);
    CHECK(Reprint(generic) == sugared);
  }
}

TEST_CASE("what is accepted but odd is warned about", "[parser][warnings]") {
  const auto warnings = [](std::string_view text) {
    std::vector<Diagnostic> found;
    ParserOptions options;
    options.warnings = &found;
    REQUIRE(ParseModule(text, "t", options).ok());
    std::string out;
    for (const Diagnostic& warning : found) {
      CHECK(warning.severity == Severity::kWarning);
      CHECK(warning.loc.known());
      out += warning.message + "\n";
    }
    return out;
  };
  CHECK(warnings(AsyncEntry("s = ((f32[8]), f32[8], u32[]) negate-start(x)\nROOT d = f32[8] "
                            "negate-done(s, y)")) ==
        "an asynchronous done has one operand; the others are dropped\n");
  CHECK(warnings("HloModule m, input_output_alias={ {}: (0, {}), {}: (1, {}) } ENTRY e (a: f32[]) "
                 "-> f32[] { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }") ==
        "a second alias of output {}; the first one counts\n"
        "computation `e` is declared with 1 parameters, but has 2\n");
  CHECK(warnings(Entry("ROOT p = f32[2]{0:D(C)} parameter(0), statistics={}, "
                       "metadata={op_name=\"a\" stack_frame_id=3}")) ==
        "stack frame 3 is not in the tables, or they are broken there\n"
        "the level types of a layout are dropped\nstatistics without a number are dropped\n");
  CHECK(warnings(Entry("ROOT c = pred[2] constant(true)")) ==
        "one value for `pred[2]`; the others are false\n");
  CHECK(warnings(Entry("ROOT c = f32[] constant(1)")).empty());
}

TEST_CASE("of one kind of warning the first few are shown and the others counted",
          "[parser][warnings]") {
  std::string text = "HloModule m\nENTRY e {\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("c{} = f32[2] constant({})\n", i, i);
  text += "ROOT p = f32[2] parameter(0), statistics={}\n}\n";
  std::vector<Diagnostic> found;
  ParserOptions options;
  options.warnings = &found;
  REQUIRE(ParseModule(text, "t", options).ok());
  REQUIRE(found.size() == 7);
  CHECK(found[4].message == "one value for `f32[2]`; the others are 0");
  CHECK(found[5].severity == Severity::kNote);
  CHECK(found[5].message == "35 more like it");
  CHECK(found[6].message == "statistics without a number are dropped");
}

TEST_CASE("a literal of its own has all its values", "[parser][literals]") {
  CHECK_FALSE(ParseLiteralWithShape("s32[2] 7").ok());
  CHECK_FALSE(ParseLiteral("true", Shape::Array(ElementType::kPred, {2})).ok());
}

PrintOptions LosslessPrint() {
  PrintOptions options = PrintOptions::ShortParsable();
  options.lossless = true;
  return options;
}

TEST_CASE("the lossless print uses the short form where it says the same", "[parser][async]") {
  // Operands that updates bind, and threads of their own.
  const std::string late = AsyncEntry(
      "s = ((f32[8]), f32[8], u32[]) add-start(x), async_execution_thread=\"t\"\n"
      "u = ((f32[8], f32[8]), f32[8], u32[]) add-update(s, y)\n"
      "ROOT d = f32[8] add-done(u)");
  CHECK_THAT(Reprint(late, LosslessPrint()), Catch::Contains("add-update(s, y)"));
  CHECK(Reprint(Reprint(late, LosslessPrint()), LosslessPrint()) == Reprint(late, LosslessPrint()));
  // The done's layout is not that of the computation.
  CHECK_THAT(Reprint("HloModule m\n"
                     "w { p = f32[2,2] parameter(0) ROOT n = f32[2,2] negate(p) }\n"
                     "ENTRY e {\nx = f32[2,2] parameter(0)\n"
                     "s = ((f32[2,2]), f32[2,2], u32[]) async-start(x), calls=w\n"
                     "ROOT d = f32[2,2]{0,1} async-done(s)\n}\n",
                     LosslessPrint()),
             Catch::Contains("async-start(x), calls=w"));
}

TEST_CASE("only a start whose computation would take a name prints in full", "[parser][async]") {
  const std::string text =
      "HloModule m\n"
      "v { p = f32[8] parameter(0) ROOT n = f32[8] abs(p) }\n"
      "w { p = f32[8] parameter(0) ROOT n = f32[8] negate(p) }\n"
      "ENTRY e {\nnegate = f32[8] parameter(0)\n"
      "s = ((f32[8]), f32[8], u32[]) async-start(negate), calls=v\n"
      "t = ((f32[8]), f32[8], u32[]) async-start(negate), calls=w\n"
      "d = f32[8] async-done(s)\nf = f32[8] async-done(t)\nROOT r = f32[8] add(d, f)\n}\n";
  const std::string printed = Reprint(text, LosslessPrint());
  CHECK_THAT(printed, Catch::Contains("abs-start(negate)"));
  CHECK_THAT(printed, Catch::Contains("async-start(negate), calls=w"));
  CHECK(Reprint(printed, LosslessPrint()) == printed);
}

TEST_CASE("an element keeps its line where its name in a reader's eyes is taken",
          "[parser][print]") {
  PrintOptions options = LosslessPrint();
  options.compact_gte = true;
  const auto entry = [](std::string_view name) {
    return fmt::format(
        "HloModule m\nENTRY e {{\nt = (f32[4], f32[4]) parameter(0)\n"
        "x = f32[4] get-tuple-element(t), index=0\ny = f32[4] get-tuple-element(t), index=1\n"
        "ROOT {} = f32[4] add(x, y)\n}}\n",
        name);
  };
  CHECK_THAT(Reprint(entry("sum"), options), Catch::Contains("add(t#0, t#1)"));
  const std::string printed = Reprint(entry("t_0"), options);
  CHECK_THAT(printed, Catch::Contains("add(x, t#1)"));
  CHECK(Reprint(printed, options) == printed);
}

}  // namespace
}  // namespace hlo

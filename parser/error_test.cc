// Messages and places, exactly as a user sees them.
#include <catch2/catch.hpp>

#include "lib/types/reserved_words.h"
#include "parser/parser_test.h"

namespace hlo {
namespace {

TEST_CASE("an unknown opcode suggests the nearest one", "[parser][errors]") {
  CHECK(ErrorsOf(Entry("x = f32[] parameter(0)\nROOT y = f32[] cosin(x)")) ==
        "t:4:16: error: unknown opcode `cosin`; did you mean `cosine`?\n"
        "ROOT y = f32[] cosin(x)\n"
        "               ^~~~~\n");
}

TEST_CASE("an unknown operand suggests a name of the computation", "[parser][errors]") {
  CHECK(ErrorsOf(Entry("weights = f32[] parameter(0)\nROOT y = f32[] negate(weihgts)")) ==
        "t:4:23: error: no instruction named `weihgts` stands above in this computation; did you "
        "mean `weights`?\n"
        "ROOT y = f32[] negate(weihgts)\n"
        "                      ^~~~~~~\n");
}

TEST_CASE("an unknown attribute suggests one that the opcode has", "[parser][errors]") {
  CHECK(ErrorsOf(
            Entry("x = f32[2,3] parameter(0)\nROOT y = f32[3,2] transpose(x), dimension={1,0}")) ==
        "t:4:33: error: `transpose` has no attribute `dimension`; did you mean `dimensions`?\n"
        "ROOT y = f32[3,2] transpose(x), dimension={1,0}\n"
        "                                ^~~~~~~~~\n");
}

TEST_CASE("a name whose definition failed is not reported again", "[parser][errors]") {
  CHECK(ErrorsOf(Entry("x = f32[] parameter(0)\ny = f32[] foo(x)\nz = f32[] add(y, x)\nROOT w = "
                       "f32[] add(z, q)")) ==
        "t:4:11: error: unknown opcode `foo`\n"
        "y = f32[] foo(x)\n"
        "          ^~~\n"
        "t:6:23: error: no instruction named `q` stands above in this computation\n"
        "ROOT w = f32[] add(z, q)\n"
        "                      ^\n");
}

TEST_CASE("a second definition points at the first", "[parser][errors]") {
  CHECK(ErrorsOf(Entry("x = f32[] parameter(0)\nx = f32[] negate(x)")) ==
        "t:4:1: error: a second instruction named `x`\n"
        "x = f32[] negate(x)\n"
        "^\n"
        "t:3:1: note: `x` is defined here\n"
        "x = f32[] parameter(0)\n"
        "^\n");
}

TEST_CASE("errors in several computations are all reported", "[parser][errors]") {
  const std::string errors = ErrorsOf(
      "HloModule m\nf {\n  a = f32[] parameter(0)\n  ROOT b = f32[] nope(a)\n}\ng {\n  c = f32[ "
      "parameter(0)\n}\n"
      "ENTRY e {\n  p = f32[] parameter(0)\n  q = f32[] call(p), to_apply=f\n  ROOT r = f32[] "
      "call(p), to_apply=gg\n}\n");
  CHECK(errors ==
        "t:4:18: error: unknown opcode `nope`\n  ROOT b = f32[] nope(a)\n                 ^~~~\n"
        "t:7:12: error: expected a dimension, found `parameter`\n  c = f32[ parameter(0)\n         "
        "  ^~~~~~~~~\n"
        "t:12:36: error: no computation named `gg` stands above\n"
        "  ROOT r = f32[] call(p), to_apply=gg\n                                   ^~\n");
}

TEST_CASE("no more than the wanted number of errors is reported", "[parser][errors]") {
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += "x" + std::to_string(i) + " = f32[] nope()\n";
  const std::string text = Entry(lines);
  const auto module = ParseModule(text);
  REQUIRE_FALSE(module.ok());
  CHECK(DiagnosticsOf(module.status()).size() == 10);
  ParserOptions options;
  options.max_errors = 3;
  CHECK(DiagnosticsOf(ParseModule(text, "t", options).status()).size() == 3);
}

TEST_CASE("structural errors", "[parser][errors]") {
  const auto message = [](std::string_view text) { return MessageOf(ParseModule(text)); };
  CHECK(message("") == "expected a module or an instruction, found the end of the text");
  CHECK(message("HloModule m") == "expected a computation, found the end of the text");
  CHECK(message("HloModule m, is_schedule=true ENTRY e { ROOT c = s32[] constant(1) }") ==
        "a module has no attribute `is_schedule`; did you mean `is_scheduled`?");
  CHECK(message("HloModule m ENTRY e { }") == "a computation without instructions");
  CHECK(message("HloModule m ENTRY e { a = s32[] constant(1)") ==
        "expected an instruction or `}`, found the end of the text");
  CHECK(message(Entry("ROOT a = s32[] constant(1)\nROOT b = s32[] constant(1)")) ==
        "a second `ROOT` in this computation");
  CHECK(message("HloModule m ENTRY e { ROOT c = s32[] constant(1) } ENTRY f { ROOT c = s32[] "
                "constant(1) }") == "a second `ENTRY` in this module");
  CHECK(message("HloModule m ENTRY e (p: f32[]) -> s32[] { ROOT p = f32[] parameter(0) }") ==
        "computation `e` is declared to return `s32[]`, but its root `p` has shape `f32[]`");
  CHECK(message(Entry("x=f32[] parameter(0)")) == "expected a blank between the name `x` and `=`");
  CHECK(message(Entry("%f32 = f32[] parameter(0)")) ==
        "`f32` cannot be the name of an instruction; `f32_` could");
  CHECK(message(Entry("a = f32[] parameter(1)")) ==
        "the computation has a parameter 1, but no parameter 0");
  CHECK(message(Entry("a = f32[] parameter(0)\nb = f32[] parameter(0)")) ==
        "a second parameter 0 in this computation");
  CHECK(message(Entry("a = f32[] parameter(9000000000000)")) ==
        "parameter number 9000000000000 leaves a gap, expected 0, 1, 2, … without gaps");
  CHECK(message(Entry("a = f32[] parameter(0)\nROOT b = f32[] add(a)")) ==
        "`add` expects 2 operands (lhs, rhs), found 1");
  CHECK(message(Entry("a = f32[] parameter(0)\nROOT b = f32[] negate(f32[3] a)")) ==
        "operand `a` is declared `f32[3]` here, but has shape `f32[]`");
  CHECK(message(Entry("a = f32[] parameter(0)\nROOT b = f32[3] iota()")) ==
        "`iota` needs the attribute `iota_dimension`");
  CHECK(message(Entry("a = f32[] parameter(0)\nROOT b = bitcast(a)")) ==
        "`bitcast` needs its shape written");
  CHECK(message(Entry("a = f32[] parameter(0), sharding={replicated}, sharding={replicated}")) ==
        "attribute `sharding` is given twice");
}

TEST_CASE("a NUL byte is an error wherever it stands", "[parser][errors]") {
  const auto message = [](std::string_view text) { return MessageOf(ParseModule(text)); };
  using namespace std::string_view_literals;
  CHECK(message("HloModule m\n\0"sv) == "a NUL byte in the text");
  CHECK(message("HloModule m, frontend_attributes={a=\"b\0\"}"sv) == "a NUL byte in the text");
}

TEST_CASE("a mesh has so many axes", "[parser][errors]") {
  std::string axes = "\"a\"=1";
  for (int i = 0; i < 1024; ++i) axes += fmt::format(",\"a{}\"=1", i);
  CHECK(MessageOf(ParseSharding("{mesh[" + axes + "], replicated}")) ==
        "a mesh of more than 1024 axes");
}

TEST_CASE("layouts that are not filled in are missed in custom calls", "[parser][errors]") {
  const auto message = [](std::string_view call) {
    ParserOptions options;
    options.fill_missing_layouts = false;
    const std::string text = Entry(
        fmt::format("x = f32[4]{{0}} parameter(0)\nROOT y = {}, custom_call_target=\"f\"", call));
    return MessageOf(ParseModule(text, "t", options));
  };
  CHECK(message("f32[4] custom-call(x), operand_layout_constraints={f32[4]{0}}") ==
        "the result of a custom call with `operand_layout_constraints` needs a layout, found "
        "`f32[4]`");
  CHECK(message("f32[4]{0} custom-call(x), operand_layout_constraints={f32[4]}") ==
        "operand layout constraint 0, `f32[4]`, has no layout");
}

TEST_CASE("each reserved word is a name with `%` only, and is printed so", "[parser][errors]") {
  PrintOptions lossless = PrintOptions::ShortParsable();
  lossless.lossless = true;
  for (const std::string_view word : kReservedWords) {
    CAPTURE(word);
    const std::string line = fmt::format("{} = f32[] parameter(0)", word);
    CHECK(Reprint(Entry(line)).find("error") != std::string::npos);
    CHECK(Reprint(Entry("ROOT %" + line), lossless).find("ROOT %" + line) != std::string::npos);
  }
}

TEST_CASE("frequent mistakes are recognised", "[parser][errors]") {
  const auto message = [](std::string_view text) { return MessageOf(ParseModule(text)); };
  CHECK(message(Entry("s1 = f32[] parameter(0)")) ==
        "`s1` is an element type and cannot be the name of an instruction; `s1_` could");
  CHECK(message(Entry("true = f32[] parameter(0)")) ==
        "`true` is a reserved word; as the name of an instruction write `%true`");
  CHECK(message(Entry("a = F32[2] parameter(0)")) ==
        "`F32` is no element type; did you mean `f32`?");
  CHECK(message(Entry("a = float[2] parameter(0)")) == "`float` is no element type");
  CHECK(message(Entry("a = f32[]{} parameter(0)")) ==
        "expected an opcode, found `{`; an empty layout is not written");
  CHECK(message("HloModule m ENTRY e { a = f32[] parameter(0) b = f32[] call(a), to_apply=e }") ==
        "no computation named `e` stands above: a computation cannot call itself");
  CHECK(message("f (x: f32[]) -> f32[] { ROOT x = f32[] parameter(0) }") ==
        "expected `=` after the name of a single instruction (a module without a header starts "
        "with `ENTRY`, or with a computation without a signature), found `(`");
}

TEST_CASE("what fails silently in XLA has a message and a place", "[parser][errors]") {
  for (const char* line :
       {"a = f32[4]{0} parameter(0)\nr = f32[8] all-gather(a), dimensions={}",
        "a = f32[4]{0} parameter(0)\nr = f32[4] all-to-all(a), dimensions={0,1}",
        "a = f32[4]{0} parameter(0)\nr = f32[4] concatenate(a), dimensions={0,0}",
        "a = f32[4]{0} parameter(0)\nr = s32[] get-dimension-size(a), dimensions={}",
        "a = f32[4]{0} parameter(0)\nr = f32[4] negate(a), metadata={profile_type={7}}",
        "a = (f32[2,2]{0,0}) parameter(0)", "a = b(token[]) parameter(0)",
        "a = f32[-4] parameter(0)",
        "a = f32[4]{0} parameter(0)\nr = f32[4] negate(a), statistics={visualizing_index=0,x=inf}",
        "a = f32[4]{0} parameter(0), sharding={devices=[2,2]<=[4] last_tile_dims={foo}}",
        "a = f32[4]{0} parameter(0), parameter_replication={1}",
        "a = f32[4]{0} parameter(0), frontend_attributes={k=1}",
        "a = s32[] parameter(0)\nr = s32[] conditional(a), branch_computations={}",
        "a = token[] parameter(0)\nb = (f32[], u32[], token[]) recv(a), channel_id=1\n"
        "c = (f32[], token[]) recv-done(b), channel_id=2"}) {
    CAPTURE(line);
    const auto module = ParseModule(Entry(line));
    REQUIRE_FALSE(module.ok());
    const std::vector<Diagnostic> errors = DiagnosticsOf(module.status());
    CHECK(errors[0].loc.known());
    CHECK(errors[0].message.size() > 10);
  }
}

TEST_CASE("inputs on which XLA aborts are ordinary errors", "[parser][errors]") {
  for (const char* line :
       {"a = token[2] parameter(0)", "a = token[]{:S(1)} parameter(0)",
        "a = opaque[2] parameter(0)", "a = f32[2]{0:L(0)} parameter(0)",
        "a = f32[2]{0:T(-1)} parameter(0)", "a = f32[2,2]{0,0} parameter(0)",
        "a = token[] constant(1)", "a = s32[] constant(true)", "a = f32[] partition-id()",
        "a = f32[] tuple()", "a = f32[] parameter(0), origin={{\"a\"},{\"b\"}}",
        "a = f32[] parameter(0), sharding={devices=[2,2]<=[4] last_tile_dim_replicate "
        "last_tile_dims={manual}}",
        "a = f32[] parameter(0)\nb = f32[] negate(a), parameter_replication={true}",
        "a = token[] parameter(0)\nb = () infeed(a)",
        "a = f32[2] parameter(0)\nb = get-tuple-element(a), index=0",
        "a = (f32[2]) parameter(0)\nb = get-tuple-element(a), index=1",
        "a = f32[] parameter(0)\nb = f32[] tanh(a), result_accuracy={tolerance={atol=-1}}",
        "a = f32[] parameter(0)\nb = f32[] dot(a)",
        "a = f32[2,2] parameter(0)\nb = f32[2,2] triangular-solve(a, a), transpose_a=FOO"}) {
    CAPTURE(line);
    CHECK_FALSE(ErrorsOf(Entry(line)) == "accepted");
  }
}

TEST_CASE("deep nesting is refused before the stack ends", "[parser][errors]") {
  const int depth = 100000;
  std::string operands = "x";
  std::string open, close;
  for (int i = 0; i < depth; ++i) {
    open += "negate(";
    close += ")";
  }
  const std::string nested = Entry("x = f32[] parameter(0)\nROOT y = f32[] " + open + "x" + close);
  CHECK(MessageOf(ParseModule(nested)) == "the text nests deeper than 500 levels");
  CHECK(MessageOf(ParseShape(std::string(depth, '(') + std::string(depth, ')'))) ==
        "the text nests deeper than 500 levels");
  std::string computations = "ENTRY e { x = f32[] parameter(0)";
  for (int i = 0; i < depth; ++i)
    computations += " y = f32[] call(x), to_apply={ x = f32[] parameter(0)";
  CHECK(MessageOf(ParseModule(computations)) == "the text nests deeper than 500 levels");
}

TEST_CASE("absurd sizes are errors, not allocations", "[parser][errors]") {
  CHECK_FALSE(ErrorsOf(Entry("a = f32[4000000000000000000] constant({1})")) == "accepted");
  CHECK_FALSE(ErrorsOf(Entry("a = f32[4000000000] constant({1})")) == "accepted");
  CHECK_FALSE(ErrorsOf(Entry("a = f32[4000000000,4000000000] parameter(0)")) == "accepted");
  CHECK_FALSE(
      ErrorsOf(Entry("a = f32[] parameter(0), sharding={devices=[9000000000]<=[9000000000]}")) ==
      "accepted");
}

}  // namespace
}  // namespace hlo

// Texts that try to take for ever, or all memory, or to overflow something: deep, wide, long, huge.
// Each is read (and, if it is a module, verified and printed) in a few seconds of processor time,
// or refused with a place.
#include <catch2/catch.hpp>
#include <ctime>
#include <functional>
#include <vector>

#include "lib/ir/verifier.h"
#include "parser/parser_test.h"

namespace hlo {
namespace {

constexpr int kMany = 1'000'000;
constexpr double kSeconds = 10;  // of processor time; usual builds need a tenth

std::string Repeat(std::string_view piece, int count) {
  std::string out;
  out.reserve(piece.size() * static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) out += piece;
  return out;
}

// piece(0) piece(1) … with `between` between them.
std::string Series(int count, std::string_view between,
                   const std::function<std::string(int)>& piece) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += between;
    out += piece(i);
  }
  return out;
}

// "accepted", "invalid: <message>" from the verifier, or the first message of the parser. Fails the
// test when it takes too long, has no place or says too much.
std::string Outcome(std::string_view text) {
  const std::clock_t start = std::clock();
  const auto source = std::make_shared<const Source>("t", std::string(text));
  const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(source);
  absl::Status status = module.status();
  std::string prefix;
  if (module.ok()) {
    status = Verify(**module);
    prefix = "invalid: ";
    CHECK(!ToText(**module).empty());
  }
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < kSeconds);
  if (status.ok()) return "accepted";
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  const Diagnostic first = DiagnosticsOf(status).front();
  CHECK(first.loc.known());
  CHECK(uint64_t{first.loc.offset} + first.loc.length <= text.size());
  CHECK(Render(status, source.get()).size() < 20'000);
  return (prefix + first.message).substr(0, 2000);
}

const std::string kSum =
    "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n";
std::string WithSum(std::string_view lines) {
  return "HloModule m\n" + kSum + "ENTRY e {\n" + std::string(lines) + "\n}\n";
}

constexpr std::string_view kTooDeep = "the text nests deeper than 500 levels";

}  // namespace

TEST_CASE("deep nesting is refused, whatever nests", "[parser][limits]") {
  const auto nested = [](std::string_view open, std::string_view inside, std::string_view close) {
    return Repeat(open, kMany) + std::string(inside) + Repeat(close, kMany);
  };
  CHECK(Outcome(Entry("  p = " + nested("(", "f32[]", ")") + " parameter(0)")) == kTooDeep);
  CHECK(Outcome(Entry("  p = " + Repeat("(", kMany))) == kTooDeep);
  CHECK(Outcome(Entry("  p = " + nested("b(", "f32[]", ")") + " parameter(0)")) == kTooDeep);
  CHECK(Outcome("HloModule m\nENTRY e (p: " + nested("(", "f32[]", ")") + ") -> f32[] {") ==
        kTooDeep);
  CHECK(Outcome(Entry("  p = f32[] parameter(0)\n  r = f32[] " + nested("negate(", "p", ")"))) ==
        kTooDeep);
  CHECK(Outcome(Entry("  p = f32[] parameter(0)\n  r = f32[] call(p), to_apply=" +
                      nested("{ ROOT c = f32[] call(), to_apply=", "f", "}"))) == kTooDeep);
  const std::string origin =
      "  p = f32[] parameter(0), origin={" + nested("(", "{\"a\"}", ")") + "}";
  CHECK(Outcome(Entry(origin)) == kTooDeep);
}

TEST_CASE("the limit of nesting is where it is said to be", "[parser][limits]") {
  const auto shape = [](int levels) {
    return Entry("  p = " + Repeat("(", levels) + "f32[]" + Repeat(")", levels) + " parameter(0)");
  };
  // The instruction is a level, too.
  CHECK(Outcome(shape(499)) == "accepted");
  CHECK(Outcome(shape(500)) == kTooDeep);
}

TEST_CASE("a million brackets in a place for one are an error", "[parser][limits]") {
  for (const std::string attribute :
       {"sharding", "backend_config", "frontend_attributes", "metadata", "statistics", "window",
        "replica_groups", "control-predecessors", "literal", "operand_layout_constraints",
        "output_to_operand_aliasing", "nonsense"}) {
    for (const std::string brackets : {"{}", "()", "[]"}) {
      CAPTURE(attribute, brackets);
      const std::string value =
          Repeat(brackets.substr(0, 1), kMany / 4) + Repeat(brackets.substr(1), kMany / 4);
      const std::string outcome = Outcome(
          Entry("  p = f32[] parameter(0)\n  r = f32[] custom-call(p), custom_call_target=\"t\", " +
                attribute + "=" + value));
      // Text in braces is a backend_config.
      CHECK((outcome == "accepted") == (attribute == "backend_config" && brackets == "{}"));
    }
  }
  CHECK(Outcome(Entry("  p = f32[] constant(" + Repeat("{", kMany))) ==
        "expected a value, found `{`");
  CHECK(Outcome(Repeat("{", kMany)) != "accepted");
  CHECK(Outcome(Repeat("/* ", kMany)) == "this comment does not end");
}

TEST_CASE("a million operands", "[parser][limits]") {
  const std::string parameter = "  p = f32[] parameter(0)\n";
  const std::string operands = "(p" + Repeat(", p", kMany - 1) + ")";
  CHECK(Outcome(Entry(parameter + "  ROOT t = tuple" + operands)) == "accepted");
  CHECK(Outcome(Entry(parameter + "  ROOT t = f32[] add" + operands)) ==
        "`add` expects 2 operands (lhs, rhs), found 1000000");
  CHECK(Outcome(Entry(parameter + "  ROOT t = f32[] add(p" + Repeat(",", kMany) + ")")) ==
        "`add` expects 2 operands (lhs, rhs), found 1");
  const std::string unknown = Series(kMany, ", ", [](int i) { return "x" + std::to_string(i); });
  CHECK(Outcome(Entry(parameter + "  ROOT t = f32[] add(" + unknown + ")")) ==
        "no instruction named `x0` stands above in this computation");
}

TEST_CASE("a million attributes", "[parser][limits]") {
  const std::string line = "  p = f32[] parameter(0)\n  ROOT t = f32[] negate(p)";
  const auto number = [](int i) { return ", a" + std::to_string(i) + "=1"; };
  CHECK_THAT(Outcome(Entry(line + Series(kMany, "", number))),
             Catch::Matchers::StartsWith("`negate` has no attribute `a0`"));
  CHECK(Outcome(Entry(line + Repeat(", metadata={op_name=\"x\"}", kMany))) ==
        "attribute `metadata` is given twice");
  const auto entry = [](int i) { return "a" + std::to_string(i) + "=\"x\""; };
  CHECK(Outcome(Entry(line + ", frontend_attributes={" + Series(kMany / 4, ",", entry) + "}")) ==
        "accepted");
  const std::string succeeding = Series(kMany / 8, "\n", [](int i) {
    return "  n" + std::to_string(i) + " = f32[] negate(p), control-predecessors={p}";
  });
  CHECK(Outcome(Entry("  p = f32[] parameter(0)\n" + succeeding)) == "accepted");
  const std::string preceding = Series(
      kMany / 8, "\n", [](int i) { return "  n" + std::to_string(i) + " = f32[] negate(p)"; });
  const auto name = [](int i) { return "n" + std::to_string(i); };
  CHECK(Outcome(Entry("  p = f32[] parameter(0)\n" + preceding +
                      "\n  ROOT r = f32[] negate(p), control-predecessors={" +
                      Series(kMany / 8, ",", name) + "}")) == "accepted");
}

TEST_CASE("hundreds of thousands of computations and parameters", "[parser][limits]") {
  const int count = kMany / 5;
  const auto named = [](int i) {
    return "comp" + std::to_string(i) + " { ROOT p = f32[] parameter(0) }";
  };
  const auto called = [](int i) {
    const std::string n = std::to_string(i);
    return "  n" + n + " = f32[] call(p), to_apply=comp" + n;
  };
  CHECK(Outcome("HloModule m\n" + Series(count, "\n", named) +
                "\nENTRY e {\n  p = f32[] parameter(0)\n" + Series(count, "\n", called) +
                "\n}\n") == "accepted");
  const auto nested = [](int i) {
    return "  n" + std::to_string(i) + " = f32[] call(p), to_apply={ ROOT p = f32[] parameter(0) }";
  };
  CHECK(Outcome(Entry("  p = f32[] parameter(0)\n" + Series(count, "\n", nested))) == "accepted");
  CHECK(Outcome("HloModule m\n" + Repeat("c { ROOT p = f32[] parameter(0) }\n", count)) ==
        "a second computation named `c`");
  const auto parameter = [](int i) {
    return "  p" + std::to_string(i) + " = f32[] parameter(" + std::to_string(i) + ")";
  };
  CHECK(Outcome(Entry(Series(count, "\n", parameter))) == "accepted");
  CHECK(Outcome(Entry("  p = f32[] parameter(1000000000)")) ==
        "parameter number 1000000000 leaves a gap, expected 0, 1, 2, … without gaps");
}

TEST_CASE("shapes of high rank", "[parser][limits]") {
  const int rank = 100'000;
  const std::string shape = "f32[1" + Repeat(",1", rank - 1) + "]";
  const std::string all = Series(rank, ",", [](int i) { return std::to_string(i); });
  const std::string parameter = "  p = " + shape + " parameter(0)\n  z = f32[] constant(0)\n";
  CHECK(Outcome(Entry("  ROOT p = " + shape + "{" + all + "} parameter(0)")) == "accepted");
  CHECK_THAT(
      Outcome(Entry("  ROOT p = " + shape + "{0" + Repeat(",0", rank - 1) + "} parameter(0)")),
      Catch::Matchers::EndsWith("is not a permutation of the dimensions"));
  CHECK(Outcome(WithSum(parameter + "  ROOT r = f32[] reduce(p, z), dimensions={" + all +
                        "}, to_apply=sum")) == "accepted");
  CHECK(Outcome(Entry(parameter + "  ROOT r = " + shape + " transpose(p), dimensions={" + all +
                      "}")) == "accepted");
  CHECK(Outcome(Entry(parameter + "  ROOT r = " + shape + " broadcast(p), dimensions={" + all +
                      "}")) == "accepted");
  CHECK(Outcome(Entry(parameter + "  ROOT r = f32[] dot(p, p), lhs_contracting_dims={" + all +
                      "}, rhs_contracting_dims={" + all + "}")) == "accepted");
  CHECK(Outcome(WithSum(parameter + "  ROOT r = reduce-window(p, z), window={size=1" +
                        Repeat("x1", rank - 1) + "}, to_apply=sum")) == "accepted");
}

TEST_CASE("tuples that share their elements do not grow without end", "[parser][limits]") {
  const auto doubled = [](int i) {
    const std::string n = std::to_string(i);
    return "  t" + std::to_string(i + 1) + " = tuple(t" + n + ", t" + n + ")";
  };
  CHECK_THAT(
      Outcome(Entry("  t0 = f32[] parameter(0)\n" + Series(60, "\n", doubled))),
      Catch::Matchers::Matches("the inferred tuple shapes of this text are longer than .* bytes"));
  const auto wrapped = [](int i) {
    return "  t" + std::to_string(i + 1) + " = tuple(t" + std::to_string(i) + ")";
  };
  CHECK(Outcome(Entry("  t0 = f32[] parameter(0)\n" + Series(20'000, "\n", wrapped))) ==
        "the shape of `tuple` nests deeper than 500 levels");
}

TEST_CASE("long lists of aliases, groups and tiles", "[parser][limits]") {
  const int count = kMany / 10;
  const std::string tuple = "(f32[]" + Repeat(",f32[]", count - 1) + ")";
  const auto alias = [](int i) {
    return "{" + std::to_string(i) + "}: (0, {" + std::to_string(i) + "})";
  };
  CHECK(Outcome("HloModule m, input_output_alias={" + Series(count, ",", alias) +
                "}\nENTRY e {\n  ROOT p = " + tuple + " parameter(0)\n}\n") == "accepted");
  CHECK(Outcome(Entry("  p = " + tuple + " parameter(0)\n  ROOT r = " + tuple +
                      " custom-call(p), custom_call_target=\"t\", output_to_operand_aliasing={" +
                      Series(count, ",", alias) + "}")) == "accepted");
  const auto group = [](int i) { return "{" + std::to_string(i) + "}"; };
  Outcome(WithSum("  p = f32[] parameter(0)\n  ROOT r = f32[] all-reduce(p), replica_groups={" +
                  Series(kMany, ",", group) + "}, to_apply=sum"));
  CHECK(Outcome(Entry("  ROOT p = f32[4]{0:T" + Repeat("(2)", kMany) + "} parameter(0)")) ==
        "accepted");
}

TEST_CASE("a long chain of asynchronous updates", "[parser][limits]") {
  const std::string shape = "((f32[4]), f32[4], u32[])";
  const auto update = [&](int i) {
    return "  a" + std::to_string(i + 1) + " = " + shape + " negate-update(a" + std::to_string(i) +
           ")";
  };
  CHECK(Outcome(Entry("  p = f32[4] parameter(0)\n  a0 = " + shape + " negate-start(p)\n" +
                      Series(5000, "\n", update) + "\n  ROOT d = f32[4] negate-done(a5000)")) ==
        "accepted");
}

TEST_CASE("names of megabytes", "[parser][limits]") {
  const std::string name(10'000'000, 'a');
  CHECK(Outcome(Entry("  " + name + " = f32[] parameter(0)\n  ROOT r = f32[] negate(" + name +
                      ")")) == "accepted");
  CHECK(Outcome("HloModule " + name + "\nENTRY " + name +
                " {\n  ROOT p = f32[] parameter(0)\n}\n") == "accepted");
  CHECK(Outcome(Entry("  ROOT p = f32[] parameter(0), metadata={op_name=\"" + name + "\"}")) ==
        "accepted");
  CHECK(Outcome(Entry("  ROOT p = f32[] parameter(0), metadata={op_name=\"" + name)) ==
        "this string does not end");
  const std::string shown = "`" + std::string(119, 'a') + "..." + std::string(40, 'a') + "`";
  CHECK(Outcome(Entry("  p = f32[] parameter(0)\n  ROOT r = f32[] negate(" + name + ")")) ==
        "no instruction named " + shown + " stands above in this computation");
  CHECK(Outcome(Entry("  ROOT r = f32[] " + name + "()")) == "unknown opcode " + shown);
  CHECK_THAT(Outcome(Entry("  ROOT p = f32[] parameter(0), " + name + "=1")),
             Catch::Matchers::StartsWith("`parameter` has no attribute " + shown));
  CHECK_THAT(Outcome(Entry("  ROOT p = f32[" + std::string(10'000'000, '1') + "] parameter(0)")),
             Catch::Matchers::StartsWith("a dimension of size 111"));
  CHECK(Outcome(Entry("  ROOT p = s32[] constant(" + std::string(10'000'000, '1') + ")")) ==
        "this integer does not fit 64 bits");
  // Thousands of long candidates for one misspelt name.
  const auto parameter = [](int i) {
    return "  p" + std::to_string(i) + std::string(1000, 'b') + " = f32[] parameter(" +
           std::to_string(i) + ")";
  };
  CHECK_THAT(Outcome(Entry(Series(4000, "\n", parameter) + "\n  ROOT r = f32[] negate(" +
                           std::string(1004, 'b') + ")")),
             Catch::Matchers::StartsWith("no instruction named"));
}

TEST_CASE("numbers at the ends of 64 bits overflow nothing", "[parser][limits]") {
  // Each line stands between a parameter `p` and the end of the computation; N is the number.
  const std::vector<std::string> lines = {
      "f32[N] parameter(1)",
      "f32[N,N] parameter(1)",
      "f32[N,N,0] parameter(1)",
      "s4[N] parameter(1)",
      "f32[<=N] parameter(1)",
      "f32[N] constant({1})",
      "f32[N] constant({...})",
      "f32[0,N] constant({})",
      "pred[N] constant({1,0})",
      "s32[] constant(N)",
      "f32[] constant(N)",
      "s8[] constant(N)",
      "f32[] parameter(N)",
      "s32[N] iota(), iota_dimension=0",
      "s32[2] iota(), iota_dimension=N",
      "f32[N,N] broadcast(z), dimensions={}",
      "f32[4] broadcast(z), dimensions={N}",
      "pad(p, z), padding=N_N_N",
      "pad(p, z), padding=0_0_N",
      "pad(p, z), padding=N_0",
      "slice(p), slice={[N:N:N]}",
      "slice(p), slice={[0:4:N]}",
      "slice(p), slice={[0:N]}",
      "reduce-window(p, z), window={size=N}, to_apply=sum",
      "reduce-window(p, z), window={size=N stride=N pad=N_N lhs_dilate=N rhs_dilate=N}, "
      "to_apply=sum",
      "reduce-window(p, z), window={size=2 stride=N}, to_apply=sum",
      "reduce-window(p, z), window={size=2 pad=N_N}, to_apply=sum",
      "reduce-window(p, z), window={size=2 lhs_dilate=N}, to_apply=sum",
      "reduce-window(p, z), window={size=2 rhs_dilate=N}, to_apply=sum",
      "convolution(i, k), window={size=3 stride=N pad=N_N}, dim_labels=b0f_0io->b0f",
      "convolution(i, k), window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=N",
      "convolution(i, k), window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=N",
      "dot(p, p), lhs_contracting_dims={N}, rhs_contracting_dims={N}",
      "concatenate(p, p), dimensions={N}",
      "transpose(p), dimensions={N}",
      "reverse(p), dimensions={N}",
      "reduce(p, z), dimensions={N}, to_apply=sum",
      "sort(p), dimensions={N}, to_apply=sum",
      "get-dimension-size(p), dimensions={N}",
      "get-tuple-element(t), index=N",
      "f32[4] get-tuple-element(t), index=N",
      "negate(t#N)",
      "topk(p), k=N, largest=true",
      "f32[N] rng(z, z), distribution=rng_uniform",
      "dynamic-slice(p, o), dynamic_slice_sizes={N}",
      "fft(c), fft_type=IRFFT, fft_length={N}",
      "bitcast-convert(p)",
      "f32[2,N] reshape(p)",
      "gather(p, x), offset_dims={N}, collapsed_slice_dims={N}, start_index_map={N}, "
      "index_vector_dim=N, slice_sizes={N}",
      "gather(p, x), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={N}",
      "scatter(p, x, p), update_window_dims={N}, inserted_window_dims={N}, "
      "scatter_dims_to_operand_dims={N}, "
      "index_vector_dim=N, to_apply=sum",
      "all-gather(p), dimensions={0}, replica_groups=[1,N]<=[N]",
      "all-gather(p), dimensions={N}, replica_groups=[N,N]<=[N,N]",
      "all-reduce(p), replica_groups=[N,2]<=[2,N]T(1,0), to_apply=sum",
      "all-reduce(p), replica_groups={{N}}, channel_id=N, to_apply=sum",
      "reduce-scatter(p), replica_groups=[1,N]<=[N], dimensions={0}, to_apply=sum",
      "all-to-all(p), replica_groups=[1,N]<=[N], dimensions={0}",
      "collective-permute(p), source_target_pairs={{N,N}}",
      "all-reduce(p), replica_groups=mesh['a'=N,'b'=N] {'a'}, to_apply=sum",
      "f32[4,4]{1,0:T(N,N)} parameter(1)",
      "f32[4,4]{1,0:E(N)} parameter(1)",
      "f32[4,4]{1,0:S(N)} parameter(1)",
      "f32[4,4]{1,0:L(N)} parameter(1)",
      "f32[4,4]{1,0:M(N)} parameter(1)",
      "f32[4,4]{1,0:SC(N:N,N)} parameter(1)",
      "f32[4,4]{N,0} parameter(1)",
      "f32[4,4] parameter(1), sharding={devices=[N,N]<=[N,N]}",
      "f32[4,4] parameter(1), sharding={devices=[N,1]<=[N]}",
      "f32[4,4] parameter(1), sharding={maximal device=N}",
      "f32[4,4] parameter(1), sharding={devices=[2,1]N,0}",
      "f32[4,4] parameter(1), sharding={devices=[2,N]0,1}",
      "f32[4,4] parameter(1), sharding={devices=[2,2]<=[2,2]T(N,0)}",
      "f32[4,4] parameter(1), sharding={devices=[1,1,N]<=[N] last_tile_dim_replicate}",
      "f32[4,4] parameter(1), sharding={mesh['a'=N] [{'a'},{}]}",
      "negate(p), metadata={source_line=N stack_frame_id=N}",
      "negate(p), statistics={visualizing_index=N,a=1}"};
  for (const std::string number :
       {"9223372036854775807", "9223372036854775808", "18446744073709551616", "4611686018427387904",
        "4294967296", "-1", "-9223372036854775808", "99999999999999999999999999999999"}) {
    for (const std::string& pattern : lines) {
      std::string line;
      for (const char c : pattern) line += c == 'N' ? number : std::string(1, c);
      CAPTURE(line);
      const std::string outcome = Outcome(WithSum(
          "  p = f32[4] parameter(0)\n  z = f32[] constant(0)\n  o = s32[] constant(1)\n  t = "
          "(f32[4]) tuple(p)\n"
          "  i = f32[1,5,2] broadcast(z), dimensions={}\n  k = f32[3,2,2] broadcast(z), "
          "dimensions={}\n"
          "  x = s32[2,1] broadcast(o), dimensions={}\n  c = c64[4] complex(p, p)\n  ROOT r = " +
          line));
      CHECK(!outcome.empty());
    }
  }
  for (const std::string head :
       {"replica_count=N", "num_partitions=N", "input_output_alias={ {N}: (N, {N}) }",
        "buffer_donor={ (N, {N}) }"}) {
    std::string text;
    for (const char c : head) text += c == 'N' ? "9223372036854775807" : std::string(1, c);
    Outcome("HloModule m, " + text + "\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n");
  }
}

}  // namespace hlo

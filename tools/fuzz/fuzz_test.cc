#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <set>

#include "lib/support/file.h"
#include "passes/pipeline.h"
#include "tools/fuzz/driver.h"
#include "tools/fuzz/mutate.h"
#include "tools/fuzz/random_pipeline.h"
#include "tools/fuzz/seeds.h"
#include "tools/fuzz/vocabulary.h"

namespace hlo {
namespace {

constexpr std::string_view kText =
    "HloModule m\nENTRY e {\n  p = f32[2,3]{1,0} parameter(0)\n  ROOT r = f32[3,2] transpose(p), "
    "dimensions={1,0}\n}\n";

// Modes with known bugs.
std::string FindsX(std::string_view input) {
  return input.find('x') == std::string_view::npos ? ""
                                                   : "wrong: an x, `" + std::string(input) + "`";
}
std::string CrashesOnX(std::string_view input) {
  if (input.find('x') != std::string_view::npos) {
    std::signal(SIGSEGV, SIG_DFL);  // Catch2 has a handler of its own
    std::raise(SIGSEGV);
  }
  return "";
}
std::string LoopsOnX(std::string_view input) {
  volatile bool again = input.find('x') != std::string_view::npos;
  while (again) {
  }
  return "";
}
std::string GrowsOnX(std::string_view input) {
  std::vector<std::string> pieces;
  while (input.find('x') != std::string_view::npos) pieces.emplace_back(1 << 20, 'y');
  return "";
}

FuzzOptions Limits() {
  FuzzOptions options;
#ifdef __SANITIZE_ADDRESS__
  options.limits.seconds = 5;  // in which they are to be filled
  options.limits.megabytes = 2000;
#else
  options.limits.seconds = 0.5;
  options.limits.megabytes = 200;
#endif
  return options;
}

TEST_CASE("tables of cases give their inputs as seeds", "[fuzz][seeds]") {
  CHECK(InputOfCase(R"({"id": "a-1", "input": "e {\n\"x\"\\ \t}", "expect": "ok"})") ==
        "e {\n\"x\"\\ \t}");
  CHECK(InputOfCase(R"({"input": "\u0041\u00e9\u20ac\udcff"})") == "A\xc3\xa9\xe2\x82\xac\xff");
  CHECK(InputOfCase(R"({"id": "a-1"})").empty());
  CHECK(InputOfCase(R"({"input": "cut \u00)") == "cut u00");
}

}  // namespace

TEST_CASE("the tokens of the mutator are words, strings and single characters", "[fuzz][mutate]") {
  std::vector<std::string> tokens;
  const std::string_view text = "%a.1 = f32[2]{0} add(-1, \"x y\"), a-b=<=";
  for (const TextToken token : Tokenize(text))
    tokens.emplace_back(text.substr(token.begin, token.end - token.begin));
  CHECK(fmt::format("{}", fmt::join(tokens, "|")) ==
        "%|a.1|=|f32|[|2|]|{|0|}|add|(|-1|,|\"x y\"|)|,|a-b|=|<|=");
}

TEST_CASE("changes are the same for the same random numbers, and stay within the length",
          "[fuzz][mutate]") {
  FuzzRandom a(7), b(7);
  std::set<std::string> all;
  for (int i = 0; i < 2000; ++i) {
    const std::string first = Mutate(kText, kText, 300, a);
    CHECK(first == Mutate(kText, kText, 300, b));
    CHECK(first.size() <= 300);
    all.insert(first);
  }
  CHECK(all.size() > 1500);
  FuzzRandom c(8);
  CHECK(Mutate("", "", 10, c).size() <= 10);
}

TEST_CASE("the vocabulary comes from the tables", "[fuzz][vocabulary]") {
  CHECK(KindOf("dynamic-slice") == WordKind::kOpcode);
  CHECK(KindOf("f8e4m3fn") == WordKind::kType);
  CHECK(KindOf("lhs_contracting_dims") == WordKind::kAttribute);
  CHECK(KindOf("-12") == WordKind::kNumber);
  CHECK(KindOf("p.7") == WordKind::kOther);
  for (int kind = 0; kind < 5; ++kind) CHECK(Words(static_cast<WordKind>(kind)).size() > 30);
}

TEST_CASE("what goes wrong in a child is a finding", "[fuzz][child]") {
  const FuzzMode finds{"m", "", FindsX}, crashes{"m", "", CrashesOnX}, loops{"m", "", LoopsOnX},
      grows{"m", "", GrowsOnX};
  const FuzzOptions options = Limits();
  for (const FuzzMode& mode : {finds, crashes, loops, grows})
    CHECK(CheckOnce(mode, options, "abc").empty());
  CHECK(CheckOnce(finds, options, "axc") == "wrong: an x, `axc`");
  CHECK_THAT(CheckOnce(crashes, options, "axc"), Catch::Matchers::StartsWith("crash: "));
  CHECK_THAT(CheckOnce(loops, options, "axc"), Catch::Matchers::StartsWith("slow: "));
  CHECK_THAT(CheckOnce(grows, options, "axc"), Catch::Matchers::StartsWith("memory: "));
}

TEST_CASE("findings of one kind differ in quotes and numbers only", "[fuzz][child]") {
  CHECK(KindOfFinding("bad: `a` has 3\nmore") == KindOfFinding("bad: `b` has 12"));
  CHECK(KindOfFinding("bad: `a` has 3") != KindOfFinding("bad: `a` lacks 3"));
}

TEST_CASE("the driver finds a bug, keeps its input and goes on", "[fuzz][driver]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("hlo-fuzz-test-{}", getpid());
  FuzzOptions options = Limits();
  options.seeds = {(folder / "seeds").string()};
  options.artifacts = (folder / "found").string();
  options.runs = 3000;
  options.seconds = 60;
  std::filesystem::create_directories(folder / "seeds");
  REQUIRE(WriteFile((folder / "seeds/a.hlo").string(),
                    "HloModule m\n\nENTRY e { ROOT p = f32[] constant(1) }\n")
              .ok());
  const absl::StatusOr<int> clean =
      Fuzz({"m", "", [](std::string_view) { return std::string(); }}, options);
  REQUIRE(clean.ok());
  CHECK(*clean == 0);
  const absl::StatusOr<int> found = Fuzz({"m", "", CrashesOnX}, options);
  REQUIRE(found.ok());
  CHECK(*found == 1);
  int inputs = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder / "found")) {
    if (file.path().extension() != ".hlo") continue;
    ++inputs;
    CHECK(ReadFile(file.path().string())->find('x') != std::string::npos);
  }
  CHECK(inputs > 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a finding is made smaller", "[fuzz][driver]") {
  FuzzOptions options = Limits();
  const std::string input = "one two\nthree x four\nfive six\n";
  CHECK(Minimize({"m", "", FindsX}, options, input) == "x");
  CHECK(Minimize({"m", "", FindsX}, options, "abc") == "abc");
}

TEST_CASE("the parser mode accepts sound texts and sound refusals", "[fuzz][parser]") {
  CHECK(CheckParser(kText).empty());
  CHECK(CheckParser("HloModule m\nENTRY e {\n  r = f32[] add(q)\n}").empty());
  CHECK(CheckParser("").empty());
  CHECK(CheckParser(std::string_view("\0\xff\n", 3)).empty());
}

TEST_CASE("random pipelines can be read, and their passes have options", "[fuzz][passes]") {
  std::set<std::string> options;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    FuzzRandom random(seed), again(seed);
    const std::string text = RandomPipelineText(5, random);
    CHECK(text == RandomPipelineText(5, again));
    CAPTURE(text);
    const absl::StatusOr<Pipeline> pipeline = ParsePipeline(text);
    REQUIRE(pipeline.ok());
    CHECK(pipeline->size() >= 1);
    CHECK(pipeline->size() <= 5);
    CHECK(text.find("enable_fast_math") == std::string::npos);
    for (size_t at = text.find('{'); at < text.size(); at = text.find('{', at + 1))
      options.insert(text.substr(at, text.find('}', at) - at));
  }
  CHECK(options.size() > 100);
}

TEST_CASE("a finding of mode passes names its passes", "[fuzz][passes]") {
  const std::string pinned = WithPasses(kText);
  CHECK(pinned.starts_with("// PASSES: "));
  CHECK(pinned.ends_with(kText));
  CHECK(WithPasses(pinned) == pinned);
  CHECK(PassesFor(pinned) == PassesFor(kText));
}

TEST_CASE("programs of mode passes are for several devices", "[fuzz][passes]") {
  int collectives = 0, shardings = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    FuzzRandom random(seed);
    const std::string text = RandomInputOfPasses(random);
    if (text.find("replica_groups=") != std::string::npos) ++collectives;
    if (text.find("sharding={") != std::string::npos) ++shardings;
  }
  CHECK(collectives > 10);
  CHECK(shardings > 5);
}

}  // namespace hlo

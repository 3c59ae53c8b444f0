#include "tools/support/flags.h"

#include <catch2/catch.hpp>

#include "lib/support/strings.h"

namespace hlo {
namespace {

struct Fixture {
  Flags flags{"tool", "[flags] FILE...", "A tool."};
  bool on = true;
  bool verbose = false;
  int64_t count = 3;
  double rate = 0.5;
  std::string name;
  std::vector<std::string> inputs;
  Fixture() {
    flags.Group("Common");
    flags.Add("on", &on, "a switch");
    flags.Add("verbose_mode,v", &verbose);
    flags.Add("count", &count, "N", "a number");
    flags.Add("rate", &rate);
    flags.Add("name,n", &name, "NAME", "a text");
    flags.Add("input", &inputs, "VALUE", "repeated");
  }
  absl::Status Parse(std::vector<const char*> words) {
    words.insert(words.begin(), "tool");
    return flags.Parse(static_cast<int>(words.size()), words.data());
  }
};

TEST_CASE("flags are read in every spelling", "[tools][flags]") {
  Fixture f;
  REQUIRE(f.Parse({"--no-on", "-verbose-mode", "--count", "-7", "-rate=2.5", "-n", "x y",
                   "--input=a,b", "--input", "c", "file", "-", "--", "--on"})
              .ok());
  CHECK_FALSE(f.on);
  CHECK(f.verbose);
  CHECK(f.count == -7);
  CHECK(f.rate == 2.5);
  CHECK(f.name == "x y");
  CHECK(f.inputs == std::vector<std::string>{"a,b", "c"});
  CHECK(f.flags.positional() == std::vector<std::string>{"file", "-", "--on"});
  CHECK(f.flags.given("verbose-mode"));
}

TEST_CASE("defaults stay without a flag", "[tools][flags]") {
  Fixture f;
  REQUIRE(f.Parse({}).ok());
  CHECK(f.on);
  CHECK(f.count == 3);
  CHECK_FALSE(f.flags.given("count"));
}

TEST_CASE("what cannot be read is named", "[tools][flags]") {
  const std::pair<const char*, const char*> cases[] = {
      {"--cuont=3", "unknown flag `--cuont`; did you mean `--count`?"},
      {"--count=x", "`--count` expects an integer, found `x`"},
      {"--count=3x", "`--count` expects an integer, found `3x`"},
      {"--rate=fast", "`--rate` expects a number, found `fast`"},
      {"--on=maybe", "`--on` expects true or false, found `maybe`"},
      {"--no-on=true", "`--no-on` takes no value"},
      {"--no-count", "unknown flag `--no-count`"},
      {"--name", "`--name` needs a value"},
  };
  for (const auto& [word, message] : cases) {
    Fixture f;
    const absl::Status status = f.Parse({word});
    CAPTURE(word);
    REQUIRE_FALSE(status.ok());
    CHECK(std::string(ToStd(status.message())).find(message) != std::string::npos);
  }
}

TEST_CASE("unknown xla flags are passed over with a warning", "[tools][flags]") {
  Fixture f;
  REQUIRE(f.Parse({"--xla_cpu_new_thing=1"}).ok());
  REQUIRE(f.flags.warnings().size() == 1);
  CHECK(f.flags.warnings()[0] == "`--xla_cpu_new_thing` is not a flag of XLA and has no effect");
}

TEST_CASE("the help lists flags with text under their titles", "[tools][flags]") {
  Fixture f;
  const std::string help = f.flags.Help();
  CHECK(help.find("usage: tool [flags] FILE...") == 0);
  CHECK(help.find("Common:\n  --on ") != std::string::npos);
  CHECK(help.find("-n, --name=NAME") != std::string::npos);
  CHECK(help.find("verbose") == std::string::npos);
}

}  // namespace
}  // namespace hlo

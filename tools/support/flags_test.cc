#include "tools/support/flags.h"

#include <catch2/catch.hpp>

#include "lib/support/strings.h"

namespace hlo {
namespace {

struct Fixture {
  Flags flags{"tool", "[flags] FILE...", "A tool."};
  bool on = true;
  bool verbose = false;
  int64_t count = 3, level = 0;
  double rate = 0.5;
  std::string name;
  std::vector<std::string> inputs;
  Fixture() {
    flags.Group("Common");
    flags.Add("on", &on, "a switch");
    flags.Add("verbose_mode,v", &verbose);
    flags.Add("count", &count, FlagValues::Between(-10, 10), "N", "a number");
    flags.Add("rate", &rate, FlagValues::From(0).With({"count", "on"}));
    flags.Add("level", &level, FlagValues::From(0), "[2|N]");
    flags.Add("name,n", &name, FlagValues::Some(), "NAME", "a text");
    flags.Add("input", &inputs, FlagValues::Any(), "VALUE", "repeated");
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
      {"--name=", "`--name` needs a value"},
      {"--count=11", "`--count` expects -10 to 10, found `11`"},
      {"--count=99999999999999999999", "`--count` expects -10 to 10, found `99999999999999999999`"},
      {"--level=99999999999999999999", "`--level` expects an integer of 64 bits"},
      {"--level=-1", "`--level` expects a number that is not negative, found `-1`"},
      {"--rate=1", "`--rate` has no effect without `--count` or `--on`"},
  };
  for (const auto& [word, message] : cases) {
    Fixture f;
    const absl::Status status = f.Parse({word});
    CAPTURE(word);
    REQUIRE_FALSE(status.ok());
    CHECK(std::string(ToStd(status.message())).find(message) != std::string::npos);
  }
}

TEST_CASE("a number after a flag whose value may be left out is its value", "[tools][flags]") {
  Fixture f;
  REQUIRE(f.Parse({"--level", "7", "-level", "file"}).ok());
  CHECK(f.level == 2);
  CHECK(f.flags.positional() == std::vector<std::string>{"file"});
  Fixture g;
  REQUIRE(g.Parse({"--level", "7"}).ok());
  CHECK(g.level == 7);
}

TEST_CASE("the given words repeat what was given", "[tools][flags]") {
  Fixture f;
  REQUIRE(f.Parse({"--input=a", "--no-on", "--input", "b", "--count=1", "--count=2"}).ok());
  CHECK(f.flags.GivenWords({"on"}) ==
        std::vector<std::string>{"--count=2", "--input=a", "--input=b"});
  CHECK(f.flags.GivenWords({"count", "input"}) == std::vector<std::string>{"--on=false"});
}

TEST_CASE("sizes in words", "[tools][flags]") {
  CHECK(BytesOf("512") == 512);
  CHECK(BytesOf("1.5K") == 1536);
  CHECK(BytesOf("2T") == uint64_t{2} << 40);
  for (const std::string_view wrong : {"", "K", "0", "-1M", "1MB", "much", "1e300"}) {
    CAPTURE(wrong);
    CHECK(BytesOf(wrong) == 0);
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

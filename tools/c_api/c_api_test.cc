#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/c_api/hlo.h"

namespace hlo {
namespace {

constexpr const char* kAdd = R"(HloModule add
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  s = f32[2] add(x, y)
  d = f32[2] multiply(x, s)
  ROOT t = (f32[2], f32[2]) tuple(s, d)
}
)";

struct Free {
  void operator()(hlo_module* module) const { hlo_module_free(module); }
  void operator()(hlo_program* program) const { hlo_program_free(program); }
  void operator()(hlo_value* value) const { hlo_value_free(value); }
};
using ModulePtr = std::unique_ptr<hlo_module, Free>;
using ProgramPtr = std::unique_ptr<hlo_program, Free>;
using ValuePtr = std::unique_ptr<hlo_value, Free>;

// The message of an error, which it frees; empty where there is none.
std::string Take(hlo_error* error, int* code = nullptr) {
  if (code != nullptr) *code = hlo_error_code(error);
  std::string message = hlo_error_message(error);
  hlo_error_free(error);
  return message;
}

ModulePtr Parse(const char* text) {
  hlo_module* module = nullptr;
  REQUIRE(Take(hlo_module_parse(text, std::strlen(text), "add.hlo", &module)).empty());
  return ModulePtr(module);
}

ProgramPtr Compile(const hlo_module& module, const char* platform, const char* options = nullptr) {
  hlo_program* program = nullptr;
  REQUIRE(Take(hlo_compile(&module, platform, options, &program)).empty());
  return ProgramPtr(program);
}

ValuePtr Value(const char* text) {
  hlo_value* value = nullptr;
  REQUIRE(Take(hlo_value_parse(text, &value)).empty());
  return ValuePtr(value);
}

std::string TakeText(hlo_error* error, char* const& text) {
  REQUIRE(Take(error).empty());
  std::string taken = text;
  hlo_string_free(text);
  return taken;
}

std::string Run(const hlo_program& program, std::vector<const hlo_value*> arguments) {
  hlo_value* result = nullptr;
  REQUIRE(Take(hlo_program_run(&program, arguments.data(), arguments.size(), &result)).empty());
  const ValuePtr owned(result);
  char* text = nullptr;
  hlo_error* const error = hlo_value_print(result, &text);
  return TakeText(error, text);
}

std::vector<std::string> Platforms() {
  std::vector<std::string> names;
  std::string all = hlo_platforms();
  while (!all.empty()) {
    const size_t comma = std::min(all.find(','), all.size());
    if (!all.starts_with("gpu")) names.push_back(all.substr(0, comma));
    all.erase(0, comma + 1);
  }
  return names;
}

TEST_CASE("a module is compiled once and run on several threads", "[c-api]") {
  const ModulePtr module = Parse(kAdd);
  CHECK(hlo_module_parameter_count(module.get()) == 2);
  const ValuePtr x = Value("f32[2] {1, 2}");
  hlo_value* made = nullptr;
  const int64_t two = 2;
  const float elements[2] = {10, 20};
  REQUIRE(Take(hlo_value_array("f32", &two, 1, elements, sizeof elements, &made)).empty());
  const ValuePtr y(made);
  for (const std::string& platform : Platforms()) {
    INFO(platform);
    const ProgramPtr program = Compile(*module, platform.c_str(), "threads=2");
    std::vector<std::string> results(4);
    std::vector<std::thread> threads;
    for (std::string& result : results)
      threads.emplace_back([&] { result = Run(*program, {x.get(), y.get()}); });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& result : results)
      CHECK(result == "(f32[2], f32[2]) ( {11, 22}, {11, 44} )");
  }
}

TEST_CASE("values are looked at, built of others, and read back", "[c-api]") {
  const ValuePtr x = Value("bf16[2,3] {{1,2,3},{4,5,6}}");
  CHECK(hlo_value_type(x.get()) == std::string("bf16"));
  CHECK(hlo_value_rank(x.get()) == 2);
  CHECK(hlo_value_dimensions(x.get())[1] == 3);
  CHECK(hlo_value_element_count(x.get()) == 6);
  CHECK(hlo_value_bytes(x.get()) == 12);
  CHECK(hlo_value_tuple_size(x.get()) == 0);
  CHECK(hlo_value_element(x.get(), 0) == nullptr);
  hlo_value* made = nullptr;
  const hlo_value* const parts[] = {x.get(), x.get()};
  REQUIRE(Take(hlo_value_tuple(parts, 2, &made)).empty());
  const ValuePtr pair(made);
  CHECK(hlo_value_type(pair.get()) == std::string("tuple"));
  CHECK(hlo_value_tuple_size(pair.get()) == 2);
  CHECK(hlo_value_rank(pair.get()) == 0);
  CHECK(hlo_value_dimensions(pair.get()) == nullptr);
  CHECK(hlo_value_data(hlo_value_element(pair.get(), 1)) == hlo_value_data(x.get()));
  CHECK(hlo_value_element(pair.get(), 2) == nullptr);
}

TEST_CASE("passes change a module; it is printed and serialized", "[c-api]") {
  const ModulePtr module = Parse(kAdd);
  hlo_module* copied = nullptr;
  REQUIRE(Take(hlo_module_clone(module.get(), &copied)).empty());
  const ModulePtr clone(copied);
  bool changed = true;
  REQUIRE(Take(hlo_module_run_passes(clone.get(), "dce", &changed)).empty());
  CHECK_FALSE(changed);
  REQUIRE(Take(hlo_module_run_passes(
                   clone.get(), "element_type_converter{eliminate_type=f32,replace_with_type=f64}",
                   &changed))
              .empty());
  char* text = nullptr;
  hlo_error* error = hlo_module_print(clone.get(), &text);
  const std::string printed = TakeText(error, text);
  CHECK(printed.starts_with("HloModule add"));
  error = hlo_module_result_shape(module.get(), &text);
  CHECK(TakeText(error, text) == "(f32[2], f32[2])");
  error = hlo_module_parameter_shape(module.get(), 1, &text);
  CHECK(TakeText(error, text) == "f32[2]");
  char* bytes = nullptr;
  size_t size = 0;
  REQUIRE(Take(hlo_module_serialize(module.get(), &bytes, &size)).empty());
  CHECK(size > 100);
  hlo_string_free(bytes);
}

TEST_CASE("a saved program runs as the one it was", "[c-api]") {
  const ModulePtr module = Parse(kAdd);
  const ValuePtr x = Value("f32[2] {1, 2}");
  const std::string path = std::tmpnam(nullptr);
  for (const std::string& platform : Platforms()) {
    INFO(platform);
    const ProgramPtr program = Compile(*module, platform.c_str());
    REQUIRE(Take(hlo_program_save(program.get(), path.c_str())).empty());
    hlo_program* read = nullptr;
    REQUIRE(Take(hlo_program_load(path.c_str(), "threads=1", &read)).empty());
    const ProgramPtr loaded(read);
    CHECK(Run(*loaded, {x.get(), x.get()}) == Run(*program, {x.get(), x.get()}));
    CHECK(hlo_program_memory_bytes(loaded.get()) == hlo_program_memory_bytes(program.get()));
    REQUIRE(Take(hlo_program_save(loaded.get(), path.c_str())).empty());
  }
  std::remove(path.c_str());
}

TEST_CASE("what is wrong is said, with its place", "[c-api]") {
  hlo_module* module = nullptr;
  const std::string bad = "HloModule m\nENTRY e {\n  ROOT x = f32[2] paramter(0)\n}\n";
  int code = 0;
  const std::string message =
      Take(hlo_module_parse(bad.data(), bad.size(), "bad.hlo", &module), &code);
  CHECK(message.starts_with("bad.hlo:3:19: error: unknown opcode `paramter`; did you mean"));
  CHECK(message.find("^~~") != std::string::npos);
  CHECK(code == HLO_BAD_INPUT);
  CHECK(module == nullptr);
  CHECK(Take(hlo_module_read("no/m.hlo", &module)).find("no/m.hlo") != std::string::npos);
  CHECK(Take(hlo_module_parse(nullptr, 0, nullptr, &module)) == "error: argument `text` is NULL\n");

  const ModulePtr good = Parse(kAdd);
  CHECK(Take(hlo_module_run_passes(good.get(), "dcee", nullptr)).find("did you mean `dce`") !=
        std::string::npos);
  hlo_program* program = nullptr;
  CHECK(Take(hlo_compile(good.get(), "cpuu", nullptr, &program)).find("unknown platform `cpuu`") !=
        std::string::npos);
  CHECK(Take(hlo_compile(good.get(), "interpreter", "thread=2", &program)) ==
        "error: unknown option `thread`; did you mean `threads`?; there are threads, seed, "
        "cpu-features, target, denormals, run-passes\n");
  CHECK(Take(hlo_compile(good.get(), "interpreter", "threads=two", &program)) ==
        "error: option `threads` expects a number, found `two`\n");
  CHECK(program == nullptr);

  const ProgramPtr made = Compile(*good, "interpreter");
  const ValuePtr x = Value("f32[3] {1, 2, 3}");
  const hlo_value* const arguments[] = {x.get(), x.get()};
  hlo_value* result = nullptr;
  CHECK(Take(hlo_program_run(made.get(), arguments, 1, &result)).find("takes 2 arguments, got 1") !=
        std::string::npos);
  CHECK(Take(hlo_program_run(made.get(), arguments, 2, &result))
            .find("argument 0 has shape `f32[3]`") != std::string::npos);
  CHECK(result == nullptr);
  hlo_value* value = nullptr;
  const int64_t two = 2;
  CHECK(Take(hlo_value_array("f33", &two, 1, &two, 8, &value)).find("f33") != std::string::npos);
  CHECK(Take(hlo_value_array("f32", &two, 1, &two, 7, &value)) ==
        "error: `f32[2]` has 8 bytes, but 7 are given\n");
  CHECK(Take(hlo_program_load("no/x.hlox", nullptr, &program)).find("no/x.hlox") !=
        std::string::npos);
}

}  // namespace
}  // namespace hlo

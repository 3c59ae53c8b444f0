// Runs the cases of a golden table of texts: parses each input and compares the prints byte for
// byte.
//
// Reads from standard input a stream of cases made by scripts/check_cases.py: fields as `<bytes>
// <text>\n`, seven per case: id, `ok` or `error`, input, default print, short print, canonical
// print, hlo-opt print (an empty field is not compared; `hlo-opt` is the default print without
// sugar). Writes one line per case: id, TAB, `pass` or what is wrong. `--show=ID` writes the input,
// the wanted and the real prints of one case. `--fixed-point` asks another question of each case
// that parses: does every style's print, made lossless, read back and print alike?
#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "lib/ir/any_instruction.h"
#include "lib/ir/printer.h"
#include "lib/support/diagnostic.h"
#include "parser/parser.h"

namespace hlo {
namespace {

struct Case {
  std::string_view id, expect, input;
  std::string_view prints[4];  // default, short, canonical, hlo-opt
};

// Takes one field off the front of `stream`.
std::string_view TakeField(std::string_view& stream) {
  const size_t blank = stream.find(' ');
  const size_t size = std::stoul(std::string(stream.substr(0, blank)));
  const std::string_view field = stream.substr(blank + 1, size);
  stream.remove_prefix(blank + 2 + size);
  return field;
}

PrintOptions OptionsOf(int print) {
  if (print == 1) return PrintOptions::ShortParsable();
  if (print == 2) return PrintOptions::Canonical();
  PrintOptions options = PrintOptions::Default();
  options.syntax_sugar_async_ops = print == 0;
  return options;
}

// "pass", or what is wrong.
std::string Run(const Case& c, bool show) {
  static constexpr std::string_view kNames[] = {"default", "short", "canonical", "hlo-opt"};
  const auto source = std::make_shared<const Source>("case", std::string(c.input));
  const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(source);
  if (!module.ok()) {
    if (show) fmt::print("{}\n", Render(module.status(), source.get()));
    if (c.expect == "error")
      return module.status().code() == absl::StatusCode::kInvalidArgument ? "pass"
                                                                          : "internal error";
    return fmt::format("refused: {}", DiagnosticsOf(module.status()).front().message);
  }
  if (c.expect == "error") return "accepted";
  std::string wrong;
  for (int i = 0; i < 4; ++i) {
    if (c.prints[i].empty()) continue;
    const std::string text = ToText(**module, OptionsOf(i));
    if (text == c.prints[i]) continue;
    if (!wrong.empty()) wrong += ", ";
    wrong += fmt::format("{} print differs", kNames[i]);
    if (show) fmt::print("---- wanted ({})\n{}---- got\n{}", kNames[i], c.prints[i], text);
  }
  return wrong.empty() ? "pass" : wrong;
}

struct Style {
  std::string_view name;
  PrintOptions options;
  bool whole_module;  // else only the entry computation is compared
};

std::vector<Style> Styles() {
  PrintOptions plain = PrintOptions::Default();
  plain.syntax_sugar_async_ops = false;
  // Bodies stand in every place where they are called, and once more by themselves: read again,
  // they are computations of their own.
  PrintOptions canonical = PrintOptions::Canonical();
  canonical.syntax_sugar_async_ops = false;
  std::vector<Style> styles = {{"default", PrintOptions::Default(), true},
                               {"long", PrintOptions::Long(), true},
                               {"short", PrintOptions::ShortParsable(), true},
                               {"hlo-opt", PrintOptions::HloOpt(), true},
                               {"without sugar", plain, true},
                               {"canonical", canonical, false}};
  for (Style& style : styles) {
    style.options.lossless = true;
    style.options.control_dependencies = style.whole_module;  // they decide on the order
    style.options.large_constants = true;                     // an elided tuple does not read back
  }
  return styles;
}

bool HasControlDependencies(const Module& module) {
  for (const Instruction* instruction : AllInstructions(module)) {
    if (!instruction->control_predecessors().empty()) return true;
  }
  return false;
}

// The entry computation without its name.
std::string EntryText(const Module& module, PrintOptions options) {
  options.in_nested_computation = true;
  return ToText(*module.entry(), options);
}

// "pass", or the styles whose print does not read back as it was.
std::string CheckFixedPoint(const Case& c, bool show) {
  std::string wrong;
  for (const Style& style : Styles()) {
    const auto print = [&](const Module& module) { return ToText(module, style.options); };
    const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(c.input);
    if (!module.ok()) return "pass";
    // Canonical names have no control dependencies.
    if (!style.whole_module && HasControlDependencies(**module)) continue;
    const std::string once = print(**module);
    const auto source = std::make_shared<const Source>(std::string(style.name), once);
    const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(source);
    std::string problem;
    if (!again.ok()) {
      problem = "refused: " + DiagnosticsOf(again.status()).front().message;
      if (show) fmt::print("{}\n", Render(again.status(), source.get()));
    } else if (style.whole_module
                   ? print(**again) != once
                   : EntryText(**again, style.options) != EntryText(**module, style.options)) {
      problem = "differs";
      if (show) fmt::print("---- {}\n{}---- again\n{}", style.name, once, print(**again));
    }
    if (!problem.empty())
      wrong += fmt::format("{}{} print {}", wrong.empty() ? "" : ", ", style.name, problem);
  }
  return wrong.empty() ? "pass" : wrong;
}

int RunAll(std::string_view only, bool fixed_point) {
  const std::string all{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  std::string_view stream = all;
  while (!stream.empty()) {
    Case c;
    c.id = TakeField(stream);
    c.expect = TakeField(stream);
    c.input = TakeField(stream);
    for (std::string_view& print : c.prints) print = TakeField(stream);
    if (!only.empty() && c.id != only) continue;
    if (!only.empty()) fmt::print("---- input\n{}\n", c.input);
    fmt::print("{}\t{}\n", c.id,
               fixed_point ? CheckFixedPoint(c, !only.empty()) : Run(c, !only.empty()));
  }
  return 0;
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) {
  std::string_view only;
  bool fixed_point = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--show=")) only = argument.substr(7);
    if (argument == "--fixed-point") fixed_point = true;
  }
  return hlo::RunAll(only, fixed_point);
}

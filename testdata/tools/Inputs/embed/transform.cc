// Runs passes on a module by the C++ interface: transform PIPELINE, the module on standard input.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "lib/ir/printer.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  auto module = hlo::ParseModule(text, "stdin");
  if (!module.ok()) {
    std::fputs(hlo::Render(module.status(), nullptr).c_str(), stderr);
    return 1;
  }
  hlo::PassContext context;
  const auto result = hlo::RunPipelineText(argv[1], **module, context);
  if (!result.ok()) {
    std::fputs(hlo::Render(result.status(), nullptr).c_str(), stderr);
    return 1;
  }
  std::cout << hlo::ToText(**module, hlo::PrintOptions::HloOpt());
}

// Which modules, and which parts of them, are printed beside passes.
//
//   PrintFilter filter;
//   filter.ops.emplace("dot");
//   filter.TextOf(module, options)      "%main {\n  %d = f32[4,4]{1,0} dot(%a, %b), …\n}\n"
//
// Regular expressions are looked for anywhere in a name. What is not set takes everything.
#pragma once

#include <optional>
#include <regex>
#include <string>

#include "lib/ir/module.h"
#include "lib/ir/printer.h"

namespace hlo {

struct PrintFilter {
  std::optional<std::regex> modules;       // names of modules
  std::optional<std::regex> computations;  // names of computations
  std::optional<std::regex> ops;           // names or opcodes of instructions

  bool TakesModule(const Module& module) const;
  bool takes_all() const { return !modules && !computations && !ops; }
  // The module, or what is taken of it; empty: nothing.
  std::string TextOf(const Module& module, const PrintOptions& options) const;
};

}  // namespace hlo

// The analyses as text, by name: what `hlo-opt --print-analysis=NAME,…` shows, and what their tests
// read (testdata/analysis).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/ir/module.h"

namespace hlo {

struct AnalysisPrinter {
  std::string_view name;
  std::string_view summary;
  std::string (*print)(const Module& module);
};

// Sorted by name.
std::span<const AnalysisPrinter> AllAnalysisPrinters();
// Null when there is none of that name.
const AnalysisPrinter* FindAnalysisPrinter(std::string_view name);

}  // namespace hlo

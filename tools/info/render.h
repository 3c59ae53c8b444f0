// The forms in which hlo-info writes its reports.
#pragma once

#include <string>
#include <vector>

#include "tools/info/report.h"

namespace hlo {

struct TextOptions {
  bool exact = false;  // numbers in full
  bool all = false;    // sections without anything to say, too
};
// For readers: aligned, numbers with units.
std::string ToText(const ModuleReport& report, const TextOptions& options);

// As ToText, of several modules that have facts alone to say: a table with a line for each.
std::string ToTable(const std::vector<ModuleReport>& reports, const TextOptions& options);

// {"schema":1,"modules":[{"file":…,"module":…,"SECTION":{FACTS…,"rows":[{…},…]},…},…]}; null is
// what is not known. `more_rows`: how many were left out.
std::string ToJson(const std::vector<ModuleReport>& reports);

// The table of the one section that each report has, or its facts where it has no table: a line
// with the names, then a line for each row. The file comes first.
std::string ToCsv(const std::vector<ModuleReport>& reports);

// Numbers for readers: `12.3k`, `1.2 ms`, `47.1%`.
std::string CountText(double count);
std::string SecondsText(double seconds);

}  // namespace hlo

#include <fmt/format.h>

#include "tools/info/render.h"

namespace hlo {
namespace {

// In quotes where it has to be.
std::string CsvQuoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

struct CsvText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return CsvQuoted(value); }
  std::string operator()(const std::vector<double>& values) const {
    return fmt::format("{}", fmt::join(values, " "));
  }
};

void AppendHead(const Section& section, std::string& out) {
  out += "file";
  for (const ReportColumn& column : section.columns()) out += fmt::format(",{}", column.name);
  if (section.columns().empty()) {
    for (const ReportFact& fact : section.facts()) out += fmt::format(",{}", fact.name);
  }
  out += '\n';
}

}  // namespace

std::string ToCsv(const std::vector<ModuleReport>& reports) {
  std::string out;
  for (const ModuleReport& report : reports) {
    const Section& section = report.sections.front();
    if (out.empty()) AppendHead(section, out);
    const std::string file = CsvQuoted(report.file);
    for (const std::vector<Datum>& row : section.rows()) {
      out += file;
      for (const Datum& value : row) out += ',' + std::visit(CsvText(), value.content());
      out += '\n';
    }
    if (!section.columns().empty()) continue;
    out += file;
    for (const ReportFact& fact : section.facts())
      out += ',' + std::visit(CsvText(), fact.value.content());
    out += '\n';
  }
  return out;
}

}  // namespace hlo

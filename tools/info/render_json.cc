#include <fmt/format.h>

#include "lib/support/json_value.h"
#include "tools/info/render.h"

namespace hlo {
namespace {

struct JsonText {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return JsonQuoted(value); }
  std::string operator()(const std::vector<double>& values) const {
    return fmt::format("[{}]", fmt::join(values, ","));
  }
};

void AppendMember(std::string_view name, const Datum& value, std::string& out) {
  if (out.back() != '{') out += ',';
  out += JsonQuoted(name) + ':' + std::visit(JsonText(), value.content());
}

void AppendRows(const Section& section, std::string& out) {
  if (out.back() != '{') out += ',';
  out += "\"rows\":[";
  for (const std::vector<Datum>& row : section.rows()) {
    out += out.back() == '[' ? "{" : ",\n{";
    for (size_t i = 0; i < row.size(); ++i) AppendMember(section.columns()[i].name, row[i], out);
    out += '}';
  }
  out += ']';
  if (section.dropped() > 0)
    AppendMember("more_rows", static_cast<int64_t>(section.dropped()), out);
}

void AppendSection(const Section& section, std::string& out) {
  out += fmt::format(",\n{}:{{", JsonQuoted(section.name()));
  for (const ReportFact& fact : section.facts()) AppendMember(fact.name, fact.value, out);
  if (!section.columns().empty()) AppendRows(section, out);
  out += '}';
}

}  // namespace

std::string ToJson(const std::vector<ModuleReport>& reports) {
  std::string out = "{\"schema\":1,\"modules\":[";
  for (const ModuleReport& report : reports) {
    out += fmt::format("{}\n{{\"file\":{},\"module\":{}", &report == reports.data() ? "" : ",",
                       JsonQuoted(report.file), JsonQuoted(report.module));
    for (const Section& section : report.sections) AppendSection(section, out);
    out += '}';
  }
  return out + "]}\n";
}

}  // namespace hlo

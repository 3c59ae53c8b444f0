#include "tools/opt/dump_index.h"

#include "lib/support/file.h"
#include "lib/support/json_value.h"
#include "lib/support/strings.h"
#include "tools/opt/reports.h"
#include "tools/support/markup.h"

namespace hlo {
namespace {

constexpr std::string_view kIndexHead = R"(<!DOCTYPE html>
<meta charset="utf-8">
<title>passes</title>
<style>
body { font: 13px monospace; margin: 1em; }
td, th { padding: 0 1em; text-align: right; }
td:first-child, th:first-child, td:last-child { text-align: left; }
.same { color: #90a4ae; }
</style>
)";

std::string LinkTo(const std::string& file) {
  return file.empty() ? "" : fmt::format("<a href=\"{0}\">{0}</a>", MarkupText(file));
}

std::string HtmlTable(const DumpedModule& module) {
  std::string out = fmt::format(
      "<h1>{}</h1>\n<p>before the passes: {}</p>\n<table>\n<tr><th>pass</th><th>ms</th>"
      "<th>instructions</th><th>change</th><th></th></tr>\n",
      MarkupText(module.name), LinkTo(module.first_dump));
  for (const PassRun& run : module.runs) {
    out += fmt::format("<tr{}><td>{}</td><td>{:.3f}</td><td>{}</td><td>{:+}</td><td>{}</td></tr>\n",
                       run.changed ? "" : " class=\"same\"", MarkupText(run.name), run.milliseconds,
                       run.instructions_after, run.instructions_after - run.instructions_before,
                       LinkTo(run.dump));
  }
  return out + "</table>\n";
}

}  // namespace

absl::Status WriteDumpIndex(const std::string& folder, const std::vector<DumpedModule>& modules) {
  std::string html(kIndexHead), json;
  for (const DumpedModule& module : modules) {
    html += HtmlTable(module);
    PipelineResult result;
    result.runs = module.runs;
    json += fmt::format("{}{{\"module\":{},\"before\":{},\"passes\":{}}}", json.empty() ? "" : ",",
                        JsonQuoted(module.name), JsonQuoted(module.first_dump), TimesJson(result));
  }
  RETURN_IF_ERROR(WriteFile(folder + "/index.html", html));
  return WriteFile(folder + "/index.json",
                   fmt::format("{{\"schema\":1,\"modules\":[{}]}}\n", json));
}

}  // namespace hlo

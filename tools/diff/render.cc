#include "tools/diff/render.h"

#include <fmt/format.h>

#include "lib/ir/printer.h"
#include "lib/support/json_value.h"
#include "lib/support/strings.h"
#include "tools/support/markup.h"

namespace hlo {
namespace {

std::string Line(const Instruction* instruction) {
  if (instruction == nullptr) return "";
  PrintOptions print = PrintOptions::HloOpt();
  print.metadata = false;
  return ToText(*instruction, print);
}

std::string_view KindOf(const Edit& edit) {
  if (edit.before == nullptr) return "added";
  return edit.after == nullptr ? "removed" : "changed";
}

// `%main`, or both names where they differ.
std::string NameOf(const ComputationDiff& diff) {
  if (diff.after == nullptr) return fmt::format("%{}", diff.before->name());
  if (diff.before == nullptr || diff.before->name() == diff.after->name())
    return fmt::format("%{}", diff.after->name());
  return fmt::format("%{}, %{}", diff.before->name(), diff.after->name());
}

std::string WhatText(const Edit& edit) { return Join(edit.what, ", "); }

std::string SumText(const ModuleDiff& diff) {
  return fmt::format("{} instruction{} the same, {} changed, {} removed, {} added", diff.same,
                     diff.same == 1 ? " is" : "s are", diff.changed, diff.removed, diff.added);
}

constexpr std::string_view kRed = "\033[31m", kGreen = "\033[32m", kPlain = "\033[0m";

}  // namespace

std::string DiffText(const ModuleDiff& diff, const DiffNames& names, bool color) {
  if (diff.equal)
    return fmt::format("{} and {} compute the same, {} instructions\n", names.before, names.after,
                       diff.same);
  std::string text = fmt::format("--- {}\n+++ {}\n", names.before, names.after);
  const auto line = [&](char sign, const std::string& content) {
    const std::string_view begin = !color ? "" : sign == '-' ? kRed : kGreen;
    text += fmt::format("{}{} {}{}\n", begin, sign, content, color ? kPlain : "");
  };
  for (const std::string& what : diff.declarations) text += fmt::format("~ {}\n", what);
  for (const ComputationDiff& computation : diff.computations) {
    text += fmt::format("computation {}\n", NameOf(computation));
    for (const Edit& edit : computation.edits) {
      if (!edit.what.empty()) text += fmt::format("~ {}\n", WhatText(edit));
      if (edit.before != nullptr) line('-', Line(edit.before));
      if (edit.after != nullptr) line('+', Line(edit.after));
    }
  }
  return text + SumText(diff) + "\n";
}

std::string DiffJson(const ModuleDiff& diff, const DiffNames& names) {
  const auto list = [](const std::vector<std::string>& words) {
    std::vector<std::string> quoted;
    for (const std::string& word : words) quoted.push_back(JsonQuoted(word));
    return Join(quoted, ",");
  };
  std::string edits;
  for (const ComputationDiff& computation : diff.computations) {
    for (const Edit& edit : computation.edits) {
      edits += fmt::format(
          R"({}{{"computation":{},"kind":"{}","before":{},"after":{},"what":[{}]}})",
          edits.empty() ? "" : ",", JsonQuoted(NameOf(computation)), KindOf(edit),
          edit.before == nullptr ? "null" : JsonQuoted(Line(edit.before)),
          edit.after == nullptr ? "null" : JsonQuoted(Line(edit.after)), list(edit.what));
    }
  }
  return fmt::format(
      R"({{"schema":1,"before":{},"after":{},"equal":{},"same":{},"changed":{},"removed":{},"added":{},)"
      R"("declarations":[{}],"edits":[{}]}})"
      "\n",
      JsonQuoted(names.before), JsonQuoted(names.after), diff.equal, diff.same, diff.changed,
      diff.removed, diff.added, list(diff.declarations), edits);
}

std::string DiffHtml(const ModuleDiff& diff, const DiffNames& names) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>{0} and {1}</title>\n"
      "<style>body {{ font: 13px monospace; margin: 1em; }} summary {{ cursor: pointer; }}\n"
      "td {{ white-space: pre-wrap; vertical-align: top; padding: .1em .5em; }}\n"
      ".removed td:first-child, .changed td:nth-child(1) {{ background: #ffebee; }}\n"
      ".added td:nth-child(2), .changed td:nth-child(2) {{ background: #e8f5e9; }}\n"
      "td:nth-child(3) {{ color: #607d8b; }}</style>\n"
      "<h3>{0} and {1}</h3>\n<p>{2}</p>\n",
      MarkupText(names.before), MarkupText(names.after),
      diff.equal ? "They compute the same." : MarkupText(SumText(diff)));
  for (const std::string& what : diff.declarations)
    page += fmt::format("<p>different: {}</p>\n", MarkupText(what));
  for (const ComputationDiff& computation : diff.computations) {
    page += fmt::format("<details open><summary>{}</summary><table>\n",
                        MarkupText(NameOf(computation)));
    for (const Edit& edit : computation.edits) {
      page += fmt::format("<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td></tr>\n", KindOf(edit),
                          MarkupText(Line(edit.before)), MarkupText(Line(edit.after)),
                          MarkupText(WhatText(edit)));
    }
    page += "</table></details>\n";
  }
  return page;
}

}  // namespace hlo

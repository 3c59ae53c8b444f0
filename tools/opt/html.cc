#include "tools/opt/html.h"

#include <fmt/core.h>

#include "lib/ir/printer.h"
#include "lib/types/shape.h"
#include "tools/support/markup.h"

namespace hlo {
namespace {

// The page is a Python program, too, which shows itself: what stands in front of the closing quotes
// is one text to Python, and its first line is the only thing that a browser must not show.
constexpr std::string_view kProgramHead = "#!/usr/bin/env python3\nr'''";
constexpr std::string_view kProgramTail = R"(<!--
'''
import pathlib, webbrowser
webbrowser.open(pathlib.Path(__file__).resolve().as_uri())
# -->
)";

constexpr std::string_view kPageHead = R"(<style>
body { font: 13px monospace; margin: 1em; }
summary { cursor: pointer; padding: .2em 0; }
.i { padding: 0 .4em; white-space: pre; border-left: 8px solid; }
.i.root { font-weight: bold; }
.i.user { background: #fff3b0; }
.i:target { outline: 2px solid #d32f2f; }
.n { cursor: pointer; }
.s, .a { color: #607d8b; }
a { color: #1565c0; text-decoration: none; }
#q { width: 30em; }
</style>
<input id="q" placeholder="name, opcode, shape: shows what contains it">
)";

constexpr std::string_view kPageTail = R"(<script>
document.body.firstChild.remove();
const lines = [...document.querySelectorAll('.i')];
document.getElementById('q').oninput = e => {
  const text = e.target.value;
  for (const line of lines) line.hidden = !line.textContent.includes(text);
  if (text) for (const part of document.querySelectorAll('details'))
    part.open = [...part.querySelectorAll('.i')].some(line => !line.hidden);
};
document.body.onclick = e => {
  if (!e.target.classList.contains('n')) return;
  const id = e.target.parentNode.id;
  for (const line of lines) line.classList.toggle('user', line.dataset.o.split(' ').includes(id));
};
onhashchange = () => {
  const part = document.querySelector(location.hash)?.closest('details');
  if (part) part.open = true;
};
</script>
)";

// What stands between the brackets of `opcode(…)`, and what follows them.
std::pair<std::string_view, std::string_view> Brackets(std::string_view text,
                                                       std::string_view opcode) {
  const std::string head = fmt::format(" {}(", opcode);
  const size_t begin = text.find(head);
  if (begin == std::string_view::npos) return {"", ""};
  const size_t first = begin + head.size();
  int depth = 1;
  size_t end = first;
  for (bool quoted = false; end < text.size() && depth > 0; ++end) {
    if (text[end] == '"') quoted = !quoted;
    if (quoted && text[end] == '\\') ++end;
    if (!quoted) depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
  }
  if (depth > 0) return {"", ""};
  return {text.substr(first, end - 1 - first), text.substr(end)};
}

std::string HtmlLine(const Instruction& instruction, const NodeColors& colors) {
  PrintOptions print = PrintOptions::Default();
  print.percent = false;
  const std::string text = ToText(instruction, print);
  const auto [inside, rest] = Brackets(text, instruction.opcode_text());
  std::string ids, operands;
  for (const Instruction* operand : instruction.operands()) {
    ids += fmt::format("{}i{}", ids.empty() ? "" : " ", operand->id());
    operands += fmt::format("{}<a href=\"#i{}\">{}</a>", operands.empty() ? "" : ", ",
                            operand->id(), MarkupText(operand->name()));
  }
  if (operands.empty()) operands = MarkupText(inside);
  std::string calls;
  for (const Computation* callee : instruction.calls()) {
    calls +=
        fmt::format(" <a href=\"#c{}\">{}</a>", callee->root()->id(), MarkupText(callee->name()));
  }
  return fmt::format(
      "<div class=\"i{}\" id=\"i{}\" data-o=\"{}\" style=\"border-color:{}\"><span "
      "class=\"n\">{}</span> = "
      "<span class=\"s\">{}</span> {}({})<span class=\"a\">{}</span>{}</div>\n",
      instruction.is_root() ? " root" : "", instruction.id(), ids, colors.Of(instruction),
      MarkupText(instruction.name()), MarkupText(fmt::format("{}", instruction.shape())),
      instruction.opcode_text(), operands, MarkupText(rest), calls);
}

}  // namespace

std::string ToHtml(const Module& module, const NodeColors& colors) {
  const std::string name = MarkupText(module.name());
  std::string out = fmt::format(
      "{4}<meta charset=\"utf-8\">\n<title>{0}</title>\n{1}<h1>{0}</h1>\n<p>{2} instructions in "
      "{3} computations</p>\n",
      name, kPageHead, module.instruction_count(), module.computation_count(), kProgramHead);
  std::vector<Computation*> order = module.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {  // callers first
    const Computation& computation = *order[i];
    out += fmt::format("<details id=\"c{}\"{}><summary>{}{} ({} instructions)</summary>\n",
                       computation.root()->id(), computation.is_entry() ? " open" : "",
                       computation.is_entry() ? "ENTRY " : "", MarkupText(computation.name()),
                       computation.instruction_count());
    for (const Instruction* instruction : computation.SequenceOrPostOrder())
      out += HtmlLine(*instruction, colors);
    out += "</details>\n";
  }
  out += kPageTail;
  out += kProgramTail;
  return out;
}

}  // namespace hlo

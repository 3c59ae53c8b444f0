#include "tools/opt/dot.h"

#include <fmt/core.h>

#include "lib/types/shape.h"

namespace hlo {
namespace {

std::string DotEscaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '{' || c == '}' || c == '<' || c == '>' || c == '|')
      out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string ToDot(const Module& module, const NodeColors& colors) {
  std::string out = fmt::format(
      "digraph \"{}\" {{\n  compound=true;\n  node [shape=record, style=filled, "
      "fontname=\"monospace\", fontsize=10];\n",
      DotEscaped(module.name()));
  std::string calls;
  for (const Computation* computation : module.computations()) {
    out += fmt::format("  subgraph \"cluster_{0}\" {{\n    label=\"{1}{0}\";\n",
                       computation->name(), computation->is_entry() ? "ENTRY " : "");
    for (const Instruction* instruction : computation->instructions()) {
      out +=
          fmt::format("    n{} [label=\"{{{}|{}|{}}}\", fillcolor=\"{}\"{}];\n", instruction->id(),
                      DotEscaped(instruction->name()), instruction->opcode_text(),
                      DotEscaped(fmt::format("{}", instruction->shape())), colors.Of(*instruction),
                      instruction->is_root() ? ", penwidth=2" : "");
    }
    for (const Instruction* instruction : computation->instructions()) {
      for (const Instruction* operand : instruction->operands())
        out += fmt::format("    n{} -> n{};\n", operand->id(), instruction->id());
      for (const Instruction* before : instruction->control_predecessors())
        out += fmt::format("    n{} -> n{} [style=dashed];\n", before->id(), instruction->id());
      for (const Computation* callee : instruction->calls()) {
        calls += fmt::format("  n{} -> n{} [style=dotted, lhead=\"cluster_{}\"];\n",
                             instruction->id(), callee->root()->id(), callee->name());
      }
    }
    out += "  }\n";
  }
  return out + calls + "}\n";
}

}  // namespace hlo

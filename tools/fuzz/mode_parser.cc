// Mode `parser`. For every text:
//   - it is a module, or there are errors of the user's kind, each in a place inside the text
//   - the verifier accepts the module or says where it is wrong
//   - every print style reads back, and prints the same again
//   - a clone prints the same
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/ir/any_instruction.h"
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "parser/parser.h"
#include "tools/fuzz/fuzz_mode.h"

namespace hlo {
namespace {

struct Style {
  std::string_view name;
  PrintOptions options;
  enum class Back { kSame, kSameEntry, kNever } back;
};

std::vector<Style> MakeStyles() {
  PrintOptions everything;
  everything.large_constants = true;
  everything.operand_shape = true;
  PrintOptions bare = PrintOptions::ShortParsable();
  bare.program_shape = true;
  bare.syntax_sugar_async_ops = false;
  using Back = Style::Back;
  // The canonical style writes called computations where they stand and where they are called; the
  // latter become computations of their own. Fingerprints leave out what a reader needs.
  std::vector<Style> styles = {
      {"default", PrintOptions::Default(), Back::kSame},
      {"short", PrintOptions::ShortParsable(), Back::kSame},
      {"canonical", PrintOptions::Canonical(), Back::kSameEntry},
      {"hlo-opt", PrintOptions::HloOpt(), Back::kSame},
      {"everything", everything, Back::kSame},
      {"bare", bare, Back::kSame},
      {"fingerprint", PrintOptions::Fingerprint(), Back::kNever},
      {"module-fingerprint", PrintOptions::ModuleFingerprint(), Back::kNever}};
  for (Style& style : styles) style.options.lossless = style.back != Back::kNever;
  styles.push_back({"xla", PrintOptions::Default(), Back::kNever});
  return styles;
}

// What is wrong with a refusal, or "".
std::string CheckRefusal(std::string_view who, const absl::Status& status, const Source& source) {
  const std::vector<Diagnostic> diagnostics = DiagnosticsOf(status);
  if (status.code() != absl::StatusCode::kInvalidArgument) {
    return fmt::format("{} broke: {}", who,
                       diagnostics.empty() ? "?" : diagnostics.front().message);
  }
  if (diagnostics.empty()) return fmt::format("{} without a message: ", who);
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.message.empty()) return fmt::format("{} with an empty message: ", who);
    if (!diagnostic.loc.known())
      return fmt::format("{} without a place: {}", who, diagnostic.message);
    if (uint64_t{diagnostic.loc.offset} + diagnostic.loc.length > source.text().size())
      return fmt::format("{} outside the text: {}", who, diagnostic.message);
  }
  if (Render(diagnostics, &source).empty()) return fmt::format("{} renders as nothing: ", who);
  return "";
}

// The first line in which two texts differ.
std::string Difference(std::string_view a, std::string_view b) {
  size_t at = 0, start = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) {
    if (a[at++] == '\n') start = at;
  }
  const auto line = [&](std::string_view text) {
    return text.substr(start, std::min<size_t>(text.find('\n', start) - start, 300));
  };
  return fmt::format("`{}` becomes `{}`", line(a), line(b));
}

// Bodies that are written in full after these operations are not read there.
bool HasUnreadableBodies(const Module& module) {
  for (const Computation* computation : module.computations()) {
    if (computation->execution_thread() != "main") return true;
    if (computation->MayHoldAny({Opcode::kAsyncStart, Opcode::kReduceScatter, Opcode::kScan}))
      return true;
  }
  return false;
}

// `%tuple#index` says nothing about elements that nobody reads, and is checked when it is read.
bool LosesElements(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    return instruction.opcode() == Opcode::kGetTupleElement && !instruction.is_used();
  });
}

// The shapes of an asynchronous chain say what is wrapped, in its short form; where they contradict
// the wrapped computation, the text does not say both.
bool HasAsync(const Module& module) {
  return AnyInstruction(module, [](const Instruction& instruction) {
    return instruction.opcode() == Opcode::kAsyncStart;
  });
}

// Control edges have a say in the order of printing.
bool HasControlEdges(const Module& module) {
  return AnyInstruction(
      module, [](const Instruction& instruction) { return instruction.has_control_edges(); });
}

std::vector<std::string_view> SortedLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string CheckStyle(const Style& style, const Module& module, bool valid) {
  const std::string text = ToText(module, style.options);
  if (style.options.compact_gte && (!valid || LosesElements(module))) return "";
  if (!valid && HasAsync(module)) return "";
  if (!style.options.control_dependencies && HasControlEdges(module)) return "";
  if (style.back == Style::Back::kNever) return "";
  const bool entry_only = style.back == Style::Back::kSameEntry;
  if (entry_only && HasUnreadableBodies(module)) return "";
  const auto source = std::make_shared<const Source>("print", text);
  const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(source);
  if (!again.ok()) {
    return fmt::format("{} print is refused: {}", style.name, Render(again.status(), source.get()));
  }
  const auto compared = [&](const Module& m) {
    if (!entry_only) return ToText(m, style.options);
    // Inline computations come first, and may take the name of the entry.
    const std::string entry = ToText(*m.entry(), style.options);
    return entry.substr(std::min(entry.find('{'), entry.size()));
  };
  std::string first = entry_only ? compared(module) : text, second = compared(**again);
  // The first print may bring instructions into another order, the second the computations that
  // they call: then the lines are the same. Stack frames are numbered in the order of the text that
  // was read, one print later.
  const bool frames = !module.config().stack_frames.empty();
  for (int i = 0; i < 2 && !entry_only && second != first; ++i) {
    if (!frames && SortedLines(first) != SortedLines(second)) break;
    const absl::StatusOr<std::unique_ptr<Module>> next = ParseModule(second);
    first = std::exchange(second, next.ok() ? compared(**next) : "refused");
  }
  if (second != first)
    return fmt::format("{} print changes: {}", style.name, Difference(first, second));
  return "";
}

}  // namespace

std::string CheckParser(std::string_view input) {
  static const std::vector<Style> kStyles = MakeStyles();
  const auto source = std::make_shared<const Source>("input", std::string(input));
  const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(source);
  if (!module.ok()) return CheckRefusal("parse error", module.status(), *source);
  bool valid = true;
  for (const bool layout_sensitive : {false, true}) {
    VerifierOptions options;
    options.layout_sensitive = layout_sensitive;
    options.allow_mixed_precision = !layout_sensitive;
    const absl::Status verified = Verify(**module, options);
    if (verified.ok()) continue;
    if (!layout_sensitive) valid = false;
    std::string finding = CheckRefusal("verifier error", verified, *source);
    if (!finding.empty()) return finding;
  }
  for (const Style& style : kStyles) {
    std::string finding = CheckStyle(style, **module, valid);
    if (!finding.empty()) return finding;
  }
  const std::string text = ToText(**module);
  const std::string copy = ToText(*(*module)->Clone());
  if (copy != text) return fmt::format("clone differs: {}", Difference(text, copy));
  return "";
}

}  // namespace hlo

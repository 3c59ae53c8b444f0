#include "passes/gpu/conv_graph.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "lib/support/contains.h"
#include "lib/support/diagnostic.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "passes/gpu/library_f8.h"

namespace hlo {
namespace {

constexpr ElementType kWideGraphTypes[] = {ElementType::kF32, ElementType::kF16,
                                           ElementType::kBF16};

struct StepRow {
  std::string_view word;
  size_t reads;
  bool reads_operand;
};
// In the order of ConvGraphStep.
constexpr StepRow kStepRows[] = {
    {"conv", 0, false},    {"add", 1, true},   {"scale", 1, true},
    {"invscale", 1, true}, {"relu", 1, false}, {"elu", 1, false},
    {"min", 1, true},      {"max", 2, false},  {"amax", 1, false},
};
const StepRow& RowOf(ConvGraphStep step) { return kStepRows[static_cast<size_t>(step)]; }

// Takes `end` and what stands before it off `text`; that.
std::optional<std::string_view> TakeUntil(std::string_view& text, std::string_view end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return before;
}

// "15:[f32]scale(12)"
absl::StatusOr<ConvGraphOp> ParseOp(std::string_view text) {
  ConvGraphOp op;
  std::string_view rest = text;
  const auto number = TakeUntil(rest, ":["), type = TakeUntil(rest, "]"),
             word = TakeUntil(rest, "(");
  if (!number || !type || !word || !ReadNumberTo(*number, op.number) || !rest.ends_with(')'))
    return Error("expected an operation such as `15:[f32]scale(12)`, found `{}`", text);
  const std::optional<ElementType> element = ElementTypeFromText(*type);
  if (!element || !IsConvGraphType(*element))
    return Error("`{}` is no type of such an operation, in `{}`", *type, text);
  op.type = *element;
  const auto* const row = std::find_if(std::begin(kStepRows), std::end(kStepRows),
                                       [&](const StepRow& step) { return step.word == *word; });
  if (row == std::end(kStepRows)) {
    std::vector<std::string_view> words;
    for (const StepRow& step : kStepRows) words.push_back(step.word);
    return Error("there is no operation `{}`; there are {}", *word, Join(words, ", "));
  }
  op.step = static_cast<ConvGraphStep>(row - std::begin(kStepRows));
  rest.remove_suffix(1);
  while (!rest.empty()) {
    const std::string_view read = TakeUntil(rest, ",").value_or(rest);
    if (read.data() + read.size() == rest.data() + rest.size()) rest = {};
    if (!ReadNumberTo(read, op.reads.emplace_back()))
      return Error("`{}` is no number of an operation, in `{}`", read, text);
  }
  if (op.reads.size() != row->reads)
    return Error("`{}` reads {} operations, found `{}`", row->word, row->reads, text);
  return op;
}

}  // namespace

bool IsConvGraphType(ElementType type) {
  return Contains(kWideGraphTypes, type) || IsLibraryF8(type);
}

bool ReadsOperand(ConvGraphStep step) { return RowOf(step).reads_operand; }

std::string ToText(const ConvGraph& graph) {
  std::string text;
  for (const ConvGraphOp& op : graph) {
    text += fmt::format("{}:[{}]{}({});", op.number, Text(op.type), RowOf(op.step).word,
                        absl::StrJoin(op.reads, ","));
  }
  return text;
}

absl::StatusOr<ConvGraph> ParseConvGraph(std::string_view text) {
  ConvGraph graph;
  const auto is_made = [&graph](int64_t number) {
    return absl::c_any_of(graph, [number](const ConvGraphOp& op) {
      return op.number == number && op.step != ConvGraphStep::kAmax;
    });
  };
  while (!text.empty()) {
    const std::optional<std::string_view> one = TakeUntil(text, ";");
    if (!one) return Error("expected `;` after `{}`", text);
    ASSIGN_OR_RETURN(ConvGraphOp op, ParseOp(*one));
    if ((op.step == ConvGraphStep::kConv) != graph.empty())
      return Error("a graph begins with its only `conv`, found `{}`", *one);
    if (absl::c_any_of(graph,
                       [&op](const ConvGraphOp& other) { return other.number == op.number; }))
      return Error("{} is the number of two operations", op.number);
    for (const int64_t read : op.reads) {
      if (!is_made(read)) return Error("`{}` reads {}, which is not made before it", *one, read);
    }
    graph.push_back(std::move(op));
  }
  if (graph.empty()) return Error("a graph begins with a `conv`, found nothing");
  return graph;
}

absl::StatusOr<ConvGraph> ConvGraphOf(const Instruction& call, const ConvConfig& config) {
  absl::StatusOr<ConvGraph> graph = ParseConvGraph(config.serialized_graph.value_or(""));
  if (!graph.ok())
    return Error(call.loc(), "the serialized_graph of `{}` cannot be read: {}", call.name(),
                 DiagnosticsOf(graph.status()).front().message);
  const auto operands = 2 + std::count_if(graph->begin(), graph->end(), [](const ConvGraphOp& op) {
                          return ReadsOperand(op.step);
                        });
  if (operands != call.operand_count())
    return Error(call.loc(), "the serialized_graph of `{}` reads {} operands, it has {}",
                 call.name(), operands, call.operand_count());
  return graph;
}

}  // namespace hlo

// Entry points, reports, and what is done to a module once its text has been read.
#include "parser/parser.h"

#include <algorithm>

#include "lib/support/clip.h"
#include "lib/support/strings.h"
#include "parser/parser_internal.h"

namespace hlo {

// ---- reports ----

bool Parser::Report(SourceLoc loc, std::string message) {
  if (depth_exceeded_) return false;  // everything after that is noise
  ++error_count_;
  if (error_count_ <= std::max(options_.max_errors, 1))
    errors_.push_back({Severity::kError, loc, ClipQuotes(std::move(message))});
  return false;
}

bool Parser::Note(SourceLoc loc, std::string message) {
  if (error_count_ <= std::max(options_.max_errors, 1) && !errors_.empty() && loc.known()) {
    errors_.push_back({Severity::kNote, loc, ClipQuotes(std::move(message))});
  }
  return false;
}

bool Parser::FailWith(const absl::Status& status, SourceLoc loc) {
  for (Diagnostic& diagnostic : DiagnosticsOf(status)) {
    const SourceLoc at = diagnostic.loc.known() ? diagnostic.loc : loc;
    if (diagnostic.severity == Severity::kNote) {
      Note(at, std::move(diagnostic.message));
    } else {
      Report(at, std::move(diagnostic.message));
    }
  }
  return false;
}

std::string Parser::Describe(const Token& token) const {
  if (token.kind == Tok::kEof) return "the end of the text";
  std::string text(text_.substr(token.begin, std::min<size_t>(token.end - token.begin, 40)));
  if (text.size() == 1 &&
      (static_cast<unsigned char>(text[0]) < 0x20 || static_cast<unsigned char>(text[0]) >= 0x7f)) {
    return fmt::format("byte {:#04x}", static_cast<unsigned char>(text[0]));
  }
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return fmt::format("`{}`", text);
}

bool Parser::Unexpected(std::string_view what) {
  const Token& at = token();
  if (at.kind == Tok::kError && !at.problem.empty()) return Fail(at.loc(), "{}", at.problem);
  return Fail(at.loc(), "expected {}, found {}", what, Describe(at));
}

bool Parser::Depth::Complain() const {
  parser_.Fail(parser_.token().loc(), "the text nests deeper than {} levels",
               parser_.options_.max_recursion_depth);
  parser_.depth_exceeded_ = true;
  return false;
}

// ---- the whole ----

bool Parser::CheckAsyncCallers() {
  bool ok = true;
  for (Computation* computation : module_->computations()) {
    const Instruction* start = nullptr;
    const Instruction* other = nullptr;
    for (const CallSite& site : computation->callers()) {
      (site.caller->opcode() == Opcode::kAsyncStart ? start : other) = site.caller;
    }
    if (start == nullptr || other == nullptr) continue;
    Fail(other->loc(), "`{}` calls `{}`, which is the computation of an `async-start`",
         other->name(), computation->name());
    ok = Note(start->loc(), fmt::format("`{}` starts it here", start->name()));
  }
  return ok;
}

void Parser::SetSchedule() {
  for (Computation* computation : module_->computations()) {
    if (computation->is_fusion()) continue;
    std::vector<Instruction*> sequence = computation->instruction_vector();
    if (late_bound_.contains(computation)) {
      std::erase(sequence, computation->root());
      sequence.push_back(computation->root());
    }
    computation->set_schedule(std::move(sequence));
  }
  module_->set_scheduled(true);
}

bool Parser::Finish() {
  if (entry_ == nullptr) entry_ = last_computation_;
  module_->set_entry(entry_);
  module_->SetComputationOrder(finished_);
  if (any_async_ && !CheckAsyncCallers()) return false;
  if (!CheckAliases()) return false;
  if (single_) {
    // Here the entry computation has the first choice of a name.
    std::rotate(finished_.begin(), finished_.end() - 1, finished_.end());
    module_->SetComputationOrder(finished_);
    module_->UniquifyNames();
    std::rotate(finished_.begin(), finished_.begin() + 1, finished_.end());
    module_->SetComputationOrder(finished_);
  } else {
    module_->UniquifyNames();
  }
  if (module_->name().empty()) module_->set_name(fmt::format("module_{}", entry_->name()));
  if (!has_entry_layout_) module_->ResetEntryLayout();
  if (has_frame_ids_ || !module_->config().stack_frames.empty()) RenumberStackFrames();
  if (scheduled_) SetSchedule();
  return true;
}

namespace {

// Each `rng` draws from a stream of its own, which clones share, so that its numbers depend neither
// on the passes that run nor on other instructions.
void NumberRandomStreams(Module& module) {
  int64_t streams = 0;
  for (Computation* computation : module.computations()) {
    if (!computation->MayHoldAny({Opcode::kRng})) continue;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kRng) continue;
      RngAttrs attrs = instruction->attrs<RngAttrs>();
      attrs.stream = ++streams;
      instruction->SetAttrs(std::move(attrs));
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> Parser::Run(std::shared_ptr<const Source> source) {
  if (!ParseText() || !errors_.empty() || !Finish()) {
    if (errors_.empty()) return Internal("the parser failed without a message");
    return Status();
  }
  NumberRandomStreams(*module_);
  module_->set_source(std::move(source));
  if (options_.warnings != nullptr) *options_.warnings = warnings_.Take();
  return std::move(module_);
}

absl::StatusOr<std::unique_ptr<Module>> ParseModule(std::shared_ptr<const Source> source,
                                                    const ParserOptions& options) {
  // Places are 32-bit offsets.
  if (source->text().size() >= SourceLoc::kNone)
    return Error("`{}` is larger than 4 GiB", source->name());
  Parser parser(source->text(), options);
  return parser.Run(source);
}

absl::StatusOr<std::unique_ptr<Module>> ParseModule(std::string_view text, std::string_view name,
                                                    const ParserOptions& options) {
  return ParseModule(std::make_shared<const Source>(std::string(name), std::string(text)), options);
}

// ---- fragments ----

namespace {

template <class T, class Read>
absl::StatusOr<T> ParseFragment(std::string_view text, const ParserOptions& options, Read&& read) {
  const std::string copy(text);  // ends in a NUL
  Parser parser(copy, options);
  T value{};
  const absl::Status status = parser.Whole([&] { return read(parser, value); });
  if (!status.ok()) return status;
  return value;
}

template <class T>
absl::StatusOr<T> ParseValue(std::string_view text) {
  return ParseFragment<T>(text, {}, [](Parser& parser, T& out) { return parser.ReadValue(out); });
}

}  // namespace

absl::StatusOr<Shape> ParseShape(std::string_view text, const ParserOptions& options) {
  return ParseFragment<Shape>(text, options,
                              [](Parser& parser, Shape& out) { return parser.ParseShape(out); });
}

absl::StatusOr<Layout> ParseLayout(std::string_view text) {
  return ParseFragment<Layout>(
      text, {}, [](Parser& parser, Layout& out) { return parser.ParseLayout(out, 0); });
}

absl::StatusOr<Sharding> ParseSharding(std::string_view text) { return ParseValue<Sharding>(text); }

absl::StatusOr<Window> ParseWindow(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  if (trimmed.starts_with("{")) return ParseValue<Window>(text);
  return ParseValue<Window>(fmt::format("{{{}}}", text));
}

absl::StatusOr<ConvDimNumbers> ParseConvolutionDimensionNumbers(std::string_view text) {
  return ParseValue<ConvDimNumbers>(text);
}
absl::StatusOr<PaddingConfig> ParsePaddingConfig(std::string_view text) {
  return ParseValue<PaddingConfig>(text);
}
absl::StatusOr<ReplicaGroups> ParseReplicaGroups(std::string_view text) {
  return ParseValue<ReplicaGroups>(text);
}

absl::StatusOr<SliceRanges> ParseSliceRanges(std::string_view text) {
  return ParseValue<SliceRanges>(text);
}
absl::StatusOr<PrecisionConfig> ParsePrecisionConfig(std::string_view text) {
  return ParseValue<PrecisionConfig>(text);
}
absl::StatusOr<ShapeIndex> ParseShapeIndex(std::string_view text) {
  return ParseFragment<ShapeIndex>(
      text, {}, [](Parser& parser, ShapeIndex& out) { return parser.ReadShapeIndex(out); });
}
absl::StatusOr<OutputOperandAliases> ParseOutputOperandAliases(std::string_view text) {
  return ParseValue<OutputOperandAliases>(text);
}
absl::StatusOr<OpMetadata> ParseMetadata(std::string_view text) {
  return ParseValue<OpMetadata>(text);
}
absl::StatusOr<FrontendAttributes> ParseFrontendAttributes(std::string_view text) {
  return ParseValue<FrontendAttributes>(text);
}
absl::StatusOr<Statistics> ParseStatistics(std::string_view text) {
  return ParseValue<Statistics>(text);
}
absl::StatusOr<OriginalValue> ParseOriginalValue(std::string_view text) {
  return ParseValue<OriginalValue>(text);
}
absl::StatusOr<ResultAccuracy> ParseResultAccuracy(std::string_view text) {
  return ParseValue<ResultAccuracy>(text);
}
absl::StatusOr<std::vector<bool>> ParseBools(std::string_view text) {
  return ParseFragment<std::vector<bool>>(
      text, {}, [](Parser& parser, std::vector<bool>& out) { return parser.ReadBools(out); });
}

absl::StatusOr<Literal> ParseLiteral(std::string_view text, Shape shape) {
  return ParseFragment<Literal>(text, {}, [&](Parser& parser, Literal& out) {
    parser.Rewind();
    return parser.ParseLiteral(shape, out);
  });
}

absl::StatusOr<Literal> ParseLiteralWithShape(std::string_view text) {
  return ParseFragment<Literal>(text, {}, [](Parser& parser, Literal& out) {
    parser.SetGluedLayouts();
    Shape shape;
    if (!parser.ParseShape(shape)) return false;
    parser.Rewind();
    return parser.ParseLiteral(shape, out);
  });
}

std::vector<SplitPart> SplitInputFile(std::string_view text) {
  std::vector<SplitPart> parts;
  size_t start = 0, at = 0;
  int line = 1, first_line = 1;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    const size_t next = end == std::string_view::npos ? text.size() : end + 1;
    if (end == std::string_view::npos) end = text.size();
    if (end > at && text[end - 1] == '\r') --end;
    ++line;
    if (text.substr(at, end - at) == "// -----") {
      parts.push_back({text.substr(start, at - start), first_line});
      start = next;
      first_line = line;
    }
    at = next;
  }
  parts.push_back({text.substr(start), first_line});
  return parts;
}

}  // namespace hlo

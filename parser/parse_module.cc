// Modules and computations.
//
//   text        = [ 'HloModule' name { ',' header-attribute } ] [ frames ] computation {
//               computation } | single
//   computation = [ 'ENTRY' ] name [ signature ] '{' instruction { instruction } '}' { ',' 'execution_thread=' STR }
//   signature   = '(' [ name shape { ',' name shape } ] ')' '->' shape
//   single      = [ [ 'ROOT' ] name '=' ] rhs
//
// A text without `HloModule` is a module if it starts with `ENTRY` or its second token is `{`, else
// a single instruction.
#include <algorithm>

#include "parser/parser_internal.h"

namespace hlo {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

enum class LineKind { kInstruction, kEndOfBody, kComputation, kOther };

// What the line at `at` looks like, and the name it begins with; only used once there is an error.
LineKind LookAtLine(const char* at, const char* end, std::string_view* name_of_it = nullptr) {
  while (at < end && IsBlank(*at)) ++at;
  if (at == end) return LineKind::kOther;
  if (*at == '}') return LineKind::kEndOfBody;
  const auto starts = [&](std::string_view word) {
    return std::string_view(at, static_cast<size_t>(end - at)).starts_with(word);
  };
  if (starts("ENTRY ")) return LineKind::kComputation;  // which nothing calls
  if (starts("ROOT ")) at += 5;
  const bool percent = at < end && *at == '%';
  if (percent) ++at;
  const char* name = at;
  while (at < end && Lexer::IsIdentByte(*at)) ++at;
  if (at == name) return LineKind::kOther;
  const char* after = at;
  if (name_of_it != nullptr) *name_of_it = {name, static_cast<size_t>(after - name)};
  while (at < end && IsBlank(*at)) ++at;
  if (at < end && *at == '=' && (percent || at > after)) return LineKind::kInstruction;
  const char* last = std::find(at, end, '\n');
  while (last > at && IsBlank(last[-1])) --last;
  if (last == at) return LineKind::kOther;
  // Its first instruction may stand in the same line.
  const std::string_view rest(at, static_cast<size_t>(last - at));
  const size_t result = rest.front() == '(' ? rest.find("->") : std::string_view::npos;
  const bool is_computation =
      rest.front() == '{' || rest.back() == '{' ||
      (result != std::string_view::npos && rest.find('{', result) != std::string_view::npos);
  return is_computation ? LineKind::kComputation : LineKind::kOther;
}

}  // namespace

bool Parser::ParseText() {
  if (Is(Tok::kEof)) return Unexpected("a module or an instruction");
  if (Is(Tok::kHloModule)) return ParseHeader() && ParseComputations();
  const bool headless = Is(Tok::kEntry) || (!Is(Tok::kEof) && lex_.PeekByte() == '{');
  module_ = std::make_unique<Module>("");
  return headless ? ParseComputations() : ParseSingle();
}

bool Parser::ParseComputations() {
  if (Is(Tok::kKeyword) && token().text == "FileNames" && !ParseStackFrames()) return false;
  while (!Is(Tok::kEof) && !stopped()) {
    const uint32_t start = token().begin;
    if (!ParseComputation()) ResyncComputation(start);
  }
  if (!errors_.empty()) return false;
  if (last_computation_ == nullptr) return Unexpected("a computation");
  return true;
}

std::unique_ptr<Parser::Scope> Parser::NewScope() {
  if (spare_scopes_.empty()) return std::make_unique<Scope>();
  std::unique_ptr<Scope> scope = std::move(spare_scopes_.back());
  spare_scopes_.pop_back();
  return scope;
}

void Parser::Recycle(std::unique_ptr<Scope> scope) {
  // A map that has grown large is slow to clear: give it back.
  if (scope->names.capacity() > 1024 || scope->elements.capacity() > 64) return;
  scope->names.clear();
  scope->elements.clear();
  scope->last = nullptr;
  scope->root_loc = SourceLoc();
  scope->failed = scope->single = false;
  spare_scopes_.push_back(std::move(scope));
}

Computation* Parser::NewComputation(std::string_view name, SourceLoc loc) {
  Computation* computation = module_->AddComputationVerbatim(name);
  computation->set_loc(loc);
  return computation;
}

bool Parser::ParseComputation() {
  const SourceLoc entry_loc = token().loc();
  const bool is_entry = Take(Tok::kEntry);
  if (!IsNameToken())
    return Unexpected(is_entry ? "the name of the entry computation" : "a computation");
  const std::string_view name = token().text;
  const SourceLoc loc = token().loc();
  lex_.Next();
  std::optional<Shape> declared;
  SourceLoc declared_loc;
  int declared_parameters = -1;
  std::unique_ptr<Scope> scope;
  // Whatever goes wrong, the name is known from here on.
  const auto bind = [&](Computation* computation) {
    const auto [it, fresh] = computations_.try_emplace(name, ComputationBinding{computation, loc});
    if (fresh) return true;
    if (!it->second.loc.known()) {
      it->second = {computation, loc};
      return true;
    }
    Fail(loc, "a second computation named `{}`", name);
    return Note(it->second.loc, fmt::format("`{}` is defined here", name));
  };
  if (Is(Tok::kLParen) && !ParseSignature(declared, declared_loc, declared_parameters)) {
    bind(nullptr);
    return false;
  }
  scope = NewScope();
  scope->computation = NewComputation(name, loc);
  Computation* computation = scope->computation;
  if (is_entry && entry_ == nullptr) ReserveNames(*scope);
  bool ok = ParseBody(*scope) && CheckBody(*scope, loc);
  const bool bad_attribute = ok && !ParseThread(*computation);
  ok = ok && !bad_attribute;
  if (ok && declared.has_value() && *declared != computation->root()->shape() &&
      !CompatibleUpToBounds(*declared, computation->root()->shape())) {
    Fail(declared_loc,
         "computation `{}` is declared to return `{}`, but its root `{}` has shape `{}`", name,
         *declared, computation->root()->name(), computation->root()->shape());
    ok = Note(computation->root()->loc(), "the root is here");
  }
  if (ok && declared_parameters >= 0 && declared_parameters != computation->parameter_count()) {
    Warn(loc, "computation `{}` is declared with {} parameters, but has {}", name,
         declared_parameters, computation->parameter_count());
  }
  const bool skip = !scope->ended || bad_attribute;
  Recycle(std::move(scope));
  if (!bind(ok ? computation : nullptr)) return !skip;
  if (is_entry) {
    if (entry_ != nullptr) {
      Fail(entry_loc, "a second `ENTRY` in this module");
      Note(entry_->loc(), "the first one is here");
      return !skip;
    }
    entry_ = computation;
  }
  last_computation_ = computation;
  return ok || !skip;
}

// { ',' 'execution_thread=' STR }
bool Parser::ParseThread(Computation& computation) {
  bool has_thread = false;
  while (Take(Tok::kComma)) {
    if (!Is(Tok::kAttr) || token().text != "execution_thread")
      return Unexpected("`execution_thread=`");
    if (has_thread) return Fail(token().loc(), "attribute `execution_thread` is given twice");
    has_thread = true;
    lex_.Next();
    std::string thread;
    if (!ReadValue(thread)) return false;
    computation.set_execution_thread(thread);
  }
  return true;
}

bool Parser::ParseSignature(std::optional<Shape>& result, SourceLoc& loc, int& parameters) {
  lex_.Next();
  parameters = 0;
  if (!Is(Tok::kRParen)) {
    do {
      if (!IsNameToken()) return Unexpected("the name of a parameter");
      lex_.Next();
      Take(Tok::kColon);  // after `%x` it is a token of its own
      Shape shape;
      if (!ParseShape(shape)) return false;
      ++parameters;
    } while (Take(Tok::kComma));
  }
  if (!Expect(Tok::kRParen, "`,` or `)` in the signature") ||
      !Expect(Tok::kArrow, "`->` and the result shape"))
    return false;
  loc = token().loc();
  Shape shape;
  if (!ParseShape(shape)) return false;
  result = shape;
  return true;
}

// Room for the names of the entry computation, most often the largest: its lines are counted.
void Parser::ReserveNames(Scope& scope) {
  const size_t begin = token().begin;
  size_t lines = 0, at = text_.find('\n', begin);
  while (at != std::string_view::npos && at + 1 < text_.size() && text_[at + 1] != '}') {
    ++lines;
    at = text_.find('\n', at + 1);
  }
  const size_t end = std::min(at, text_.size());
  scope.names.reserve(std::min(lines, (end - begin) / 32));
}

bool Parser::ParseBody(Scope& scope) {
  scope.ended = false;
  if (!Expect(Tok::kLBrace, "`{` and the instructions of the computation")) return false;
  while (!Is(Tok::kRBrace)) {
    if (Is(Tok::kEof)) {
      if (!scope.failed) Unexpected("an instruction or `}`");
      return false;
    }
    const uint32_t start = token().begin;
    scope.defining = {};
    if (ParseInstruction(scope)) continue;
    scope.failed = true;
    if (!scope.defining.empty())
      scope.names.try_emplace(scope.defining, Binding{nullptr, scope.defining_loc});
    if (stopped() || depth_exceeded_ || !ResyncInstruction(start)) return false;
  }
  scope.ended = true;
  lex_.Next();
  if (scope.last == nullptr && !scope.failed)
    return true;  // CheckBody reports the empty computation
  if (!scope.root_loc.known() && scope.last != nullptr) scope.computation->set_root(scope.last);
  finished_.push_back(scope.computation);
  return !scope.failed;
}

bool Parser::CheckBody(Scope& scope, SourceLoc loc) {
  if (scope.last == nullptr) return Fail(loc, "a computation without instructions");
  const auto parameters = scope.computation->parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i] == nullptr) {
      return Fail(loc, "the computation has a parameter {}, but no parameter {}",
                  parameters.size() - 1, i);
    }
  }
  return true;
}

// Moves to the next instruction or to the `}` of this body; false when the body seems to end
// without one.
bool Parser::ResyncInstruction(uint32_t start) {
  const char* const end = text_.data() + text_.size();
  const char* line = text_.data() + std::min<size_t>(token().begin, text_.size());
  while (line > text_.data() && line[-1] != '\n') --line;
  while (line < end) {
    if (line > text_.data() + start) {
      const LineKind kind = LookAtLine(line, end);
      if (kind != LineKind::kOther) {
        lex_.set_cursor(line);
        lex_.Next();
        return kind != LineKind::kComputation;
      }
    }
    line = std::find(line, end, '\n');
    if (line < end) ++line;
  }
  lex_.set_cursor(end);
  lex_.Next();
  return false;
}

void Parser::NoteIfDefinedBelow(std::string_view name, bool is_computation) {
  const char* const end = text_.data() + text_.size();
  const char* line = text_.data() + std::min<size_t>(token().begin, text_.size());
  while ((line = std::find(line, end, '\n')) < end) {
    std::string_view found;
    const LineKind kind = LookAtLine(++line, end, &found);
    if (!is_computation && (kind == LineKind::kEndOfBody || kind == LineKind::kComputation)) break;
    const LineKind wanted = is_computation ? LineKind::kComputation : LineKind::kInstruction;
    if (kind != wanted || found != name) continue;
    const auto begin = static_cast<uint32_t>(found.data() - text_.data());
    Note({begin, static_cast<uint32_t>(found.size())},
         fmt::format("`{}` is defined here, below its use", name));
    return;
  }
}

// Moves to the next computation.
void Parser::ResyncComputation(uint32_t start) {
  const char* const end = text_.data() + text_.size();
  const char* line = text_.data() + std::min<size_t>(token().begin, text_.size());
  while (line > text_.data() && line[-1] != '\n') --line;
  while (line < end) {
    const LineKind kind = line > text_.data() + start ? LookAtLine(line, end) : LineKind::kOther;
    if (kind == LineKind::kComputation) break;
    line = std::find(line, end, '\n');
    if (line < end) ++line;
  }
  lex_.set_cursor(line);
  lex_.Next();
}

bool Parser::ParseSingle() {
  Scope scope;
  scope.single = single_ = true;
  const SourceLoc loc = token().loc();
  scope.computation = NewComputation("_", loc);
  module_->set_name("_");
  bool ok;
  if (StartsShape()) {
    Draft draft(*module_);
    draft.loc = loc;
    draft.name = "_";
    Instruction* instruction = nullptr;
    ok = ParseRhs(scope, draft, instruction);
  } else {
    ok = ParseInstruction(scope);
  }
  if (!ok) return false;
  if (!Is(Tok::kEof)) return Unexpected("the end of the text after a single instruction");
  scope.computation->set_root(scope.last);
  finished_.push_back(scope.computation);
  entry_ = last_computation_ = scope.computation;
  scheduled_ = true;
  return CheckBody(scope, loc);
}

}  // namespace hlo

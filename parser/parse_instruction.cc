// Instructions and their operands.
//
//   instruction = [ 'ROOT' ] name '=' rhs
//   rhs         = [ shape ] opcode '(' [ operand { ',' operand } ] ')' { ',' attribute }
//               | shape 'parameter' '(' INT ')' … | shape 'constant' '(' literal ')' …
//   operand     = [ shape ] name { '#' INT } | [ shape ] opcode '(' … ')' | shape        the last in single-instruction texts only
//
// A word in front of `(` is an opcode, any other word is a name: one token of look-ahead decides.
#include <algorithm>

#include "lib/ir/any_instruction.h"
#include "lib/types/shape_util.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

// Names of instructions must be legal as they stand. Only element types and names with leading
// underscores can be wrong here: the lexer has seen to the letters.
bool IsLegalName(std::string_view name) {
  const bool legal = name[0] != '_' && !MayBeElementType(name);
  return legal || IsSanitizedName(name);
}

// Opcodes by text, in an open-addressed table.
class OpcodeTable {
 public:
  OpcodeTable() {
    for (const OpInfo& info : AllOpInfos()) {
      size_t slot = Slot(info.text);
      while (used_[slot]) slot = (slot + 1) % kSize;
      used_[slot] = true;
      texts_[slot] = info.text;
      opcodes_[slot] = static_cast<Opcode>(&info - AllOpInfos().data());
    }
  }
  std::optional<Opcode> Find(std::string_view text) const {
    for (size_t slot = Slot(text); used_[slot]; slot = (slot + 1) % kSize) {
      if (StringEqual()(texts_[slot], text)) return opcodes_[slot];
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kSize = 1024;
  static size_t Slot(std::string_view text) {
    const auto byte = [&](size_t i) {
      return static_cast<size_t>(static_cast<unsigned char>(text[i]));
    };
    return (text.size() * 131 + byte(0) * 7 + byte(text.size() / 2) * 29 +
            byte(text.size() - 1) * 53) %
           kSize;
  }
  bool used_[kSize] = {};
  std::string_view texts_[kSize];
  Opcode opcodes_[kSize];
};

const OpcodeTable& Opcodes() {
  static const OpcodeTable kTable;
  return kTable;
}

}  // namespace

bool Parser::ParseInstruction(Scope& scope) {
  const SourceLoc root_loc = token().loc();
  const bool is_root = Take(Tok::kRoot);
  if (!IsNameToken()) {
    if (Is(Tok::kAttr)) {
      return Fail(token().loc(), "expected a blank between the name `{}` and `=`", token().text);
    }
    if (lex_.Peek().kind == Tok::kEqual) {
      if (Is(Tok::kPrim)) {
        return Fail(
            token().loc(),
            "`{0}` is an element type and cannot be the name of an instruction; `{0}_` could",
            token().text);
      }
      if (Lexer::IsIdentByte(token().text.empty() ? ' ' : token().text[0]) && !Is(Tok::kInt) &&
          !Is(Tok::kDec) && !Is(Tok::kError)) {
        return Fail(token().loc(),
                    "`{0}` is a reserved word; as the name of an instruction write `%{0}`",
                    token().text);
      }
    }
    return Unexpected("the name of an instruction");
  }
  Draft draft(*module_);
  draft.name = token().text;
  draft.loc = token().loc();
  scope.defining = draft.name;
  scope.defining_loc = draft.loc;
  // ` = `, most often, is no token of its own.
  const char* after = lex_.cursor();
  const bool plain = after[0] == ' ' && after[1] == '=' && after[2] == ' ';
  if (plain) {
    after += 3;
    Shape shape;
    const char* end = KnownShapeEnd(after, shape);
    if (end != nullptr) {
      draft.shape = shape;
      draft.shape_loc = {lex_.OffsetOf(after),
                         static_cast<uint32_t>(std::find(after, end, '[') - after)};
    }
    lex_.set_cursor(end != nullptr ? end : after);
  }
  lex_.Next();
  if (!IsLegalName(draft.name)) {
    return Fail(draft.loc, "`{}` cannot be the name of an instruction; `{}` could", draft.name,
                SanitizeName(draft.name));
  }
  if (scope.single && !plain && Is(Tok::kLParen)) {
    return Unexpected(
        "`=` after the name of a single instruction (a module without a header starts with "
        "`ENTRY`, or with a computation without a signature)");
  }
  if (!plain && !Expect(Tok::kEqual, "`=` after the name of the instruction")) return false;
  Instruction* instruction = nullptr;
  if (!ParseRhs(scope, draft, instruction)) return false;
  scope.defining = {};
  if (!Define(scope, draft.name, draft.loc, instruction)) return false;
  if (is_root) {
    if (scope.root_loc.known()) {
      Fail(root_loc, "a second `ROOT` in this computation");
      return Note(scope.root_loc, "the first one is here");
    }
    scope.root_loc = root_loc;
    scope.computation->set_root(instruction);
  }
  return true;
}

bool Parser::Define(Scope& scope, std::string_view name, SourceLoc loc, Instruction* instruction) {
  const auto [it, fresh] = scope.names.try_emplace(name, Binding{instruction, loc});
  if (!fresh) {
    if (it->second.instruction == nullptr && instruction != nullptr && !it->second.loc.known()) {
      it->second = {instruction, loc};
      return true;
    }
    Fail(loc, "a second instruction named `{}`", name);
    return Note(it->second.loc, fmt::format("`{}` is defined here", name));
  }
  if (anonymous_names_) anonymous_names_->Unique(name);
  return true;
}

bool Parser::ParseOpcode(Draft& draft) {
  draft.opcode_loc = token().loc();
  if (Is(Tok::kLBrace) && draft.shape.has_value())
    return Fail(token().loc(), "expected an opcode, found `{{`; an empty layout is not written");
  if (Is(Tok::kIdent) && !draft.shape.has_value() && lex_.PeekByte() == '[' &&
      !Opcodes().Find(token().text)) {
    static constexpr std::string_view kTypes[] = {"pred", "bf16", "f16",  "f32",   "f64",   "s8",
                                                  "s16",  "s32",  "s64",  "u8",    "u16",   "u32",
                                                  "u64",  "c64",  "c128", "token", "opaque"};
    std::string lower(token().text);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    return Fail(token().loc(), "`{}` is no element type{}", token().text,
                DidYouMean(lower, kTypes));
  }
  if (!Is(Tok::kIdent))
    return Unexpected(draft.shape.has_value() ? "an opcode" : "a shape or an opcode");
  const std::string_view word = token().text;
  if (const std::optional<Opcode> opcode = Opcodes().Find(word)) {
    draft.opcode = *opcode;
  } else if (!SplitAsyncWord(word, draft)) {
    return false;
  }
  lex_.Next();
  return true;
}

bool Parser::ParseRhs(Scope& scope, Draft& draft, Instruction*& out) {
  const Depth depth(*this);
  if (!depth.ok()) return false;
  if (!draft.shape.has_value() && StartsShape()) {
    draft.shape_loc = token().loc();
    Shape shape;
    if (!ParseShape(shape)) return false;
    draft.shape = shape;
  }
  if (!ParseOpcode(draft)) return false;
  if (!Is(Tok::kLParen)) return Unexpected(fmt::format("`(` after `{}`", Text(draft.opcode)));
  bool ok = false;
  if (draft.opcode == Opcode::kConstant && draft.sugar == Draft::Sugar::kNone) {
    ok = ParseConstantBody(draft);
  } else if (draft.opcode == Opcode::kParameter && draft.sugar == Draft::Sugar::kNone) {
    ok = ParseParameterBody(draft);
  } else {
    ok = ParseOperands(scope, draft);
  }
  return ok && ParseAttributes(scope, draft) && Build(scope, draft, out);
}

bool Parser::ParseConstantBody(Draft& draft) {
  if (!draft.shape.has_value()) return Fail(draft.opcode_loc, "`constant` needs its shape written");
  ConstantAttrs attrs;
  if (!ParseLiteral(*draft.shape, attrs.literal)) return false;
  draft.shape = attrs.literal.shape();
  draft.attrs = AttrsPtr::Make(std::move(attrs));
  return Expect(Tok::kRParen, "`)` after the literal");
}

bool Parser::ParseParameterBody(Draft& draft) {
  lex_.Next();
  const SourceLoc loc = token().loc();
  ParameterAttrs attrs;
  if (!ReadValue(attrs.number)) return false;
  if (attrs.number < 0) return Fail(loc, "parameter number {}, expected at least 0", attrs.number);
  // The first parameters of all computations share their attributes.
  if (attrs.number < static_cast<int64_t>(parameter_attrs_.size())) {
    AttrsPtr& shared = parameter_attrs_[static_cast<size_t>(attrs.number)];
    if (!shared) shared = AttrsPtr::Make(attrs);
    draft.attrs = shared;
  } else {
    draft.attrs = AttrsPtr::Make(attrs);
  }
  return Expect(Tok::kRParen, "`)` after the parameter number");
}

// The operands as XLA writes them, `(%a, %b)` or `(f32[2]{0} %a, s32[] %b)`, without a token for
// each: true when the closing parenthesis has been read. Otherwise the cursor stands in front of
// the first operand that looks different, has no definition, or has another shape than is written.
bool Parser::ParsePlainOperands(Scope& scope, Draft& draft) {
  const char* at = lex_.cursor();
  while (true) {
    Shape written;
    const char* name = at;
    if (*at != '%') {
      const char* after = KnownShapeEnd(at, written);
      if (after == nullptr || *after != ' ') break;
      name = after + 1;
    }
    if (name[0] != '%' || !Lexer::IsIdentStart(name[1])) break;
    const char* end = lex_.IdentEnd(name + 2);
    if (*end != ')' && (end[0] != ',' || end[1] != ' ')) break;
    const auto known =
        scope.names.find(std::string_view(name + 1, static_cast<size_t>(end - name - 1)));
    if (known == scope.names.end() || known->second.instruction == nullptr) break;
    if (name != at && written != known->second.instruction->shape()) break;
    draft.operands.push_back(known->second.instruction);
    at = end + 1;
    if (*end == ')') {
      lex_.set_cursor(at);
      return true;
    }
    ++at;
  }
  lex_.set_cursor(at);
  return false;
}

bool Parser::ParseOperands(Scope& scope, Draft& draft) {
  const bool plain = !scope.single && ParsePlainOperands(scope, draft);
  lex_.Next();
  if (plain) return true;
  if (draft.operands.empty() && Take(Tok::kRParen)) return true;
  do {
    if (Is(Tok::kComma) || Is(Tok::kRParen)) {
      // Some versions of XLA overlook it.
      Warn(token().loc(), "a comma separates no operands here");
      while (Take(Tok::kComma)) continue;
      if (Is(Tok::kRParen)) break;
    }
    if (!ParseOperand(scope, draft) || stopped()) return false;
  } while (Take(Tok::kComma));
  if (!Expect(Tok::kRParen, "`,` or `)` in the operands")) return false;
  return !draft.operand_failed;
}

bool Parser::ParseOperand(Scope& scope, Draft& draft) {
  std::optional<Shape> shape;
  const SourceLoc shape_loc = token().loc();
  if (StartsShape()) {
    Shape written;
    if (!ParseShape(written)) return false;
    shape = written;
  }
  if (Is(Tok::kIdent) && lex_.PeekByte() == '(') {
    Draft nested(*module_);
    nested.nested = nested.anonymous = true;
    nested.loc = token().loc();
    nested.shape = shape;
    nested.shape_loc = shape_loc;
    Instruction* operand = nullptr;
    if (!ParseRhs(scope, nested, operand)) return false;
    draft.operands.push_back(operand);
    return true;
  }
  if (IsNameToken()) {
    const size_t before = draft.operands.size();
    if (!ResolveOperand(scope, shape, shape_loc, draft)) return false;
    if (draft.operands.size() == before) draft.operand_failed = true;
    return true;
  }
  if (scope.single && shape.has_value()) {
    draft.operands.push_back(InventParameter(scope, *shape, {}, shape_loc));
    return true;
  }
  if (shape.has_value() && Is(Tok::kComma)) {
    // XLA overlooks it.
    Warn(shape_loc, "a shape without a name after it is no operand");
    draft.nameless_shape = shape_loc;
    return true;
  }
  return Unexpected(shape.has_value() ? "the name of an operand after its shape" : "an operand");
}

// An unnamed or undeclared operand of a single-instruction text.
Instruction* Parser::InventParameter(Scope& scope, Shape shape, std::string_view name,
                                     SourceLoc loc) {
  const int64_t number = scope.computation->parameter_count();
  if (name.empty()) name = module_->Intern(fmt::format("_{}", number));
  Instruction* parameter = scope.computation->AddVerbatim(
      Opcode::kParameter, shape, {}, AttrsPtr::Make(ParameterAttrs{number, std::nullopt}), {},
      IsLegalName(name) ? name : module_->Intern(SanitizeName(name)));
  parameter->set_loc(loc);
  Define(scope, name, loc, parameter);
  return parameter;
}

// A name with its optional path; adds nothing when the name's definition has failed or is missing
// (which is reported).
bool Parser::ResolveOperand(Scope& scope, std::optional<Shape> shape, SourceLoc shape_loc,
                            Draft& draft) {
  const std::string_view name = token().text;
  const SourceLoc loc = token().loc();
  lex_.Next();
  Instruction* operand = nullptr;
  if (scope.single && !scope.names.contains(name)) {
    if (!shape.has_value())
      return Fail(loc, "operand `{}` of a single instruction needs its shape written", name);
    operand = InventParameter(scope, *shape, name, loc);
  } else if (scope.single && !shape.has_value()) {
    return Fail(loc, "operand `{}` of a single instruction needs its shape written", name);
  } else if (!Lookup(scope, name, loc, operand)) {
    operand = nullptr;
  }
  while (Is(Tok::kHash)) {
    lex_.Next();
    const SourceLoc index_loc = token().loc();
    int64_t index;
    if (!ReadValue(index)) return false;
    if (operand != nullptr) {
      operand = Element(scope, operand, index, index_loc);
      if (operand == nullptr) return false;
    }
  }
  if (operand == nullptr) return true;
  if (shape.has_value() && *shape != operand->shape() && !Compatible(*shape, operand->shape()) &&
      !CompatibleIgnoringDynamic(*shape, operand->shape())) {
    Fail(shape_loc, "operand `{}` is declared `{}` here, but has shape `{}`", name, *shape,
         operand->shape());
    return Note(operand->loc(), fmt::format("`{}` is defined here", name));
  }
  draft.operands.push_back(operand);
  return true;
}

bool Parser::Lookup(Scope& scope, std::string_view name, SourceLoc loc, Instruction*& out) {
  const auto it = scope.names.find(name);
  if (it != scope.names.end()) {
    out = it->second.instruction;
    return out != nullptr;
  }
  std::vector<std::string_view> candidates;
  if (scope.names.size() <= kMaxCandidates) {
    for (const Instruction* instruction : scope.computation->instructions())
      candidates.push_back(instruction->name());
  }
  std::string hint = DidYouMean(name, candidates);
  if (name == scope.defining) hint = ": an instruction cannot use its own result";
  Fail(loc, "no instruction named `{}` stands above in this computation{}", name, hint);
  if (name != scope.defining) NoteIfDefinedBelow(name, /*is_computation=*/false);
  // One message per name.
  scope.names.try_emplace(name, Binding{nullptr, SourceLoc()});
  return false;
}

// The get-tuple-element instruction that `%tuple#index` stands for, made on first use.
Instruction* Parser::Element(Scope& scope, Instruction* tuple, int64_t index, SourceLoc loc) {
  if (!tuple->shape().IsTuple()) {
    Fail(loc, "`{}` has shape `{}`, of which `#` takes no element", tuple->name(), tuple->shape());
    return nullptr;
  }
  const int64_t size = tuple->shape().element_count_of_tuple();
  if (index < 0 || index >= size) {
    Fail(loc, "element {} of `{}`, whose shape `{}` has {} elements", index, tuple->name(),
         tuple->shape(), size);
    return nullptr;
  }
  Instruction*& element = scope.elements[{tuple, index}];
  if (element == nullptr) {
    element = scope.computation->AddVerbatim(
        Opcode::kGetTupleElement, tuple->shape().element(static_cast<int>(index)), {tuple},
        AttrsPtr::Make(GetTupleElementAttrs{index}), {},
        module_->Intern(fmt::format("{}_{}", tuple->name(), index)));
    element->set_loc(loc);
  }
  return element;
}

std::string_view Parser::AnonymousName(std::string_view opcode) {
  if (!anonymous_names_) {
    anonymous_names_.emplace();
    for (const Instruction* instruction : AllInstructions(*module_))
      anonymous_names_->Unique(instruction->name());
  }
  return module_->Intern(anonymous_names_->Unique(fmt::format("{}.anon", opcode)));
}

// ---- called computations ----

bool Parser::ReadComputation(Computation*& out) {
  if (Is(Tok::kLBrace) && calls_by_name_)
    return Unexpected("the name of the computation that the start calls");
  if (Is(Tok::kLBrace)) return ParseNestedComputation(out);
  if (!IsNameToken()) return Unexpected("the name of a computation, or one in braces");
  const std::string_view name = token().text;
  const SourceLoc loc = token().loc();
  lex_.Next();
  const auto it = computations_.find(name);
  if (it != computations_.end()) {
    out = it->second.computation;
    return out != nullptr;
  }
  std::vector<std::string_view> candidates;
  if (computations_.size() <= kMaxCandidates) {
    for (const Computation* computation : module_->computations())
      candidates.push_back(computation->name());
  }
  computations_.try_emplace(name, ComputationBinding{nullptr, SourceLoc()});
  const bool itself = std::find(candidates.begin(), candidates.end(), name) != candidates.end();
  Fail(loc, "no computation named `{}` stands above{}", name,
       itself ? ": a computation cannot call itself" : DidYouMean(name, candidates));
  if (!itself) NoteIfDefinedBelow(name, /*is_computation=*/true);
  return false;
}

bool Parser::ReadComputations(absl::InlinedVector<Computation*, 2>& out) {
  if (!Expect(Tok::kLBrace, "`{` of a list of computations")) return false;
  out.clear();
  if (Take(Tok::kRBrace)) return true;
  do {
    if (!ReadComputation(out.emplace_back(nullptr))) return false;
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in a list of computations");
}

bool Parser::ParseNestedComputation(Computation*& out) {
  const Depth depth(*this);
  if (!depth.ok()) return false;
  const SourceLoc loc = token().loc();
  std::unique_ptr<Scope> inner = NewScope();
  inner->computation = NewComputation("_", loc);
  bool ok = ParseBody(*inner) && CheckBody(*inner, loc);
  out = inner->computation;
  // As XLA prints whole bodies; no instruction has an attribute of this name.
  if (ok && Is(Tok::kComma) && lex_.Peek().kind == Tok::kAttr &&
      lex_.Peek().text == "execution_thread") {
    lex_.Next();
    lex_.Next();
    std::string thread;
    ok = ReadValue(thread);
    out->set_execution_thread(thread);
  }
  Recycle(std::move(inner));
  return ok;
}

}  // namespace hlo

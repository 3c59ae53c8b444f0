// The parser's one class. Its member functions are spread over the .cc files of this folder by
// grammar area; each file starts with the grammar it reads.
//
// Conventions: a Parse… function is called with its first token as the current one and leaves the
// token after its text current. It returns false after a failure, which has then been reported (or
// belongs to a name whose definition has failed, and is not to be reported again). ReadValue
// overloads read the value of an attribute of that C++ type.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "lib/ir/module.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "lib/support/string_hash.h"
#include "lib/support/strings.h"
#include "lib/support/warning_list.h"
#include "parser/lexer.h"
#include "parser/parser.h"

namespace hlo {

class Parser;

// Names that are compared for a did-you-mean; in larger scopes there is none.
inline constexpr size_t kMaxCandidates = 5000;
// Devices of one sharding or device list; what an iota may stand for.
inline constexpr int64_t kMaxDevices = int64_t{1} << 20;

// One attribute of one struct: its name, how to read it, and whether two structs agree in it.
struct AttrReader {
  std::string_view name;
  FieldMode mode;
  bool (*read)(Parser& parser, void* attrs);
  bool (*same)(const void* a, const void* b);
};
struct AttrReaders {
  const AttrReader* begin = nullptr;
  int count = 0;
};

using Operands = absl::InlinedVector<Instruction*, 6>;

// What stands after the operands of an instruction, besides the opcode's own attributes.
struct CommonAttrs {
  absl::InlinedVector<Computation*, 2> calls;  // by CallSpec order; null: not given
  bool has_calls = false;
  std::vector<Instruction*> control_predecessors;
  Module* module;    // in whose memory the extras stand
  ExtrasPtr extras;  // the instruction takes it as it is

  explicit CommonAttrs(Module& m) : module(&m) {}
  Extras& mutable_extras() {
    if (extras == nullptr) extras = module->NewExtras();
    return *extras;
  }
};

// An instruction while it is read.
struct Draft {
  explicit Draft(Module& module) : common(module) {}

  SourceLoc loc;  // of the name (or of the opcode without one)
  SourceLoc opcode_loc;
  SourceLoc shape_loc;
  std::string_view name;   // lives as long as the module
  bool anonymous = false;  // a nested operand: gets a name of its own when it is added
  std::optional<Shape> shape;
  Opcode opcode = Opcode::kParameter;
  Operands operands;
  AttrsPtr attrs;
  CommonAttrs common;
  bool nested = false;     // no attributes may follow
  bool own_given = false;  // some attribute of the opcode itself

  // Sugared async forms: `opcode` is the wrapped opcode.
  enum class Sugar : uint8_t { kNone, kStart, kUpdate, kDone };
  Sugar sugar = Sugar::kNone;
  bool IsSugared() const { return sugar != Sugar::kNone; }
  AsyncAttrs async;
  bool async_has_thread = false;
  // Attributes of the wrapped operation that an update or done repeats: number and place.
  std::vector<std::pair<int, SourceLoc>> repeated;
  SourceLoc calls_loc, accuracy_loc;
  bool operand_failed = false;
  SourceLoc nameless_shape;   // stood where an operand should
  bool two_branches = false;  // conditional: true_computation and false_computation were given
  Computation* custom_to_apply = nullptr;  // custom-call
  SourceLoc after;                         // first token after the instruction
};

// Whether an instruction of this opcode may have so many operands, and what its opcode asks for
// beyond that; the second may complete the written shape and the attributes (check_draft.cc).
// Errors go to the parser.
bool CheckOperandCount(Parser& parser, const Draft& draft);
bool CheckDraft(Parser& parser, const Computation& computation, Draft& draft);

class Parser {
 public:
  Parser(std::string_view text, const ParserOptions& options)
      : options_(options), lex_(text), text_(text), fill_layouts_(options.fill_missing_layouts) {
    // Texts of constants have few names, however long they are.
    texts_.reserve(std::min(text.size() / 512, size_t{1} << 14));
    lex_.Next();
  }

  // ---- entry points ----
  absl::StatusOr<std::unique_ptr<Module>> Run(std::shared_ptr<const Source> source);
  // Reads one value that must be the whole text.
  template <class Fn>
  absl::Status Whole(Fn&& read) {
    if (read() && lex_.kind() != Tok::kEof) Unexpected("the end of the text");
    return Status();
  }
  absl::Status Status() const {
    return errors_.empty() ? absl::OkStatus()
                           : StatusOf(absl::StatusCode::kInvalidArgument, errors_);
  }

  // Not a fragment.
  bool ReadsModule() const { return module_ != nullptr; }
  // Puts the cursor back in front of the current token, for readers of raw text.
  void SetGluedLayouts() { glued_layouts_ = true; }
  void Rewind() { lex_.set_cursor(lex_.At(token().begin)); }

  // ---- errors (parser.cc) ----
  template <class... Args>
  bool Fail(SourceLoc loc, fmt::format_string<Args...> format, Args&&... args) {
    return Report(loc, fmt::format(format, std::forward<Args>(args)...));
  }
  bool Report(SourceLoc loc, std::string message);
  template <class... Args>
  void Warn(SourceLoc loc, fmt::format_string<Args...> format, Args&&... args) {
    if (options_.warnings != nullptr) warnings_.Add(loc, format, std::forward<Args>(args)...);
  }
  // Adds a note to the last error.
  bool Note(SourceLoc loc, std::string message);
  bool FailWith(const absl::Status& status, SourceLoc loc);
  // "expected `what`, found `token`" at the current token.
  bool Unexpected(std::string_view what);
  std::string Describe(const Token& token) const;

  size_t text_size() const { return text_.size(); }

  // ---- tokens ----
  const Token& token() const { return lex_.token(); }
  bool Is(Tok kind) const { return lex_.kind() == kind; }
  bool Take(Tok kind) {
    if (lex_.kind() != kind) return false;
    lex_.Next();
    return true;
  }
  bool Expect(Tok kind, std::string_view what) { return Take(kind) || Unexpected(what); }
  bool IsWord(std::string_view word) const {
    return (Is(Tok::kIdent) || Is(Tok::kKeyword)) && token().text == word;
  }
  bool TakeWord(std::string_view word) {
    if (!IsWord(word)) return false;
    lex_.Next();
    return true;
  }
  bool IsNameToken() const { return Is(Tok::kName) || Is(Tok::kIdent); }
  // Counts one level of nesting while it lives.
  class Depth {
   public:
    explicit Depth(Parser& parser) : parser_(parser) { ++parser_.depth_; }
    ~Depth() { --parser_.depth_; }
    bool ok() const { return parser_.depth_ <= parser_.options_.max_recursion_depth || Complain(); }

   private:
    bool Complain() const;
    Parser& parser_;
  };

  // ---- shapes (parse_shape.cc) ----
  bool ParseShape(Shape& out);
  bool ParseArrayShape(Shape& out);
  bool ParseLayout(Layout& out, int rank);
  bool StartsShape() const;
  const char* KnownShapeEnd(const char* at, Shape& out) const;

  // ---- literals (parse_literal.cc) ----
  // The current token is the one before the literal; afterwards the one after it.
  bool ParseLiteral(Shape shape, Literal& out);

  // ---- values (parse_values.cc, parse_sharding.cc, parse_metadata.cc) ----
  bool ReadValue(bool& out);
  bool ReadValue(int64_t& out);
  bool ReadValue(int32_t& out);
  bool ReadValue(float& out);
  bool ReadValue(std::string& out);
  bool ReadValue(SharedText& out);
  bool ReadValue(DimVec& out);
  bool ReadValue(std::vector<DimVec>& out);
  bool ReadValue(BracedDim& out);
  bool ReadValue(Window& out);
  bool ReadValue(ConvDimNumbers& out);
  bool ReadValue(PaddingConfig& out);
  bool ReadValue(PrecisionConfig& out);
  bool ReadValue(SliceRanges& out);
  bool ReadValue(OutputOperandAliases& out);
  bool ReadValue(DevicePairs& out);
  bool ReadValue(DomainConfig& out);
  bool ReadValue(SparsityConfig& out);
  bool ReadValue(ResultAccuracy& out);
  bool ReadValue(ReplicaGroups& out);
  bool ReadValue(std::vector<Shape>& out);
  bool ReadValue(std::vector<bool>& out);
  bool ReadValue(Shape& out) { return ParseShape(out); }
  bool ReadValue(Literal& out);  // `literal=` of custom-call
  bool ReadValue(Sharding& out);
  bool ReadValue(FrontendAttributes& out);
  bool ReadValue(Statistics& out);
  bool ReadValue(OriginalValue& out);
  bool ReadValue(OpMetadata& out);
  template <class T>
  bool ReadValue(std::optional<T>& out) {
    return ReadValue(out.emplace());
  }
  template <TextEnum E>
  bool ReadValue(E& out) {
    if (Is(Tok::kIdent) || Is(Tok::kKeyword)) {
      if (const std::optional<E> found = EnumFromText<E>(token().text)) {
        out = *found;
        lex_.Next();
        return true;
      }
    }
    return BadWord(EnumText<E>::kWords);
  }
  bool BadWord(std::span<const std::string_view> words);
  bool ReadWord(std::string& out, std::span<const std::string_view> words);
  bool ReadDouble(double& out);
  bool ReadStringOrDict(std::string& out);
  bool ReadShapeIndex(ShapeIndex& out);
  bool ReadBools(std::vector<bool>& out);  // one, or a list
  bool ReadOriginalArray(OriginalArray& out);
  bool ReadOriginTree(OriginalValue::Node& out);
  bool ReadInts(std::vector<int64_t>& out);
  // `{1,2}` from the raw text; the current token is `{`.
  template <class Vec>
  bool ReadBracedInts(Vec& out);
  // `1x2x3`
  bool ReadDxd(DimVec& out);

  bool ParseMesh(Mesh& out);
  bool ParseAxisRef(const Mesh& mesh, AxisRef& out);
  bool ParseAxes(const Mesh& mesh, std::vector<AxisRef>& out);

 private:
  // A defined name; null: its definition has failed.
  struct Binding {
    Instruction* instruction = nullptr;
    SourceLoc loc;
  };
  struct Scope {
    Computation* computation = nullptr;
    StringViewMap<Binding> names;
    absl::flat_hash_map<std::pair<const Instruction*, int64_t>, Instruction*>
        elements;  // compact get-tuple-element
    Instruction* last = nullptr;
    SourceLoc root_loc;
    bool failed = false;
    bool ended = false;         // its `}` has been read
    bool single = false;        // single-instruction text: unknown operands become parameters
    std::string_view defining;  // the name whose right-hand side is being read
    SourceLoc defining_loc;
  };
  struct ComputationBinding {
    Computation* computation = nullptr;
    SourceLoc loc;
  };

  // ---- module (parse_module.cc, parse_module_attrs.cc) ----
  bool ParseText();
  bool ParseComputations();
  bool ParseHeader();
  bool ParseHeaderAttribute(int index);
  bool ParseDebugItems(DebugAttributes::Item& item);
  bool ParseAliases();
  bool ParseDonors();
  bool ParseEntryLayout();
  bool ParseRecoveryTable();
  bool ParseDebugAttributes();
  bool ParseStackFrames();
  bool ParseSubInts(std::span<const std::string_view> names, std::span<int32_t> values);
  bool ParseComputation();
  bool ParseThread(Computation& computation);
  bool ParseSignature(std::optional<Shape>& result, SourceLoc& loc, int& parameters);
  void ReserveNames(Scope& scope);
  bool ParseBody(Scope& scope);
  bool CheckBody(Scope& scope, SourceLoc loc);
  bool ParseSingle();
  bool Finish();
  bool CheckAliases();
  bool CheckAsyncCallers();
  void RenumberStackFrames();
  void SetSchedule();
  bool ResyncInstruction(uint32_t start);
  // After the message that nothing above is called `name`: where it is defined further down.
  void NoteIfDefinedBelow(std::string_view name, bool is_computation);
  void ResyncComputation(uint32_t start);

  // ---- instructions (parse_instruction.cc) ----
  bool ParseInstruction(Scope& scope);
  bool ParseRhs(Scope& scope, Draft& draft, Instruction*& out);
  bool ParseOpcode(Draft& draft);
  bool ParseOperands(Scope& scope, Draft& draft);
  bool ParsePlainOperands(Scope& scope, Draft& draft);
  bool ParseOperand(Scope& scope, Draft& draft);
  bool ResolveOperand(Scope& scope, std::optional<Shape> shape, SourceLoc shape_loc, Draft& draft);
  Instruction* InventParameter(Scope& scope, Shape shape, std::string_view name, SourceLoc loc);
  bool Lookup(Scope& scope, std::string_view name, SourceLoc loc, Instruction*& out);
  Instruction* Element(Scope& scope, Instruction* tuple, int64_t index, SourceLoc loc);
  bool ParseConstantBody(Draft& draft);
  bool ParseParameterBody(Draft& draft);
  bool ParseNestedComputation(Computation*& out);
  bool ReadComputation(Computation*& out);
  bool ReadComputations(absl::InlinedVector<Computation*, 2>& out);
  bool Build(Scope& scope, Draft& draft, Instruction*& out);
  bool ResultShape(Draft& draft, Shape& out);
  bool CheckInferredSize(const Draft& draft);
  bool Define(Scope& scope, std::string_view name, SourceLoc loc, Instruction* instruction);
  void ApplyExtras(Instruction* instruction, CommonAttrs& common);
  std::string_view AnonymousName(std::string_view opcode);
  std::unique_ptr<Scope> NewScope();
  void Recycle(std::unique_ptr<Scope> scope);
  Computation* NewComputation(std::string_view name, SourceLoc loc);

  // ---- attributes (parse_attrs.cc) ----
  bool ParseAttributes(Scope& scope, Draft& draft);
  bool ParseAttributeList(Scope& scope, Draft& draft, void* attrs, AttrReaders own,
                          void* more_attrs, AttrReaders more);
  // 1: read, 0: not one of these, -1: failed
  int ReadCommonAttribute(Scope& scope, Draft& draft, std::string_view name, uint32_t& seen);
  int ReadCallAttribute(Draft& draft, std::string_view name);
  bool CheckRequired(const Draft& draft, AttrReaders own, uint32_t seen);
  // What a sugared update or done repeats, against the operation that its start wraps.
  bool CheckRepeated(const Draft& draft, const Instruction& root, AttrReaders own,
                     const void* attrs, const void* of_start);
  bool CheckBranches(const Draft& draft);
  bool UnknownAttribute(const Draft& draft, std::string_view name, SourceLoc loc, AttrReaders own,
                        AttrReaders more);
  template <class A>
  static bool ParseAttributesAs(Parser& parser, Scope& scope, Draft& draft);
  using AttributesParser = bool (*)(Parser&, Scope&, Draft&);
  static AttributesParser AttributesParserOf(Opcode opcode);
  bool ReadControlPredecessors(Scope& scope, std::vector<Instruction*>& out);

  // ---- async (parse_async.cc) ----
  bool SplitAsyncWord(std::string_view word, Draft& draft);
  bool BuildAsync(Scope& scope, Draft& draft, Instruction*& out);
  bool BuildSugaredStart(Draft& draft, Computation*& wrapped);
  bool CheckAsyncShape(Draft& draft, bool is_start, bool is_done);
  bool CheckAsyncStep(const Draft& draft, Computation* wrapped, const Instruction* producer);
  void SetThread(Computation* computation, std::string_view thread);
  Instruction* FindAsync(Instruction* value) const;
  Instruction* FindAsync(Instruction* value, std::vector<int64_t> path, int& steps) const;
  // The computation that an async operation runs, or null when its start is not known.
  Computation* WrappedBy(const Instruction* step) const;
  // The same for the update or done that is being read.
  Computation* WrappedByStart(const Draft& step) const;
  void PatchWrapped(Computation* wrapped, absl::Span<const Shape> operands, Shape result);
  void CopyToWrapped(Computation* wrapped, const CommonAttrs& common);
  void CopyExtras(const Extras& from, Instruction* root);

  // ---- single shardings (parse_sharding.cc) ----
  bool ParseShardingLeaf(Sharding::Leaf& out);
  struct ShardingItems;
  bool ParseTiledBody(TiledSharding& out);
  bool ParseShardingField(const Token& at, ShardingItems& items, TiledSharding& out);
  bool ParseShardingWord(const Token& at, ShardingItems& items, TiledSharding& out);
  bool ParseSubgroupTypes(TiledSharding& out);
  bool FinishTiledBody(SourceLoc loc, const ShardingItems& items, TiledSharding& out);
  bool CheckTiles(SourceLoc loc, const ShardingItems& items, const TiledSharding& tiled);
  bool ParseNamedBody(NamedSharding& out);
  bool ParseNamedDims(NamedSharding& out);
  bool ParseReductionWord(ReductionKind& out);
  bool ParseShardingMetadata(std::vector<OpMetadata>& out);
  bool ParseIotaSource(DimVec dims, IotaTiles& out);
  bool ParseSquareInts(DimVec& out);

  bool stopped() const { return static_cast<int>(error_count_) >= options_.max_errors; }

  const ParserOptions& options_;
  Lexer lex_;
  std::string_view text_;
  std::vector<Diagnostic> errors_;
  WarningList warnings_;
  int error_count_ = 0;
  int depth_ = 0;
  std::unique_ptr<Module> module_;
  StringViewMap<Shape> shapes_;      // by text
  StringViewMap<SharedText> texts_;  // by what stands between the quotes
  StringViewMap<ComputationBinding> computations_;
  std::array<AttrsPtr, 16> parameter_attrs_;  // by number
  std::vector<std::unique_ptr<Scope>> spare_scopes_;
  std::optional<NameUniquer> anonymous_names_;
  Computation* entry_ = nullptr;
  Computation* last_computation_ = nullptr;
  bool scheduled_ = false;
  bool has_entry_layout_ = false;
  bool single_ = false;
  bool has_frame_ids_ = false;
  bool any_async_ = false;
  bool depth_exceeded_ = false;
  uint64_t inferred_bytes_ = 0;  // text of the tuple shapes that were not written
  bool calls_by_name_ = false;   // no inline computations here
  Opcode attributes_of_ = {};    // whose own attribute is read
  bool fill_layouts_;
  bool glued_layouts_ =
      false;  // a layout touches its shape; `f32[2] {1,2}` is a shape and a literal
  std::vector<SourceLoc> alias_locs_;   // of ModuleConfig::aliases
  std::vector<Computation*> finished_;  // called ones before their callers, the order of the module
  absl::flat_hash_map<const Instruction*, Computation*> async_wrapped_;
  // Wrapped computations with parameters after their root.
  absl::flat_hash_set<const Computation*> late_bound_;
  friend class Depth;
};

// The double nearest to a decimal number; false when that is infinite.
bool ToDouble(std::string_view text, double& out);

// ---- templates ----
template <class Vec>
bool Parser::ReadBracedInts(Vec& out) {
  if (!Is(Tok::kLBrace)) return Unexpected("`{` of a list of integers");
  const char* at = lex_.SkipBlanks(lex_.cursor());
  out.clear();
  if (*at == '}') {
    lex_.set_cursor(at + 1);
    lex_.Next();
    return true;
  }
  while (true) {
    // One to eighteen digits are read here; everything else goes through the lexer, which knows the
    // rest.
    const char* digit = at + (*at == '-');
    uint64_t value = 0;
    const char* start = digit;
    while (*digit >= '0' && *digit <= '9')
      value = value * 10 + static_cast<uint64_t>(*digit++ - '0');
    if (digit == start || digit - start > 18 || Lexer::IsIdentByte(*digit)) {
      lex_.set_cursor(at);
      lex_.Next();
      int64_t slow = 0;
      if (!ReadValue(slow)) return false;
      out.push_back(slow);
      if (Take(Tok::kRBrace)) return true;
      if (!Is(Tok::kComma)) return Unexpected("`,` or `}` in a list of integers");
      at = lex_.SkipBlanks(lex_.cursor());
      continue;
    }
    out.push_back(*at == '-' ? -static_cast<int64_t>(value) : static_cast<int64_t>(value));
    at = lex_.SkipBlanks(digit);
    if (*at == ',') {
      at = lex_.SkipBlanks(at + 1);
      continue;
    }
    if (*at == '}') {
      lex_.set_cursor(at + 1);
      lex_.Next();
      return true;
    }
    lex_.set_cursor(at);
    lex_.Next();
    return Unexpected("`,` or `}` in a list of integers");
  }
}

}  // namespace hlo

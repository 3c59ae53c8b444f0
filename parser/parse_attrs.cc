// Attributes: `{ ',' NAME '=' value }` after the operands.
//
// Which attributes an opcode takes follows from its row in the opcode table: the fields of its
// attribute struct, the names of its called computations, and the common ones. No opcode has code
// of its own here.
#include <algorithm>

#include "lib/ops/opcode_groups.h"
#include "parser/parser_internal.h"

namespace hlo {
namespace {

constexpr std::string_view kModeWords[] = {"cross_replica", "cross_partition",
                                           "cross_replica_and_partition", "flattened_id"};

// The common attributes, in the order of their bits in `seen`.
constexpr std::string_view kCommon[] = {
    "metadata", "sharding",   "backend_config", "frontend_attributes", "control-predecessors",
    "origin",   "statistics", "result_accuracy"};
enum CommonIndex {
  kMetadata,
  kSharding,
  kBackendConfig,
  kFrontend,
  kControl,
  kOrigin,
  kStatistics,
  kAccuracy
};

template <class A, size_t kIndex>
bool ReadField(Parser& parser, void* attrs) {
  const auto field = std::get<kIndex>(A::Fields());
  auto& value = static_cast<A*>(attrs)->*field.member;
  if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, std::string>) {
    if (field.name == "mode") return parser.ReadWord(value, kModeWords);
  }
  return parser.ReadValue(value);
}

template <class A, size_t kIndex>
bool SameField(const void* a, const void* b) {
  const auto field = std::get<kIndex>(A::Fields());
  return static_cast<const A*>(a)->*field.member == static_cast<const A*>(b)->*field.member;
}

template <class A, size_t... kIndex>
auto MakeReaders(std::index_sequence<kIndex...>) {
  return std::array<AttrReader, sizeof...(kIndex)>{
      AttrReader{std::get<kIndex>(A::Fields()).name, std::get<kIndex>(A::Fields()).mode,
                 &ReadField<A, kIndex>, &SameField<A, kIndex>}...};
}

template <class A>
AttrReaders ReadersOf() {
  static const auto kReaders =
      MakeReaders<A>(std::make_index_sequence<std::tuple_size_v<decltype(A::Fields())>>());
  return {kReaders.data(), static_cast<int>(kReaders.size())};
}

bool IsSugaredStep(const Draft& draft) {
  return draft.sugar == Draft::Sugar::kUpdate || draft.sugar == Draft::Sugar::kDone;
}

// Whether equal texts of this attribute may be stored as different values.
bool IsStoredOtherwise(Opcode opcode, const AttrReader& attr) {
  return attr.mode == FieldMode::kParseOnly || opcode == Opcode::kMap ||
         (opcode == Opcode::kCompare && attr.name == "type");
}

// `-1` stands for "absent".
template <class A>
void Normalize(A&) {}
void Normalize(ReshapeAttrs& attrs) {
  if (attrs.inferred_dimension == -1) attrs.inferred_dimension.reset();
}
void Normalize(RaggedAllToAllAttrs& attrs) { attrs.dimensions.reset(); }

}  // namespace

template <class A>
bool Parser::ParseAttributesAs(Parser& parser, Scope& scope, Draft& draft) {
  // Most instructions have no attributes.
  if (!parser.Is(Tok::kComma) && draft.sugar == Draft::Sugar::kNone) {
    if constexpr (!std::is_same_v<A, NoAttrs>) {
      static const AttrsPtr kNone = AttrsPtr::Make(A());
      if (!draft.attrs) draft.attrs = kNone;
    }
    draft.after = parser.token().loc();
    return parser.CheckRequired(draft, ReadersOf<A>(), 0);
  }
  // What has been read of constants and parameters already (the hidden fields) is in the draft.
  A attrs = draft.attrs ? draft.attrs.Get<A>() : A();
  AttrReaders own = ReadersOf<A>();
  AttrReaders more;
  if (draft.sugar != Draft::Sugar::kNone) more = ReadersOf<AsyncAttrs>();
  if (!parser.ParseAttributeList(scope, draft, &attrs, own, &draft.async, more)) return false;
  Normalize(attrs);
  if (IsSugaredStep(draft)) {
    const Computation* wrapped = parser.WrappedByStart(draft);
    if (wrapped == nullptr || wrapped->root()->opcode() != draft.opcode) return true;
    if constexpr (std::is_same_v<A, NoAttrs>) {
      return parser.CheckRepeated(draft, *wrapped->root(), own, &attrs, &attrs);
    } else {
      return parser.CheckRepeated(draft, *wrapped->root(), own, &attrs,
                                  &wrapped->root()->template attrs<A>());
    }
  }
  if constexpr (std::is_same_v<A, AsyncAttrs>) draft.async = attrs;
  if constexpr (!std::is_same_v<A, NoAttrs>) {
    if (draft.own_given || !draft.attrs) draft.attrs = AttrsPtr::Make(std::move(attrs));
  }
  return true;
}

Parser::AttributesParser Parser::AttributesParserOf(Opcode opcode) {
  static constexpr AttributesParser kParsers[] = {
#define HLO_OP(Name, text, operands, calls, attributes, ...) &Parser::ParseAttributesAs<attributes>,
#include "lib/ops/ops.def"
  };
  return kParsers[static_cast<size_t>(opcode)];
}

bool Parser::ParseAttributes(Scope& scope, Draft& draft) {
  return AttributesParserOf(draft.opcode)(*this, scope, draft);
}

bool Parser::ParseAttributeList(Scope& scope, Draft& draft, void* attrs, AttrReaders own,
                                void* more_attrs, AttrReaders more) {
  uint32_t seen_own = 0, seen_more = 0, seen_common = 0;
  const bool is_step = IsSugaredStep(draft);
  const auto find = [](AttrReaders readers, std::string_view name) {
    for (int i = 0; i < readers.count; ++i) {
      if (StringEqual()(readers.begin[i].name, name) && readers.begin[i].mode != FieldMode::kHidden)
        return i;
    }
    return -1;
  };
  draft.after = token().loc();
  if (draft.nested) return CheckRequired(draft, own, seen_own);
  while (Is(Tok::kComma)) {
    lex_.Next();
    if (!Is(Tok::kAttr)) return Unexpected("the name of an attribute and `=`");
    const std::string_view name = token().text;
    const SourceLoc loc = token().loc();
    const auto repeated = [&](uint32_t& seen, int bit) {
      const bool again = (seen >> bit & 1) != 0;
      seen |= 1u << bit;
      if (again) Fail(loc, "attribute `{}` is given twice", name);
      return again;
    };
    // Of an update, aliases are those of the step itself.
    const bool of_step =
        draft.sugar == Draft::Sugar::kUpdate && name == "output_to_operand_aliasing";
    if (const int i = of_step ? -1 : find(own, name); i >= 0) {
      if (draft.opcode == Opcode::kAsyncDone && name == "output_to_operand_aliasing") {
        return UnknownAttribute(draft, name, loc, own, more);
      }
      if (repeated(seen_own, i)) return false;
      draft.own_given = true;
      lex_.Next();
      attributes_of_ = draft.opcode;
      if (!own.begin[i].read(*this, attrs)) return false;
      if (is_step) draft.repeated.emplace_back(i, loc);
      if (name == "async_execution_thread") draft.async_has_thread = true;
      continue;
    }
    if (const int i = find(more, name);
        i >= 0 && !(draft.sugar == Draft::Sugar::kDone && name == "output_to_operand_aliasing")) {
      if (repeated(seen_more, i)) return false;
      if (name == "async_execution_thread") draft.async_has_thread = true;
      lex_.Next();
      if (!more.begin[i].read(*this, more_attrs)) return false;
      continue;
    }
    const int common = ReadCommonAttribute(scope, draft, name, seen_common);
    if (common < 0) return false;
    if (common > 0) continue;
    const int call = ReadCallAttribute(draft, name);
    if (call < 0) return false;
    if (call == 0) return UnknownAttribute(draft, name, loc, own, more);
  }
  draft.after = token().loc();
  return CheckRequired(draft, own, seen_own);
}

bool Parser::CheckRepeated(const Draft& draft, const Instruction& root, AttrReaders own,
                           const void* attrs, const void* of_start) {
  const auto differs = [&](SourceLoc loc, std::string_view what) {
    Fail(loc, "{} differs from that of the start", what);
    return Note(root.loc(), fmt::format("the `{}` is started here", Text(draft.opcode)));
  };
  for (const auto& [index, loc] : draft.repeated) {
    const AttrReader& attr = own.begin[index];
    if (!IsStoredOtherwise(draft.opcode, attr) && !attr.same(of_start, attrs))
      return differs(loc, fmt::format("`{}`", attr.name));
  }
  const auto& calls = draft.common.calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] == nullptr) continue;
    if (static_cast<int>(i) >= root.call_count() || root.call(static_cast<int>(i)) != calls[i])
      return differs(draft.calls_loc, "the called computation");
  }
  if (draft.common.has_calls && static_cast<int>(calls.size()) != root.call_count())
    return differs(draft.calls_loc, "the list of called computations");
  const Extras* own_extras = draft.common.extras.get();
  if (own_extras != nullptr && own_extras->result_accuracy.has_value()) {
    const Extras* extras = root.extras();
    const ResultAccuracy stored = extras != nullptr && extras->result_accuracy.has_value()
                                      ? *extras->result_accuracy
                                      : ResultAccuracy();
    if (!(stored == *own_extras->result_accuracy))
      return differs(draft.accuracy_loc, "`result_accuracy`");
  }
  return true;
}

bool Parser::CheckRequired(const Draft& draft, AttrReaders own, uint32_t seen) {
  if (IsSugaredStep(draft)) return true;  // the start has them
  for (int i = 0; i < own.count; ++i) {
    if (own.begin[i].mode == FieldMode::kRequired && (seen >> i & 1) == 0) {
      return Fail(draft.opcode_loc, "`{}` needs the attribute `{}`", Text(draft.opcode),
                  own.begin[i].name);
    }
  }
  if (draft.opcode == Opcode::kBroadcast && (seen & 1) == 0 && !draft.operands.empty() &&
      !draft.operands[0]->shape().IsScalar()) {
    return Fail(draft.opcode_loc, "`broadcast` of an array needs the attribute `dimensions`");
  }
  if (draft.opcode == Opcode::kMap && (seen & 1) == 0 && !draft.shape.has_value()) {
    return Fail(draft.opcode_loc, "`map` without a shape needs the attribute `dimensions`");
  }
  // Conditionals name their branches in one of two ways; custom calls need not call anything.
  const CallSpec& spec = Info(draft.opcode).calls;
  for (int i = 0; i < spec.count; ++i) {
    const auto slot = static_cast<size_t>(i);
    if (draft.common.calls.size() <= slot || draft.common.calls[slot] == nullptr) {
      return Fail(draft.opcode_loc, "`{}` needs the attribute `{}`", Text(draft.opcode),
                  spec.names[slot]);
    }
  }
  if (draft.opcode == Opcode::kConditional) return CheckBranches(draft);
  return true;
}

bool Parser::CheckBranches(const Draft& draft) {
  if (draft.operands.empty())
    return Fail(draft.opcode_loc, "`conditional` needs a selector as first operand");
  const Shape selector = draft.operands[0]->shape();
  const bool is_pred = selector.IsScalarOf(ElementType::kPred);
  if (!is_pred && !selector.IsScalarOf(ElementType::kS32)) {
    return Fail(draft.opcode_loc,
                "the selector of `conditional` has shape `{}`, expected `pred[]` or `s32[]`",
                selector);
  }
  const auto& calls = draft.common.calls;
  if (is_pred) {
    for (size_t i = 0; i < 2; ++i) {
      if (draft.two_branches && calls.size() > i && calls[i] != nullptr) continue;
      return Fail(draft.opcode_loc, "`conditional` on `pred[]` needs the attribute `{}`",
                  i == 0 ? "true_computation" : "false_computation");
    }
  } else if (draft.two_branches || !draft.common.has_calls) {
    return Fail(draft.opcode_loc,
                "`conditional` on `s32[]` needs the attribute `branch_computations`");
  }
  if (calls.empty() || calls.size() + 1 != draft.operands.size()) {
    return Fail(draft.opcode_loc,
                "`conditional` has {} branches and {} branch operands, expected one each",
                calls.size(), draft.operands.size() - 1);
  }
  return true;
}

bool Parser::UnknownAttribute(const Draft& draft, std::string_view name, SourceLoc loc,
                              AttrReaders own, AttrReaders more) {
  const bool is_done = draft.sugar == Draft::Sugar::kDone || draft.opcode == Opcode::kAsyncDone;
  std::vector<std::string_view> allowed;
  for (const AttrReaders& readers : {own, more}) {
    for (int i = 0; i < readers.count; ++i) {
      const bool refused = is_done && readers.begin[i].name == "output_to_operand_aliasing";
      if (readers.begin[i].mode != FieldMode::kHidden && !refused)
        allowed.push_back(readers.begin[i].name);
    }
  }
  const CallSpec& spec = Info(draft.opcode).calls;
  for (const std::string_view call : spec.names) {
    if (!call.empty()) allowed.push_back(call);
  }
  const size_t specific = allowed.size();
  for (const std::string_view common : kCommon) {
    if (common == "result_accuracy" && !HasTrait(draft.opcode, kHasAccuracy)) continue;
    allowed.push_back(common);
  }
  std::string hint = DidYouMean(name, allowed);
  if (hint.empty() && specific > 0) {
    allowed.resize(specific);
    std::sort(allowed.begin(), allowed.end());
    hint = fmt::format("; its own attributes are {}", Join(allowed, ", "));
  }
  return Fail(loc, "`{}` has no attribute `{}`{}", Text(draft.opcode), name, hint);
}

int Parser::ReadCommonAttribute(Scope& scope, Draft& draft, std::string_view name, uint32_t& seen) {
  int index = 0;
  while (index < static_cast<int>(std::size(kCommon)) && !StringEqual()(kCommon[index], name))
    ++index;
  if (index == static_cast<int>(std::size(kCommon))) return 0;
  if (index == kAccuracy && !HasTrait(draft.opcode, kHasAccuracy)) return 0;
  const SourceLoc loc = token().loc();
  if ((seen >> index & 1) != 0) return Fail(loc, "attribute `{}` is given twice", name) ? 1 : -1;
  seen |= 1u << index;
  if (index == kAccuracy) draft.accuracy_loc = loc;
  lex_.Next();
  CommonAttrs& common = draft.common;
  const auto result = [](bool ok) { return ok ? 1 : -1; };
  switch (index) {
    case kMetadata: return result(ReadValue(common.mutable_extras().metadata));
    case kSharding: return result(ReadValue(common.mutable_extras().sharding.emplace()));
    case kBackendConfig: {
      std::string config;
      if (!ReadStringOrDict(config)) return -1;
      common.mutable_extras().backend_config = config;
      return 1;
    }
    case kFrontend: return result(ReadValue(common.mutable_extras().frontend_attributes));
    case kControl: return result(ReadControlPredecessors(scope, common.control_predecessors));
    case kOrigin: return result(ReadValue(common.mutable_extras().origin.emplace()));
    case kStatistics: {
      Boxed<Statistics>& statistics = common.mutable_extras().statistics;
      if (!ReadValue(statistics.emplace())) return -1;
      if (!statistics->values.empty()) return 1;
      Warn(loc, "statistics without a number are dropped");
      statistics.reset();
      return 1;
    }
    default: return result(ReadValue(common.mutable_extras().result_accuracy.emplace()));
  }
}

bool Parser::ReadControlPredecessors(Scope& scope, std::vector<Instruction*>& out) {
  if (!Expect(Tok::kLBrace, "`{` of control predecessors")) return false;
  bool ok = true;
  do {
    if (!IsNameToken()) return Unexpected("the name of an instruction");
    Instruction* predecessor = nullptr;
    ok = Lookup(scope, token().text, token().loc(), predecessor) && ok;
    out.push_back(predecessor);
    lex_.Next();
  } while (Take(Tok::kComma));
  return Expect(Tok::kRBrace, "`,` or `}` in control predecessors") && ok;
}

int Parser::ReadCallAttribute(Draft& draft, std::string_view name) {
  CommonAttrs& common = draft.common;
  // What an update or done repeats are the very computations of its start.
  calls_by_name_ = IsSugaredStep(draft);
  draft.calls_loc = token().loc();
  const CallSpec& spec = Info(draft.opcode).calls;
  const SourceLoc loc = token().loc();
  const auto one = [&](size_t slot) {
    if (common.calls.size() <= slot) common.calls.resize(slot + 1, nullptr);
    if (common.calls[slot] != nullptr)
      return Fail(loc, "attribute `{}` is given twice", name) ? 1 : -1;
    lex_.Next();
    return ReadComputation(common.calls[slot]) ? 1 : -1;
  };
  const auto list = [&] {
    if (common.has_calls) return Fail(loc, "attribute `{}` is given twice", name) ? 1 : -1;
    common.has_calls = true;
    lex_.Next();
    return ReadComputations(common.calls) ? 1 : -1;
  };
  for (size_t i = 0; i < static_cast<size_t>(spec.count); ++i) {
    if (spec.names[i] == name) return one(i);
  }
  // What XLA writes for these when it prints whole bodies.
  if ((draft.opcode == Opcode::kReduceScatter || draft.opcode == Opcode::kScan) && name == "calls")
    return one(0);
  if (draft.opcode == Opcode::kConditional) {
    if (name == "branch_computations") return draft.two_branches ? 0 : list();
    if ((name != "true_computation" && name != "false_computation") || common.has_calls) return 0;
    draft.two_branches = true;
    return one(name == "true_computation" ? 0 : 1);
  }
  if (draft.opcode == Opcode::kCustomCall && name == "called_computations") {
    if (draft.custom_to_apply == nullptr) return list();
    Warn(loc, "`to_apply` is given, too, and wins over `called_computations`");
    absl::InlinedVector<Computation*, 2> ignored;
    lex_.Next();
    return ReadComputations(ignored) ? 1 : -1;
  }
  if (draft.opcode == Opcode::kCustomCall && name == "to_apply") {
    if (draft.custom_to_apply != nullptr)
      return Fail(loc, "attribute `to_apply` is given twice") ? 1 : -1;
    lex_.Next();
    if (common.has_calls)
      Warn(draft.calls_loc, "`to_apply` wins over `called_computations`, which is given, too");
    if (!ReadComputation(draft.custom_to_apply)) return -1;
    common.calls = {draft.custom_to_apply};
    return 1;
  }
  // Old texts repeat the start's computation; it is compared and dropped.
  const bool is_step = kAsyncSteps.Has(draft.opcode);
  return is_step && name == "calls" ? one(0) : 0;
}

}  // namespace hlo

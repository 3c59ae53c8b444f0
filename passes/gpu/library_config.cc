#include "passes/gpu/library_config.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "lib/support/diagnostic.h"
#include "lib/support/json_value.h"
#include "lib/support/status.h"
#include "lib/types/format_float.h"
#include "passes/gpu/library_calls.h"
#include "passes/util/library_configs.h"

namespace hlo {
namespace {

template <class S>
concept HasJsonFields = requires(S s) {
  S::Fields();
  s.unknown;
};
template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

// ---- writing ----

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

// An enumerator as the protocol buffer spells it.
template <TextEnum E>
std::string Spelled(E value) {
  return std::string(Text(value));
}
std::string Spelled(Precision value) { return Upper(Text(value)); }
std::string Spelled(DotAlgorithm value) { return "ALG_" + Upper(Text(value)); }

void Append(std::string& out, int64_t value) { out += fmt::format("\"{}\"", value); }
void Append(std::string& out, int32_t value) { out += fmt::format("{}", value); }
void Append(std::string& out, bool value) { out += value ? "true" : "false"; }
void Append(std::string& out, const std::string& value) { out += JsonQuoted(value); }
void Append(std::string& out, const RawJson& value) { out += value.text; }
void Append(std::string& out, double value) {
  if (std::isfinite(value)) {
    AppendRoundTrip(value, out);
  } else {
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  }
}
template <TextEnum E>
void Append(std::string& out, E value) {
  out += '"' + Spelled(value) + '"';
}
template <class List>
void AppendList(std::string& out, const List& list) {
  out += '[';
  for (const auto& item : list) {
    if (out.back() != '[') out += ',';
    Append(out, item);
  }
  out += ']';
}
void Append(std::string& out, const DimVec& list) { AppendList(out, list); }
void Append(std::string& out, const std::vector<Precision>& list) { AppendList(out, list); }

template <HasJsonFields S>
void Append(std::string& out, const S& object);

template <class T>
void AppendMember(std::string& out, std::string_view key, const T& value) {
  if (out.back() != '{') out += ',';
  out += JsonQuoted(key) + ':';
  Append(out, value);
}

template <HasJsonFields S>
void Append(std::string& out, const S& object) {
  out += '{';
  size_t number = 0;
  const auto append_unknown = [&](size_t before) {
    for (const UnknownField& field : object.unknown) {
      if (field.before == before) AppendMember(out, field.key, field.value);
    }
  };
  ForEachField<S>([&](const auto& field) {
    append_unknown(number++);
    const auto& value = object.*field.member;
    if constexpr (kIsOptional<std::remove_cvref_t<decltype(value)>>) {
      if (value) AppendMember(out, field.name, *value);
    } else {
      AppendMember(out, field.name, value);
    }
  });
  append_unknown(UnknownField::kLast);
  out += '}';
}

// ---- reading ----

// `status` at this value, but where it has a place within it.
absl::Status At(const JsonValue& json, const absl::Status& status) {
  return AddLocation(status, {json.loc().offset, static_cast<uint32_t>(json.raw().size())});
}

// Whether a key is the name of a field, or the name in camelCase.
bool IsNamed(std::string_view key, std::string_view name) {
  if (key == name) return true;
  size_t at = 0;
  bool is_start = false;
  for (const char c : name) {
    if (c == '_') {
      is_start = true;
      continue;
    }
    const char wanted = is_start && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (at == key.size() || key[at++] != wanted) return false;
    is_start = false;
  }
  return at == key.size();
}

// The whole of `text` as a number.
template <class T>
bool ParseWhole(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

absl::Status Read(const JsonValue& json, int64_t& value) {
  if (!json.IsString()) {
    ASSIGN_OR_RETURN(value, json.AsInt());
    return absl::OkStatus();
  }
  return ParseWhole(json.text(), value) ? absl::OkStatus()
                                        : Error("`{}` is no integer", json.text());
}
absl::Status Read(const JsonValue& json, int32_t& value) {
  int64_t wide = 0;
  RETURN_IF_ERROR(Read(json, wide));
  value = static_cast<int32_t>(wide);
  return value == wide ? absl::OkStatus() : Error("{} needs more than 32 bits", wide);
}
struct NumberWord {
  std::string_view text;
  double value;
};
constexpr NumberWord kNumberWords[] = {
    {"NaN", NAN}, {"Infinity", HUGE_VAL}, {"-Infinity", -HUGE_VAL}};

absl::Status Read(const JsonValue& json, double& value) {
  if (!json.IsString()) {
    ASSIGN_OR_RETURN(value, json.AsDouble());
    return absl::OkStatus();
  }
  for (const NumberWord& word : kNumberWords) {
    if (word.text != json.text()) continue;
    value = word.value;
    return absl::OkStatus();
  }
  return ParseWhole(json.text(), value) ? absl::OkStatus()
                                        : Error("`{}` is no number", json.text());
}
absl::Status Read(const JsonValue& json, bool& value) {
  if (json.kind() != JsonValue::Kind::kBool) return Error("`{}` is no bool", json.raw());
  value = json.text() == "true";
  return absl::OkStatus();
}
absl::Status Read(const JsonValue& json, std::string& value) {
  if (!json.IsString()) return Error("`{}` is no string", json.raw());
  value = std::string(json.text());
  return absl::OkStatus();
}
absl::Status Read(const JsonValue& json, RawJson& value) {
  value.text = std::string(json.raw());
  return absl::OkStatus();
}
template <TextEnum E>
absl::Status Read(const JsonValue& json, E& value) {
  constexpr auto kCount = std::size(EnumText<E>::kWords);
  for (size_t i = 0; i < kCount; ++i) {
    const bool is_it = json.IsString()   ? json.text() == Spelled(static_cast<E>(i))
                       : json.IsNumber() ? json.text() == std::to_string(i)
                                         : false;
    if (!is_it) continue;
    value = static_cast<E>(i);
    return absl::OkStatus();
  }
  std::string words;
  for (size_t i = 0; i < kCount; ++i) words += (i == 0 ? "" : ", ") + Spelled(static_cast<E>(i));
  return Error("`{}` is none of {}", json.raw(), words);
}
template <class List>
absl::Status ReadList(const JsonValue& json, List& list) {
  if (!json.IsArray()) return Error("`{}` is no array", json.raw());
  list.clear();
  for (const JsonValue& item : json.items()) {
    typename List::value_type value{};
    if (const absl::Status status = Read(item, value); !status.ok()) return At(item, status);
    list.push_back(value);
  }
  return absl::OkStatus();
}
absl::Status Read(const JsonValue& json, DimVec& list) { return ReadList(json, list); }
absl::Status Read(const JsonValue& json, std::vector<Precision>& list) {
  return ReadList(json, list);
}
template <HasJsonFields S>
absl::Status Read(const JsonValue& json, S& object);
template <class T>
absl::Status Read(const JsonValue& json, std::optional<T>& value) {
  return Read(json, value.emplace());
}

// The number of the known field before which a message that is not known stands. Parts of kinds of
// instructions have numbers between the queues and the schedule, but that of custom calls.
template <class S>
size_t PlaceOf(std::string_view key) {
  constexpr size_t kSchedule = 2;
  const bool is_part = std::is_same_v<S, QueueConfig> && key.ends_with("_backend_config") &&
                       key != "custom_call_backend_config";
  return is_part ? kSchedule : UnknownField::kLast;
}

template <HasJsonFields S>
absl::Status Read(const JsonValue& json, S& object) {
  if (!json.IsObject()) return Error("`{}` is no object", json.raw());
  size_t placed = 0;  // fields without a name whose place is known
  uint64_t seen = 0;
  for (size_t i = 0; i < json.keys().size(); ++i) {
    const std::string_view key = json.keys()[i];
    const JsonValue& value = json.items()[i];
    size_t number = 0, found = UnknownField::kLast;
    absl::Status status;
    ForEachField<S>([&](const auto& field) {
      const size_t own = number++;
      if (found != UnknownField::kLast || !IsNamed(key, field.name)) return;
      found = own;
      if (value.kind() != JsonValue::Kind::kNull) status = Read(value, object.*field.member);
    });
    if (!status.ok()) return AddPrefix(At(value, status), key);
    if (found == UnknownField::kLast) {
      object.unknown.push_back({std::string(key), {std::string(value.raw())}, PlaceOf<S>(key)});
      continue;
    }
    seen |= uint64_t{1} << found;
    for (; placed < object.unknown.size(); ++placed) {
      size_t& before = object.unknown[placed].before;
      if (before == UnknownField::kLast) before = found;
    }
  }
  size_t number = 0;
  absl::Status status;
  ForEachField<S>([&](const auto& field) {
    const bool is_seen = (seen >> number++ & 1) != 0;
    if (field.mode == FieldMode::kRequired && !is_seen)
      status = At(json, Error("it has no `{}`", field.name));
  });
  return status;
}

absl::StatusOr<JsonDocument> ParseConfig(const Instruction& call) {
  return ParseJson(
      std::make_shared<const Source>("backend_config", std::string(call.backend_config())));
}

// Where `place` of the config stands in the text of the module: on the line of the call, if it is
// written there as it is.
SourceLoc PlaceInModule(const Instruction& call, SourceLoc place) {
  constexpr std::string_view kAttribute = "backend_config=";
  const Source* const source = call.module().source().get();
  if (source == nullptr || !call.loc().known() || !place.known()) return call.loc();
  const std::string_view text = source->text();
  if (call.loc().offset >= text.size()) return call.loc();
  const std::string_view line = text.substr(0, text.find('\n', call.loc().offset));
  for (size_t at = line.find(kAttribute, call.loc().offset); at != std::string_view::npos;
       at = line.find(kAttribute, at + 1)) {
    const size_t config = at + kAttribute.size();
    if (line.substr(config).starts_with(call.backend_config()))
      return {static_cast<uint32_t>(config + place.offset), place.length};
  }
  return call.loc();
}

absl::Status Located(const Instruction& call, const absl::Status& status) {
  const Diagnostic what = DiagnosticsOf(status).front();
  return Error(PlaceInModule(call, what.loc), "the backend_config of `{}` cannot be read: {}",
               call.name(), what.message);
}

}  // namespace

DotAttrs GemmConfig::ToAttrs() const {
  DotAttrs attrs;
  attrs.lhs_batch_dims = dot_dimension_numbers.lhs_batch_dimensions;
  attrs.lhs_contracting_dims = dot_dimension_numbers.lhs_contracting_dimensions;
  attrs.rhs_batch_dims = dot_dimension_numbers.rhs_batch_dimensions;
  attrs.rhs_contracting_dims = dot_dimension_numbers.rhs_contracting_dimensions;
  attrs.algorithm = precision_config.algorithm;
  for (const Precision precision : precision_config.operand_precision) {
    if (precision != Precision::kDefault)
      attrs.operand_precision.values = precision_config.operand_precision;
  }
  return attrs;
}

GemmConfig GemmConfig::For(const DotAttrs& dot) {
  GemmConfig config;
  config.alpha_real = 1;
  config.dot_dimension_numbers = {dot.lhs_contracting_dims,
                                  dot.rhs_contracting_dims,
                                  dot.lhs_batch_dims,
                                  dot.rhs_batch_dims,
                                  {}};
  config.precision_config.operand_precision = dot.operand_precision.values;
  config.precision_config.operand_precision.resize(2, Precision::kDefault);
  config.precision_config.algorithm = dot.algorithm;
  return config;
}

template <class Config>
absl::StatusOr<Config> ReadWholeConfig(const Instruction& call) {
  const absl::StatusOr<JsonDocument> document = ParseConfig(call);
  if (!document.ok()) return Located(call, document.status());
  Config config;
  if (const absl::Status status = Read(document->root, config); !status.ok())
    return Located(call, status);
  return config;
}

template <class Config>
std::string WholeJson(const Config& config) {
  std::string out;
  Append(out, config);
  return out;
}

namespace {

// Reads what is there.
template <class Config>
absl::Status CheckWhole(const Instruction& call) {
  return ReadWholeConfig<Config>(call).status();
}
template <class Config>
absl::Status CheckPart(const Instruction& call) {
  const absl::StatusOr<JsonDocument> document = ParseConfig(call);
  const bool lacks_it =
      document.ok() && document->root.IsObject() && document->root.Find(Config::kKey) == nullptr;
  return lacks_it ? CheckWhole<QueueConfig>(call) : CheckWhole<LibraryConfig<Config>>(call);
}

struct ConfigOfTarget {
  std::string_view target;
  absl::Status (*check)(const Instruction& call);
};
constexpr ConfigOfTarget kConfigs[] = {{kGemm, CheckPart<GemmConfig>},
                                       {kLtMatmul, CheckPart<GemmConfig>},
                                       {kLtMatmulF8, CheckPart<GemmConfig>},
                                       {kConvForward, CheckPart<ConvConfig>},
                                       {kConvBackwardInput, CheckPart<ConvConfig>},
                                       {kConvBackwardFilter, CheckPart<ConvConfig>},
                                       {kConvBiasActivation, CheckPart<ConvConfig>},
                                       {kConvForwardGraph, CheckPart<ConvConfig>},
                                       {kNormCall, CheckPart<NormConfig>},
                                       {kAttention, CheckPart<AttentionConfig>},
                                       {kAttentionDropout, CheckPart<AttentionConfig>},
                                       {kAttentionBias, CheckPart<AttentionConfig>},
                                       {kAttentionBiasDropout, CheckPart<AttentionConfig>},
                                       {kAttentionGrad, CheckPart<AttentionConfig>},
                                       {kAttentionDropoutGrad, CheckPart<AttentionConfig>},
                                       {kAttentionBiasGrad, CheckPart<AttentionConfig>},
                                       {kAttentionBiasDropoutGrad, CheckPart<AttentionConfig>},
                                       {kCholeskyCall, CheckWhole<CholeskyConfig>},
                                       {kTriangularSolveCall, CheckWhole<TriangularSolveConfig>},
                                       {kRadixSortCall, CheckWhole<RadixSortConfig>}};

}  // namespace

absl::Status CheckLibraryConfig(const Instruction& call) {
  if (call.opcode() != Opcode::kCustomCall || call.backend_config().empty())
    return absl::OkStatus();
  const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
  for (const ConfigOfTarget& row : kConfigs) {
    if (row.target == target) return row.check(call);
  }
  return absl::OkStatus();
}

template <class Config>
absl::StatusOr<LibraryConfig<Config>> ReadConfig(const Instruction& call) {
  return ReadWholeConfig<LibraryConfig<Config>>(call);
}

template <class Config>
std::string ToJson(const LibraryConfig<Config>& config) {
  return WholeJson(config);
}

template absl::StatusOr<LibraryConfig<GemmConfig>> ReadConfig(const Instruction& call);
template absl::StatusOr<LibraryConfig<ConvConfig>> ReadConfig(const Instruction& call);
template absl::StatusOr<LibraryConfig<NormConfig>> ReadConfig(const Instruction& call);
template absl::StatusOr<LibraryConfig<AttentionConfig>> ReadConfig(const Instruction& call);
template std::string ToJson(const LibraryConfig<GemmConfig>& config);
template std::string ToJson(const LibraryConfig<ConvConfig>& config);
template std::string ToJson(const LibraryConfig<FusionConfig>& config);
template std::string ToJson(const LibraryConfig<NormConfig>& config);
template absl::StatusOr<CholeskyConfig> ReadWholeConfig(const Instruction& call);
template absl::StatusOr<QueueConfig> ReadWholeConfig(const Instruction& call);
template absl::StatusOr<RadixSortConfig> ReadWholeConfig(const Instruction& call);
template absl::StatusOr<TriangularSolveConfig> ReadWholeConfig(const Instruction& call);
template std::string WholeJson(const CholeskyConfig& config);
template std::string WholeJson(const QueueConfig& config);
template std::string WholeJson(const RadixSortConfig& config);
template std::string WholeJson(const TriangularSolveConfig& config);

}  // namespace hlo

#include "passes/gpu/library_config.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "lib/support/diagnostic.h"
#include "lib/support/json_value.h"
#include "lib/support/status.h"
#include "lib/types/format_float.h"

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
  ForEachField<S>([&](const auto& field) {
    const auto& value = object.*field.member;
    if constexpr (kIsOptional<std::remove_cvref_t<decltype(value)>>) {
      if (value) AppendMember(out, field.name, *value);
    } else {
      AppendMember(out, field.name, value);
    }
  });
  for (const UnknownField& field : object.unknown) AppendMember(out, field.key, field.value);
  out += '}';
}

// ---- reading ----

absl::Status Read(const JsonValue& json, int64_t& value) {
  if (!json.IsString()) {
    ASSIGN_OR_RETURN(value, json.AsInt());
    return absl::OkStatus();
  }
  const char* const end = json.text().data() + json.text().size();
  const auto [at, error] = std::from_chars(json.text().data(), end, value);
  if (error != std::errc() || at != end) return Error("`{}` is no integer", json.text());
  return absl::OkStatus();
}
absl::Status Read(const JsonValue& json, int32_t& value) {
  int64_t wide = 0;
  RETURN_IF_ERROR(Read(json, wide));
  value = static_cast<int32_t>(wide);
  return value == wide ? absl::OkStatus() : Error("{} needs more than 32 bits", wide);
}
absl::Status Read(const JsonValue& json, double& value) {
  if (json.IsString() && json.text() == "NaN") {
    value = std::nan("");
  } else if (json.IsString() && json.text().ends_with("Infinity")) {
    value = json.text().starts_with('-') ? -HUGE_VAL : HUGE_VAL;
  } else {
    ASSIGN_OR_RETURN(value, json.AsDouble());
  }
  return absl::OkStatus();
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
    if (!json.IsString() || json.text() != Spelled(static_cast<E>(i))) continue;
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
    RETURN_IF_ERROR(Read(item, value));
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

template <HasJsonFields S>
absl::Status Read(const JsonValue& json, S& object) {
  if (!json.IsObject()) return Error("`{}` is no object", json.raw());
  for (size_t i = 0; i < json.keys().size(); ++i) {
    const std::string_view key = json.keys()[i];
    bool known = false;
    absl::Status status;
    ForEachField<S>([&](const auto& field) {
      if (field.name != key) return;
      known = true;
      status = Read(json.items()[i], object.*field.member);
    });
    if (!status.ok()) return Error("{}: {}", key, DiagnosticsOf(status).front().message);
    if (!known) object.unknown.push_back({std::string(key), {std::string(json.items()[i].raw())}});
  }
  absl::Status status;
  ForEachField<S>([&](const auto& field) {
    if (field.mode == FieldMode::kRequired && json.Find(field.name) == nullptr)
      status = Error("it has no `{}`", field.name);
  });
  return status;
}

absl::StatusOr<JsonDocument> ParseConfig(const Instruction& call) {
  return ParseJson(
      std::make_shared<const Source>("backend_config", std::string(call.backend_config())));
}

absl::Status Located(const Instruction& call, const absl::Status& status) {
  return Error(call.loc(), "the backend_config of `{}` cannot be read: {}", call.name(),
               DiagnosticsOf(status).front().message);
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

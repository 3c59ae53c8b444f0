// Configs of calls (library_config.h) as XLA's JSON: fields in their order, and what was not known
// where it stood.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/json_value.h"
#include "lib/types/format_float.h"
#include "passes/gpu/library_config.h"

namespace hlo::config_json {

template <class S>
concept HasJsonFields = requires(S s) {
  S::Fields();
  s.unknown;
};
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

inline std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

// An enumerator as the protocol buffer spells it.
template <TextEnum E>
std::string Spelled(E value) {
  return std::string(Text(value));
}
inline std::string Spelled(Precision value) { return Upper(Text(value)); }
inline std::string Spelled(DotAlgorithm value) { return "ALG_" + Upper(Text(value)); }

inline void Append(std::string& out, int64_t value) { out += fmt::format("\"{}\"", value); }
inline void Append(std::string& out, int32_t value) { out += fmt::format("{}", value); }
inline void Append(std::string& out, uint64_t value) { out += fmt::format("\"{}\"", value); }
inline void Append(std::string& out, bool value) { out += value ? "true" : "false"; }
inline void Append(std::string& out, const std::string& value) { out += JsonQuoted(value); }
inline void Append(std::string& out, const RawJson& value) { out += value.text; }
template <class T>
void Append(std::string& out, const CheckedJson<T>& value) {
  out += value.text;
}
inline void Append(std::string& out, double value) {
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
inline void Append(std::string& out, const DimVec& list) { AppendList(out, list); }
inline void Append(std::string& out, const std::vector<Precision>& list) { AppendList(out, list); }

template <HasJsonFields S>
void Append(std::string& out, const S& object);
inline void Append(std::string& out, const IntegerMap& map);

template <class T>
void AppendMember(std::string& out, std::string_view key, const T& value) {
  if (out.back() != '{') out += ',';
  out += JsonQuoted(key) + ':';
  Append(out, value);
}

inline void Append(std::string& out, const IntegerMap& map) {
  out += '{';
  for (const auto& [key, value] : map) AppendMember(out, std::to_string(key), value);
  out += '}';
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

}  // namespace hlo::config_json

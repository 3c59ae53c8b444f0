// Configs of calls (library_config.h) from XLA's JSON, as protocol buffers may write it: numbers in
// quotes or not, enumerators by name or number, names in camelCase. Errors have the place in it;
// one is a field that is given twice, by either name.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "absl/algorithm/container.h"
#include "lib/support/diagnostic.h"
#include "lib/support/json_value.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "passes/gpu/config_json_writer.h"

namespace hlo::config_json {

// `status` at this value, but where it has a place within it.
inline absl::Status At(const JsonValue& json, const absl::Status& status) {
  return AddLocation(status, {json.loc().offset, static_cast<uint32_t>(json.raw().size())});
}

// Whether a key is the name of a field, or the name in camelCase.
inline bool IsNamed(std::string_view key, std::string_view name) {
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

inline absl::Status Read(const JsonValue& json, int64_t& value) {
  if (!json.IsString()) {
    ASSIGN_OR_RETURN(value, json.AsInt());
    return absl::OkStatus();
  }
  return ReadNumberTo(json.text(), value) ? absl::OkStatus()
                                          : Error("`{}` is no integer", json.text());
}
inline absl::Status Read(const JsonValue& json, int32_t& value) {
  int64_t wide = 0;
  RETURN_IF_ERROR(Read(json, wide));
  value = static_cast<int32_t>(wide);
  return value == wide ? absl::OkStatus() : Error("{} needs more than 32 bits", wide);
}
inline absl::Status Read(const JsonValue& json, uint64_t& value) {
  const bool is_read = (json.IsString() || json.IsNumber()) && ReadNumberTo(json.text(), value);
  return is_read ? absl::OkStatus() : Error("`{}` is no integer from 0 on", json.raw());
}
inline absl::Status Read(const JsonValue& json, IntegerMap& map) {
  if (!json.IsObject()) return Error("`{}` is no object", json.raw());
  map.clear();
  for (size_t i = 0; i < json.keys().size(); ++i) {
    const std::string_view key = json.keys()[i];
    const JsonValue& item = json.items()[i];
    std::pair<int64_t, int64_t> entry;
    if (!ReadNumberTo(key, entry.first)) return At(item, Error("key `{}` is no integer", key));
    if (absl::c_any_of(map, [&](const auto& other) { return other.first == entry.first; }))
      return At(item, Error("key `{}` is given twice", key));
    if (const absl::Status status = Read(item, entry.second); !status.ok()) return At(item, status);
    map.push_back(entry);
  }
  return absl::OkStatus();
}
struct NumberWord {
  std::string_view text;
  double value;
};
inline constexpr NumberWord kNumberWords[] = {
    {"NaN", NAN}, {"Infinity", HUGE_VAL}, {"-Infinity", -HUGE_VAL}};

inline absl::Status Read(const JsonValue& json, double& value) {
  if (!json.IsString()) {
    ASSIGN_OR_RETURN(value, json.AsDouble());
    return absl::OkStatus();
  }
  for (const NumberWord& word : kNumberWords) {
    if (word.text != json.text()) continue;
    value = word.value;
    return absl::OkStatus();
  }
  return ReadNumberTo(json.text(), value) ? absl::OkStatus()
                                          : Error("`{}` is no number", json.text());
}
inline absl::Status Read(const JsonValue& json, bool& value) {
  if (json.kind() != JsonValue::Kind::kBool) return Error("`{}` is no bool", json.raw());
  value = json.text() == "true";
  return absl::OkStatus();
}
inline absl::Status Read(const JsonValue& json, std::string& value) {
  if (!json.IsString()) return Error("`{}` is no string", json.raw());
  value = std::string(json.text());
  return absl::OkStatus();
}
inline absl::Status Read(const JsonValue& json, RawJson& value) {
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
template <HasJsonFields S>
absl::Status Read(const JsonValue& json, S& object);
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
inline absl::Status Read(const JsonValue& json, DimVec& list) { return ReadList(json, list); }
inline absl::Status Read(const JsonValue& json, std::vector<Precision>& list) {
  return ReadList(json, list);
}
inline absl::Status Read(const JsonValue& json, std::vector<ReificationCost>& list) {
  return ReadList(json, list);
}
template <class T>
absl::Status Read(const JsonValue& json, CheckedJson<T>& value) {
  T read;
  value.text = std::string(json.raw());
  return Read(json, read);
}
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

inline bool IsUnknownKey(const UnknownFields& fields, std::string_view key) {
  return absl::c_any_of(fields, [&](const UnknownField& field) { return field.key == key; });
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
    const bool is_given =
        found == UnknownField::kLast ? IsUnknownKey(object.unknown, key) : (seen >> found & 1) != 0;
    if (is_given) status = Error("it is given twice");
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

}  // namespace hlo::config_json

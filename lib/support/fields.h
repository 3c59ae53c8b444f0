// Plain structs that describe their text form. A struct with
//
//   static auto Fields() { return std::tuple{Required("dimensions", &S::dimensions), Optional("is_stable", &S::is_stable)}; }
//
// gets parsing, printing, equality and hashing from that tuple. The same mechanism serves opcode
// attributes, pass options and tool flags. The order of the fields is the order of printing.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>

namespace hlo {

enum class FieldMode {
  kRequired,    // must be in the text, always printed
  kAlways,      // may be left out, always printed
  kOptional,    // may be left out, printed when it is not the default
  kParseOnly,   // accepted in text, never printed, no part of equality
  kHidden,      // neither read nor printed as an attribute, but part of equality and hash
  kAfterCalls,  // as kOptional, printed after the called computations
};

template <class S, class T>
struct Field {
  using Struct = S;
  using Value = T;
  std::string_view name;
  T S::*member;
  FieldMode mode;
};

template <class S, class T>
constexpr Field<S, T> Required(std::string_view name, T S::*member) {
  return {name, member, FieldMode::kRequired};
}
template <class S, class T>
constexpr Field<S, T> Always(std::string_view name, T S::*member) {
  return {name, member, FieldMode::kAlways};
}
template <class S, class T>
constexpr Field<S, T> Optional(std::string_view name, T S::*member) {
  return {name, member, FieldMode::kOptional};
}
template <class S, class T>
constexpr Field<S, T> ParseOnly(std::string_view name, T S::*member) {
  return {name, member, FieldMode::kParseOnly};
}

template <class S, class T>
constexpr Field<S, T> Hidden(std::string_view name, T S::*member) {
  return {name, member, FieldMode::kHidden};
}
template <class S, class T>
constexpr Field<S, T> AfterCalls(std::string_view name, T S::*member) {
  return {name, member, FieldMode::kAfterCalls};
}

// Calls fn(field) for every field of S, in order.
template <class S, class Fn>
constexpr void ForEachField(Fn&& fn) {
  std::apply([&fn](const auto&... field) { (fn(field), ...); }, S::Fields());
}

// Field-wise equality (all but parse-only fields).
template <class S>
bool FieldsEqual(const S& a, const S& b) {
  bool equal = true;
  ForEachField<S>([&](const auto& field) {
    if (field.mode != FieldMode::kParseOnly && !(a.*field.member == b.*field.member)) equal = false;
  });
  return equal;
}

}  // namespace hlo

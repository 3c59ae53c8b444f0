// Print, equality and hash of every attribute struct, generated from Fields().
#include "lib/ops/attrs.h"

#include "lib/ops/attr_print.h"
#include "lib/support/hash.h"

namespace hlo {
namespace {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
void AppendAny(std::string& out, const T& value, const AttrPrintOptions& options) {
  if constexpr (std::is_same_v<T, ReplicaGroups> || std::is_same_v<T, DomainConfig>) {
    AppendValue(out, value, options);
  } else {
    AppendValue(out, value);
  }
}

template <class S, class T>
bool ShouldPrint(const Field<S, T>& field, const S& attrs, bool after_calls) {
  if ((field.mode == FieldMode::kAfterCalls) != after_calls) return false;
  switch (field.mode) {
    case FieldMode::kParseOnly:
    case FieldMode::kHidden: return false;
    case FieldMode::kRequired: return true;
    case FieldMode::kAlways:
      if constexpr (IsOptional<T>::value) return (attrs.*field.member).has_value();
      return true;
    case FieldMode::kOptional:
    case FieldMode::kAfterCalls: {
      static const S defaults;
      return !(attrs.*field.member == defaults.*field.member);
    }
  }
  return false;
}

template <class S>
void PrintFields(const void* erased, const AttrPrintOptions& options, bool after_calls,
                 std::string& out) {
  const S& attrs = *static_cast<const S*>(erased);
  ForEachField<S>([&]<class T>(const Field<S, T>& field) {
    if (!ShouldPrint(field, attrs, after_calls)) return;
    if (field.name == "infeed_config" || field.name == "outfeed_config") {
      if (!options.infeed_config) return;
    }
    out += ", ";
    out += field.name;
    out += '=';
    if (field.name == "channel_id" && !options.channel_id) {
      out += '_';
      return;
    }
    const T& value = attrs.*field.member;
    if constexpr (IsOptional<T>::value) {
      AppendAny(out, *value, options);
    } else {
      AppendAny(out, value, options);
    }
  });
}

template <class S>
bool EqualFields(const void* a, const void* b) {
  return FieldsEqual(*static_cast<const S*>(a), *static_cast<const S*>(b));
}

// Hash of the printed form, which tells apart what equality tells apart; literals hash by content.
template <class S>
uint64_t HashFields(const void* erased) {
  const S& attrs = *static_cast<const S*>(erased);
  uint64_t hash = 0;
  std::string text;
  ForEachField<S>([&]<class T>(const Field<S, T>& field) {
    if (field.mode == FieldMode::kParseOnly) return;
    const T& value = attrs.*field.member;
    if constexpr (std::is_same_v<T, Literal>) {
      hash = HashMix(hash, value.Hash());
    } else if constexpr (std::is_same_v<T, std::optional<Literal>>) {
      hash = HashMix(hash, value.has_value() ? value->Hash() : 0);
    } else if constexpr (IsOptional<T>::value) {
      text.clear();
      if (value.has_value()) AppendAny(text, *value, AttrPrintOptions());
      hash = HashMix(hash, HashBytes(text, value.has_value() ? 1 : 0));
    } else {
      text.clear();
      AppendAny(text, value, AttrPrintOptions());
      hash = HashMix(hash, HashBytes(text));
    }
  });
  return hash;
}

}  // namespace

#define HLO_ATTRS_INFO(A)                                                                      \
  template <>                                                                                  \
  const AttrsInfo& AttrsInfoOf<A>() {                                                          \
    static constexpr AttrsInfo kInfo = {#A, &PrintFields<A>, &EqualFields<A>, &HashFields<A>}; \
    return kInfo;                                                                              \
  }
HLO_FOR_EACH_ATTRS(HLO_ATTRS_INFO)
#undef HLO_ATTRS_INFO

void AttrsPtr::Print(const AttrPrintOptions& options, bool after_calls, std::string& out) const {
  if (box_ != nullptr) box_->info->print(box_->data, options, after_calls, out);
}

uint64_t AttrsPtr::Hash() const { return box_ == nullptr ? 0 : box_->info->hash(box_->data); }

bool operator==(const AttrsPtr& a, const AttrsPtr& b) {
  if (a.box_ == b.box_) return true;
  if (a.box_ == nullptr || b.box_ == nullptr || a.box_->info != b.box_->info) return false;
  return a.box_->info->equal(a.box_->data, b.box_->data);
}

}  // namespace hlo

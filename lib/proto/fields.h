// The two directions between our structs and messages: FieldWriter fills a message, FieldReader
// fills the struct. Both have the same functions, so one template names the fields of a struct for
// both (values.h, attrs.h).
//
// What is absent reads as zero, as proto3 has it. A value that the struct cannot hold (an unknown
// word of an enumeration) is kept as the reader's problem; the first one counts.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <string>

#include "lib/ops/enums.h"
#include "lib/support/check.h"
#include "lib/types/layout.h"

namespace hlo::internal {

namespace pb = google::protobuf;

inline const pb::FieldDescriptor* FieldOf(const pb::Message& message, const char* name) {
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  HLO_CHECK(field != nullptr);
  return field;
}

// The word of an enumeration in upper case, after the prefix that messages give it.
template <TextEnum E>
std::string ProtoWord(E value, std::string_view prefix) {
  std::string word(prefix);
  for (const char c : Text(value)) word += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return word;
}

class FieldWriter {
 public:
  static constexpr bool kReads = false;
  explicit FieldWriter(pb::Message& message) : message_(&message) {}
  pb::Message& message() const { return *message_; }

  // Integers of any width, enumerations by number, truth values.
  template <class T>
  void Int(const char* name, T& value) const {
    Set(name, static_cast<int64_t>(value));
  }
  void Set(const char* name, int64_t value) const;
  void Real(const char* name, double value) const;
  void Text(const char* name, const std::string& value) const;
  void AddText(const char* name, const std::string& value) const;  // to a list of texts
  template <class List>
  void Ints(const char* name, List& values) const {
    for (const int64_t value : values) Add(name, value);
  }
  template <TextEnum E>
  void Enum(const char* name, E& value, std::string_view prefix) const {
    Set(name,
        FieldOf(*message_, name)->enum_type()->FindValueByName(ProtoWord(value, prefix))->number());
  }
  // `value` written as its exact text.
  template <TextEnum E>
  void Word(const char* name, E& value) const {
    Text(name, std::string(hlo::Text(value)));
  }
  // fn(io) for the message of the field.
  template <class Fn>
  void Message(const char* name, bool present, Fn fn) const {
    if (present) {
      fn(FieldWriter(
          *message_->GetReflection()->MutableMessage(message_, FieldOf(*message_, name))));
    }
  }
  template <class List, class Fn>
  void Each(const char* name, List& items, Fn fn) const {
    for (auto& item : items) fn(FieldWriter(*AddMessage(name)), item);
  }
  pb::Message* AddMessage(const char* name) const {
    return message_->GetReflection()->AddMessage(message_, FieldOf(*message_, name));
  }

 private:
  void Add(const char* name, int64_t value) const;
  pb::Message* message_;
};

class FieldReader {
 public:
  static constexpr bool kReads = true;
  // `problem` outlives the reader.
  FieldReader(const pb::Message& message, std::string& problem)
      : message_(&message), problem_(&problem) {}
  const pb::Message& message() const { return *message_; }
  std::string& problem() const { return *problem_; }

  template <class T>
  void Int(const char* name, T& value) const {
    value = static_cast<T>(Get(name));
  }
  int64_t Get(const char* name) const;
  bool Has(const char* name) const;  // of messages and members of groups
  int Count(const char* name) const;
  template <class T>
  void Real(const char* name, T& value) const {
    value = static_cast<T>(GetReal(name));
  }
  void Text(const char* name, std::string& value) const;
  template <class List>
  void Ints(const char* name, List& values) const {
    const int count = Count(name);
    values.clear();
    for (int i = 0; i < count; ++i) values.push_back(GetRepeated(name, i));
  }
  template <TextEnum E>
  void Enum(const char* name, E& value, std::string_view prefix) const {
    const int64_t number = Get(name);
    const pb::EnumDescriptor* type = FieldOf(*message_, name)->enum_type();
    const pb::EnumValueDescriptor* found = type->FindValueByNumber(static_cast<int>(number));
    for (size_t i = 0; found != nullptr && i < std::size(EnumText<E>::kWords); ++i) {
      if (ProtoWord(static_cast<E>(i), prefix) != found->name()) continue;
      value = static_cast<E>(i);
      return;
    }
    Problem(std::string("`") + name + "` has the unknown value " + std::to_string(number));
  }
  template <TextEnum E>
  void Word(const char* name, E& value) const {
    std::string word;
    Text(name, word);
    if (word.empty()) return;
    const auto found = EnumFromText<E>(word);
    if (!found) return Problem(std::string("`") + name + "` has the unknown value `" + word + "`");
    value = *found;
  }
  template <class Fn>
  void Message(const char* name, bool, Fn fn) const {
    if (Has(name)) fn(Sub(name));
  }
  FieldReader Sub(const char* name) const;
  template <class List, class Fn>
  void Each(const char* name, List& items, Fn fn) const {
    const int count = Count(name);
    items.clear();
    for (int i = 0; i < count; ++i) fn(Item(name, i), items.emplace_back());
  }
  FieldReader Item(const char* name, int i) const;
  void Problem(std::string problem) const {
    if (problem_->empty()) *problem_ = std::move(problem);
  }

 private:
  double GetReal(const char* name) const;
  int64_t GetRepeated(const char* name, int i) const;
  const pb::Message* message_;
  std::string* problem_;
};

}  // namespace hlo::internal

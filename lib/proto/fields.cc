#include "lib/proto/fields.h"

#include <algorithm>

namespace hlo::internal {

using Kind = pb::FieldDescriptor::CppType;

void FieldWriter::Set(const char* name, int64_t value) const {
  const pb::FieldDescriptor* field = FieldOf(*message_, name);
  const pb::Reflection* access = message_->GetReflection();
  switch (field->cpp_type()) {
    case Kind::CPPTYPE_INT64: return access->SetInt64(message_, field, value);
    case Kind::CPPTYPE_INT32: return access->SetInt32(message_, field, static_cast<int32_t>(value));
    case Kind::CPPTYPE_BOOL: return access->SetBool(message_, field, value != 0);
    case Kind::CPPTYPE_ENUM: return access->SetEnumValue(message_, field, static_cast<int>(value));
    default: HLO_UNREACHABLE();
  }
}

void FieldWriter::Add(const char* name, int64_t value) const {
  const pb::FieldDescriptor* field = FieldOf(*message_, name);
  const pb::Reflection* access = message_->GetReflection();
  switch (field->cpp_type()) {
    case Kind::CPPTYPE_INT64: return access->AddInt64(message_, field, value);
    case Kind::CPPTYPE_INT32: return access->AddInt32(message_, field, static_cast<int32_t>(value));
    case Kind::CPPTYPE_BOOL: return access->AddBool(message_, field, value != 0);
    case Kind::CPPTYPE_ENUM: return access->AddEnumValue(message_, field, static_cast<int>(value));
    default: HLO_UNREACHABLE();
  }
}

void FieldWriter::Real(const char* name, double value) const {
  const pb::FieldDescriptor* field = FieldOf(*message_, name);
  const pb::Reflection* access = message_->GetReflection();
  if (field->cpp_type() == Kind::CPPTYPE_FLOAT) {
    access->SetFloat(message_, field, static_cast<float>(value));
  } else {
    access->SetDouble(message_, field, value);
  }
}

namespace {

// The length of the character at the start of `text`, or 0 when it is no UTF-8.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies after the last character.
  const bool wrong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) >= 0xa0) ||
                     (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90);
  return wrong ? 0 : size;
}

// Texts of messages are UTF-8: any other byte becomes the replacement character.
std::string AsUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t size = Utf8Length(text);
    out += size == 0 ? "\xEF\xBF\xBD" : text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

}  // namespace

void FieldWriter::Text(const char* name, const std::string& value) const {
  if (value.empty()) return;
  const pb::FieldDescriptor* field = FieldOf(*message_, name);
  const bool is_text = field->type() == pb::FieldDescriptor::TYPE_STRING;
  message_->GetReflection()->SetString(message_, field, is_text ? AsUtf8(value) : value);
}

void FieldWriter::AddText(const char* name, const std::string& value) const {
  message_->GetReflection()->AddString(message_, FieldOf(*message_, name), AsUtf8(value));
}

int64_t FieldReader::Get(const char* name) const {
  const pb::FieldDescriptor* field = FieldOf(*message_, name);
  const pb::Reflection* access = message_->GetReflection();
  switch (field->cpp_type()) {
    case Kind::CPPTYPE_INT64: return access->GetInt64(*message_, field);
    case Kind::CPPTYPE_INT32: return access->GetInt32(*message_, field);
    case Kind::CPPTYPE_BOOL: return access->GetBool(*message_, field) ? 1 : 0;
    case Kind::CPPTYPE_ENUM: return access->GetEnumValue(*message_, field);
    default: HLO_UNREACHABLE();
  }
}

int64_t FieldReader::GetRepeated(const char* name, int i) const {
  const pb::FieldDescriptor* field = FieldOf(*message_, name);
  const pb::Reflection* access = message_->GetReflection();
  switch (field->cpp_type()) {
    case Kind::CPPTYPE_INT64: return access->GetRepeatedInt64(*message_, field, i);
    case Kind::CPPTYPE_INT32: return access->GetRepeatedInt32(*message_, field, i);
    case Kind::CPPTYPE_BOOL: return access->GetRepeatedBool(*message_, field, i) ? 1 : 0;
    case Kind::CPPTYPE_ENUM: return access->GetRepeatedEnumValue(*message_, field, i);
    default: HLO_UNREACHABLE();
  }
}

double FieldReader::GetReal(const char* name) const {
  const pb::FieldDescriptor* field = FieldOf(*message_, name);
  const pb::Reflection* access = message_->GetReflection();
  return field->cpp_type() == Kind::CPPTYPE_FLOAT ? access->GetFloat(*message_, field)
                                                  : access->GetDouble(*message_, field);
}

void FieldReader::Text(const char* name, std::string& value) const {
  value = message_->GetReflection()->GetString(*message_, FieldOf(*message_, name));
}

bool FieldReader::Has(const char* name) const {
  return message_->GetReflection()->HasField(*message_, FieldOf(*message_, name));
}

int FieldReader::Count(const char* name) const {
  return message_->GetReflection()->FieldSize(*message_, FieldOf(*message_, name));
}

FieldReader FieldReader::Sub(const char* name) const {
  return {message_->GetReflection()->GetMessage(*message_, FieldOf(*message_, name)), *problem_};
}

FieldReader FieldReader::Item(const char* name, int i) const {
  return {message_->GetReflection()->GetRepeatedMessage(*message_, FieldOf(*message_, name), i),
          *problem_};
}

}  // namespace hlo::internal

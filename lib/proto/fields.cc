#include "lib/proto/fields.h"

#include "lib/support/utf8.h"

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

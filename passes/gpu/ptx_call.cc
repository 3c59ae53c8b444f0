#include "passes/gpu/ptx_call.h"

#include <algorithm>
#include <functional>

#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "passes/gpu/attribute_dictionary.h"
#include "passes/gpu/config_place.h"

namespace hlo {
namespace {

using Kind = AttributeValue::Kind;

struct StringField {
  std::string_view name;
  std::string PtxConfig::*member;
};
constexpr StringField kStrings[] = {{"name", &PtxConfig::name},
                                    {"kernel_type", &PtxConfig::kernel_type},
                                    {"kernel_data", &PtxConfig::kernel_data}};

struct IntegerField {
  std::string_view name;
  int32_t PtxConfig::*member;
  int64_t least;
};
constexpr IntegerField kIntegers[] = {{"grid_x", &PtxConfig::grid_x, 1},
                                      {"grid_y", &PtxConfig::grid_y, 1},
                                      {"grid_z", &PtxConfig::grid_z, 1},
                                      {"block_x", &PtxConfig::block_x, 1},
                                      {"block_y", &PtxConfig::block_y, 1},
                                      {"block_z", &PtxConfig::block_z, 1},
                                      {"shared_mem_bytes", &PtxConfig::shared_mem_bytes, 0}};

absl::StatusOr<const AttributeValue*> Required(const std::vector<NamedAttribute>& attributes,
                                               std::string_view name) {
  for (const NamedAttribute& attribute : attributes) {
    if (attribute.name == name) return &attribute.value;
  }
  return Error(SourceLoc{0, 1}, "it has no `{}`", name);
}

absl::StatusOr<int32_t> NumberFrom(const AttributeValue& value, std::string_view name,
                                   int64_t least) {
  if (value.kind != Kind::kInteger) return Error(value.loc, "`{}` is no integer", name);
  if (value.number < least || value.number > INT32_MAX) {
    return Error(value.loc, "`{}` is {}, expected {} to {}", name, value.number, least, INT32_MAX);
  }
  return static_cast<int32_t>(value.number);
}

absl::StatusOr<PtxConfig> Read(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<NamedAttribute> attributes, ParseAttributeDictionary(text));
  PtxConfig config;
  for (const StringField& field : kStrings) {
    ASSIGN_OR_RETURN(const AttributeValue* const value, Required(attributes, field.name));
    if (value->kind != Kind::kString) return Error(value->loc, "`{}` is no string", field.name);
    config.*field.member = value->text;
  }
  ASSIGN_OR_RETURN(const AttributeValue* const type, Required(attributes, "kernel_type"));
  if (config.kernel_type != "ptx" && config.kernel_type != "cubin") {
    return Error(type->loc, "`kernel_type` is `{}`, expected `ptx` or `cubin`", config.kernel_type);
  }
  for (const IntegerField& field : kIntegers) {
    ASSIGN_OR_RETURN(const AttributeValue* const value, Required(attributes, field.name));
    ASSIGN_OR_RETURN(config.*field.member, NumberFrom(*value, field.name, field.least));
  }
  constexpr std::string_view kOutputs = "output_indices";
  for (const NamedAttribute& attribute : attributes) {
    if (attribute.name != kOutputs) continue;
    if (attribute.value.kind != Kind::kList)
      return Error(attribute.value.loc, "`{}` is no list", kOutputs);
    for (const AttributeValue& item : attribute.value.items) {
      ASSIGN_OR_RETURN(config.output_indices.emplace_back(), NumberFrom(item, kOutputs, 0));
    }
  }
  return config;
}

}  // namespace

absl::StatusOr<PtxConfig> ReadPtxConfig(const Instruction& call) {
  absl::StatusOr<PtxConfig> config = Read(call.backend_config());
  if (!config.ok()) return AtConfigOf(call, config.status());
  return config;
}

absl::StatusOr<std::vector<int>> PtxParameters(const Instruction& call, const PtxConfig& config) {
  const int operands = call.operand_count();
  const int results = call.shape().IsTuple() ? call.shape().element_count_of_tuple() : 1;
  std::vector<int> parameters;
  int operand = 0, result = 0;
  for (int i = 0; i < operands + results; ++i) {
    const bool is_result =
        config.output_indices.empty()
            ? i >= operands
            : absl::c_linear_search(config.output_indices, static_cast<int32_t>(i));
    parameters.push_back(is_result ? operands + result++ : operand++);
  }
  const bool is_ascending =
      std::adjacent_find(config.output_indices.begin(), config.output_indices.end(),
                         std::greater_equal<>()) == config.output_indices.end();
  if (is_ascending && operand == operands && result == results) return parameters;
  return Error(call.loc(),
               "output_indices of `{}` are {{{}}}; expected {} of the {} parameters, ascending",
               call.name(), Join(config.output_indices, ", "), results, operands + results);
}

}  // namespace hlo

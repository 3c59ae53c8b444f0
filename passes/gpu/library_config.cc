#include "passes/gpu/library_config.h"

#include "lib/support/status.h"
#include "passes/gpu/config_json_reader.h"
#include "passes/gpu/config_json_writer.h"
#include "passes/gpu/config_place.h"

namespace hlo {

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
  const absl::StatusOr<JsonDocument> document = ParseJson(
      std::make_shared<const Source>("backend_config", std::string(call.backend_config())));
  if (!document.ok()) return AtConfigOf(call, document.status());
  Config config;
  if (const absl::Status status = config_json::Read(document->root, config); !status.ok())
    return AtConfigOf(call, status);
  return config;
}

template <class Config>
std::string WholeJson(const Config& config) {
  std::string out;
  config_json::Append(out, config);
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

// Which config a call of a target has (library_config.h, ptx_call.h), and whether it can be read.
#include "lib/support/json_value.h"
#include "lib/support/status.h"
#include "passes/gpu/conv_graph.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/gpu/ptx_call.h"
#include "passes/util/library_configs.h"

namespace hlo {
namespace {

// Reads what is there.
template <class Config>
absl::Status CheckWhole(const Instruction& call) {
  return ReadWholeConfig<Config>(call).status();
}
template <class Config>
absl::Status CheckPart(const Instruction& call) {
  const absl::StatusOr<JsonDocument> document = ParseJson(
      std::make_shared<const Source>("backend_config", std::string(call.backend_config())));
  const bool lacks_it =
      document.ok() && document->root.IsObject() && document->root.Find(Config::kKey) == nullptr;
  return lacks_it ? CheckWhole<QueueConfig>(call) : ReadConfig<Config>(call).status();
}

// Batch norms have no config.
absl::Status CheckNothing(const Instruction&) { return absl::OkStatus(); }

// Without a part of its own, which is as if that were 0, a call is not compared with it.
absl::Status CheckGemm(const Instruction& call) {
  RETURN_IF_ERROR(CheckPart<GemmConfig>(call));
  const auto config = ReadConfig<GemmConfig>(call);
  return config.ok() ? CheckGemmOperands(call, config->config) : absl::OkStatus();
}

absl::Status CheckConvGraph(const Instruction& call) {
  RETURN_IF_ERROR(CheckPart<ConvConfig>(call));
  const auto config = ReadConfig<ConvConfig>(call);  // not where only the queue is given
  if (!config.ok() || !config->config.serialized_graph) return absl::OkStatus();
  return ConvGraphOf(call, config->config).status();
}

absl::Status CheckPtx(const Instruction& call) { return ReadPtxConfig(call).status(); }

struct ConfigOfTarget {
  std::string_view target;
  absl::Status (*check)(const Instruction& call);
};
constexpr ConfigOfTarget kConfigs[] = {
#define HLO_LIBRARY_TARGET(Name, text, config, ...) {k##Name, config},
#include "lib/eval/library_targets.def"
    {kPtxCall, CheckPtx},
};

}  // namespace

absl::Status CheckLibraryConfig(const Instruction& call) {
  if (call.opcode() != Opcode::kCustomCall || call.backend_config().empty())
    return absl::OkStatus();
  const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
  for (const ConfigOfTarget& row : kConfigs) {
    if (row.target == target) return row.check(call);
  }
  return absl::OkStatus();
}

}  // namespace hlo

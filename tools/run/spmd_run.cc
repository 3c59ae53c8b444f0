#include "tools/run/spmd_run.h"

#include <algorithm>

#include "lib/support/status.h"
#include "passes/pass_manager.h"
#include "passes/spmd/device_parts.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

bool Divides(const TiledSharding& sharding) {
  if (sharding.kind != TiledSharding::Kind::kTiled) return false;
  const auto first = sharding.tile_dims.begin();
  return std::any_of(first, first + sharding.data_rank(), [](int64_t tiles) { return tiles > 1; });
}

bool Divides(const NamedSharding& sharding) {
  return std::any_of(sharding.dims.begin(), sharding.dims.end(),
                     [](const NamedSharding::Dim& dim) { return !dim.axes.empty(); });
}

bool Divides(const Sharding& sharding) {
  return std::any_of(sharding.leaves.begin(), sharding.leaves.end(), [](const auto& leaf) {
    return std::visit([](const auto& form) { return Divides(form); }, leaf);
  });
}

}  // namespace

const Instruction* FirstDivided(const Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->sharding() != nullptr && Divides(*instruction->sharding()))
        return instruction;
    }
  }
  return nullptr;
}

absl::Status DivideByShardings(Module& module) {
  if (module.config().num_partitions == 1) {
    return Error("module `{}` has one partition: nothing is to be divided (--num-partitions=P)",
                 module.name());
  }
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("spmd"));
  PassContext context;
  RETURN_IF_ERROR(RunPipeline(pipeline, module, context).status());
  return VerifyRunnable(module);
}

absl::StatusOr<SpmdRun> SpmdRun::Make(Module& module) {
  SpmdRun run;
  run.whole_ = module.Clone();
  run.whole_->config().num_partitions = 1;
  run.partitions_ = module.config().num_partitions;
  RETURN_IF_ERROR(DivideByShardings(module));
  run.result_ = *module.config().spmd_output_sharding;
  return run;
}

absl::StatusOr<std::vector<std::vector<Literal>>> SpmdRun::Cut(
    const Module& module, std::vector<std::vector<Literal>> by_replica) {
  arguments_ = std::move(by_replica);
  std::vector<std::vector<Literal>> by_device;
  for (const std::vector<Literal>& arguments : arguments_) {
    ASSIGN_OR_RETURN(std::vector<std::vector<Literal>> parts, CutArguments(module, arguments));
    for (std::vector<Literal>& part : parts) by_device.push_back(std::move(part));
  }
  return by_device;
}

absl::StatusOr<std::vector<Literal>> SpmdRun::Join(const std::vector<Literal>& by_device) const {
  std::vector<Literal> results;
  for (auto part = by_device.begin(); part != by_device.end(); part += partitions_) {
    ASSIGN_OR_RETURN(results.emplace_back(),
                     JoinPartitions({part, part + partitions_}, result_,
                                    whole_->entry()->root()->shape().WithoutDynamic()));
  }
  return results;
}

}  // namespace hlo

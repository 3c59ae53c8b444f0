#include "tools/run/spmd_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/support/status.h"
#include "passes/pass_manager.h"
#include "passes/sharding/shardy_meshes.h"
#include "passes/spmd/device_parts.h"
#include "passes/spmd/placement.h"
#include "tools/run/devices.h"
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

// A leaf of parameters or of a result, and how it is divided.
struct DividedLeaf {
  Shape shape;
  Sharding::Leaf sharding;
  const Instruction* holder;
  std::string name;
};

void AppendLeaves(const Instruction& holder, const Sharding& sharding,
                  std::vector<DividedLeaf>& leaves) {
  const std::vector<Shape> shapes = LeafShapes(holder.shape());
  for (size_t i = 0; i < shapes.size(); ++i) {
    leaves.push_back({shapes[i], sharding.leaves[sharding.is_tuple ? i : 0], &holder,
                      NameOfLeaf(holder, static_cast<int64_t>(i))});
  }
}

Sharding ShardingOf(const Instruction& instruction) {
  return instruction.sharding() == nullptr ? Sharding::Replicated() : *instruction.sharding();
}

void DivideFedResults(Module& module, const std::vector<BufferPlan::Feed>& feeds) {
  Instruction& root = *module.entry()->root();
  if (feeds.empty() || root.opcode() == Opcode::kParameter) return;
  std::vector<DividedLeaf> inputs, outputs;
  for (const Instruction* parameter : module.entry()->parameters())
    AppendLeaves(*parameter, ShardingOf(*parameter), inputs);
  AppendLeaves(root, ShardingOf(root), outputs);
  for (const BufferPlan::Feed& feed : feeds)
    outputs[feed.output].sharding = inputs[feed.input].sharding;
  std::vector<Sharding::Leaf> leaves;
  for (const DividedLeaf& output : outputs) leaves.push_back(output.sharding);
  root.set_sharding(root.shape().IsTuple() ? Sharding::Tuple(std::move(leaves))
                                           : Sharding::Of(std::move(leaves[0])));
}

// Over how many devices the shardings of a value are; 0: they do not say.
int64_t DevicesOf(const TiledSharding& sharding) {
  if (sharding.kind != TiledSharding::Kind::kTiled) return 0;
  return absl::c_accumulate(sharding.tile_dims, int64_t{1}, std::multiplies<int64_t>());
}

int64_t DevicesOf(const NamedSharding& sharding) {
  return sharding.mesh.axes.empty() ? 0 : sharding.mesh.device_count();
}

int64_t DevicesOf(const Sharding& sharding) {
  int64_t devices = 0;
  for (const Sharding::Leaf& leaf : sharding.leaves)
    devices = std::max(devices, std::visit([](const auto& form) { return DevicesOf(form); }, leaf));
  return devices;
}

absl::Status RefuseTooMany(SourceLoc loc, std::string_view what, int64_t devices) {
  if (devices <= kMostRunDevices) return absl::OkStatus();
  return Unsupported(loc, "{} has {} devices; at most {} can be run here", what, devices,
                     kMostRunDevices);
}

// Which all shardings of the module agree upon; 0: there are none.
absl::StatusOr<int64_t> DevicesOfShardings(const Module& module) {
  const Instruction* first = nullptr;
  int64_t devices = 0;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->sharding() == nullptr) continue;
      const int64_t own = DevicesOf(*instruction->sharding());
      if (own == 0 || own == devices) continue;
      if (first != nullptr) {
        return Error(instruction->loc(),
                     "the sharding of `{}` is over {} devices, that of `{}` over {}; choose by "
                     "--num-partitions=P",
                     instruction->name(), own, first->name(), devices);
      }
      first = instruction;
      devices = own;
    }
  }
  if (first != nullptr) {
    RETURN_IF_ERROR(
        RefuseTooMany(first->loc(), fmt::format("the sharding of `{}`", first->name()), devices));
  }
  return devices;
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

absl::StatusOr<int64_t> PartitionsByShardings(const Module& module, int64_t given) {
  ASSIGN_OR_RETURN(ShardyMeshes meshes, ShardyMeshesOf(module));
  // A mesh without axes is of one device, or of everybody.
  std::erase_if(meshes, [](const auto& mesh) { return mesh.second.axes.empty(); });
  if (meshes.empty()) {
    const bool is_stated = given > 0 || module.config().num_partitions > 1;
    return is_stated ? given : DevicesOfShardings(module);
  }
  const int64_t stated = given > 0 ? given : module.config().num_partitions;
  const auto& [name, mesh] = *meshes.begin();
  const int64_t devices = mesh.device_count();
  const auto has = [](int64_t count) {
    return [count](const auto& other) { return other.second.device_count() == count; };
  };
  if (given > 0 || stated > 1) {
    if (std::any_of(meshes.begin(), meshes.end(), has(stated))) return given;
    return Error(module.entry()->loc(),
                 "{} is {}, but mesh `{}` of module `{}` has {} device{}; --num-partitions={} fits "
                 "it",
                 given > 0 ? "--num-partitions" : "`num_partitions`", stated, name, module.name(),
                 devices, devices == 1 ? "" : "s", devices);
  }
  const auto other = std::find_if_not(meshes.begin(), meshes.end(), has(devices));
  if (other != meshes.end()) {
    return Error(module.entry()->loc(),
                 "mesh `{}` of module `{}` has {} devices, mesh `{}` has {}; choose by "
                 "--num-partitions=P",
                 name, module.name(), devices, other->first, other->second.device_count());
  }
  RETURN_IF_ERROR(RefuseTooMany(module.entry()->loc(),
                                fmt::format("mesh `{}` of module `{}`", name, module.name()),
                                devices));
  return devices;
}

absl::Status DivideByShardings(Module& module, const std::vector<BufferPlan::Feed>& feeds) {
  if (module.config().num_partitions == 1) {
    return Error("module `{}` has one partition: nothing is to be divided (--num-partitions=P)",
                 module.name());
  }
  ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipeline("spmd"));
  const Pipeline partitioner = {std::move(pipeline.back())};
  pipeline.pop_back();
  PassContext context;
  RETURN_IF_ERROR(RunPipeline(pipeline, module, context).status());
  DivideFedResults(module, feeds);
  RETURN_IF_ERROR(RunPipeline(partitioner, module, context).status());
  return VerifyRunnable(module);
}

absl::StatusOr<SpmdRun> SpmdRun::Make(Module& module, const std::vector<BufferPlan::Feed>& feeds) {
  SpmdRun run;
  run.whole_ = module.Clone();
  run.whole_->config().num_partitions = 1;
  run.partitions_ = module.config().num_partitions;
  RETURN_IF_ERROR(DivideByShardings(module, feeds));
  run.result_ = *module.config().spmd_output_sharding;
  return run;
}

absl::Status SpmdRun::CheckFeeds(const Module& module,
                                 const std::vector<BufferPlan::Feed>& feeds) const {
  std::vector<DividedLeaf> inputs, outputs;
  for (const Instruction* parameter : whole_->entry()->parameters()) {
    const auto number = static_cast<size_t>(parameter->parameter_number());
    AppendLeaves(*parameter, module.config().spmd_parameter_shardings[number], inputs);
  }
  AppendLeaves(*whole_->entry()->root(), result_, outputs);
  for (const BufferPlan::Feed& feed : feeds) {
    const DividedLeaf &from = outputs[feed.output], &to = inputs[feed.input];
    ASSIGN_OR_RETURN(const Placement given,
                     Placement::Of(from.sharding, from.shape.rank(), partitions_));
    ASSIGN_OR_RETURN(const Placement wanted,
                     Placement::Of(to.sharding, to.shape.rank(), partitions_));
    if (given == wanted) continue;
    return Error(to.holder->loc(),
                 "`--feed` gives `{}`, divided as {}, to `{}`, divided as {}; give both one "
                 "`sharding=`",
                 from.name, Sharding::Of(from.sharding).ToString(), to.name,
                 Sharding::Of(to.sharding).ToString());
  }
  return absl::OkStatus();
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

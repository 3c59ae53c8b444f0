// Rules of what instructions say about their values on several devices and in the source program:
//
//   sharding   of anything but a token: has a leaf per leaf of the shape (or one for all); tiles as
//              many dimensions as the array has, if it divides any; names each device once, and
//              with several partitions all of them and no others
//   origin     is a tree of the shape's form
#include <fmt/format.h>

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/ir/origin_form.h"
#include "lib/ir/verify_internal.h"
#include "lib/types/shape_util.h"

namespace hlo::internal {
namespace {

// Partitions when they matter, else 0.
int64_t KnownPartitions(const VerifyContext& context) {
  const int64_t count = context.module.config().num_partitions;
  return context.options.verify_sharding_device_numbers && count > 1 ? count : 0;
}

bool CheckDevice(const VerifyContext& context, const Instruction& instruction, int64_t device,
                 int64_t partitions) {
  if (device >= 0 && (partitions == 0 || device < partitions)) return true;
  context.findings.Add(
      instruction.loc(), "the sharding of `{}` names device {}, {}", instruction.name(), device,
      partitions > 0 ? fmt::format("but there are {} partitions", partitions) : "expected 0 on");
  return false;
}

// An explicit list of devices; an iota has none twice.
bool CheckDevices(const VerifyContext& context, const Instruction& instruction,
                  const TiledSharding& tiled, int64_t partitions) {
  std::vector<int64_t> devices = tiled.devices;
  std::sort(devices.begin(), devices.end());
  const auto twice = std::adjacent_find(devices.begin(), devices.end());
  if (twice != devices.end()) {
    context.findings.Add(instruction.loc(), "the sharding of `{}` names device {} twice",
                         instruction.name(), *twice);
    return false;
  }
  return devices.empty() || (CheckDevice(context, instruction, devices.front(), partitions) &&
                             CheckDevice(context, instruction, devices.back(), partitions));
}

void CheckTiled(const VerifyContext& context, const Instruction& instruction, Shape shape,
                const TiledSharding& tiled) {
  if (shape.IsBuffer()) shape = shape.element(0);
  const int64_t partitions = KnownPartitions(context);
  if (tiled.kind == TiledSharding::Kind::kMaximal)
    CheckDevice(context, instruction, tiled.maximal_device, partitions);
  if (tiled.kind != TiledSharding::Kind::kTiled) return;
  const std::optional<int64_t> tiles = CheckedProduct(tiled.tile_dims);
  if (tiles == 1 && partitions == 0) return;
  if (shape.IsArray() && tiled.data_rank() != shape.rank()) {
    return context.findings.Add(instruction.loc(),
                                "the sharding of `{}` tiles {} dimensions, but `{}` has rank {}",
                                instruction.name(), tiled.data_rank(), shape, shape.rank());
  }
  if (!shape.IsArray()) return;
  if (partitions > 0 && tiles != partitions) {
    return context.findings.Add(
        instruction.loc(), "the sharding of `{}` has {} tiles, but there are {} partitions",
        instruction.name(), tiles.has_value() ? *tiles : INT64_MAX, partitions);
  }
  CheckDevices(context, instruction, tiled, partitions);
}

void CheckLeaf(const VerifyContext& context, const Instruction& instruction, Shape shape,
               const Sharding::Leaf& leaf) {
  const auto* named = std::get_if<NamedSharding>(&leaf);
  if (named == nullptr)
    return CheckTiled(context, instruction, shape, std::get<TiledSharding>(leaf));
  const int64_t partitions = KnownPartitions(context);
  if (named->mesh.maximal_device.has_value()) {
    CheckDevice(context, instruction, *named->mesh.maximal_device, partitions);
    return;
  }
  const auto is_divided = [](const NamedSharding::Dim& dim) { return !dim.axes.empty(); };
  if (!shape.IsArray() || absl::c_none_of(named->dims, is_divided)) return;
  if (static_cast<int>(named->dims.size()) != shape.rank()) {
    return context.findings.Add(instruction.loc(),
                                "the sharding of `{}` has {} dimensions, but `{}` has rank {}",
                                instruction.name(), named->dims.size(), shape, shape.rank());
  }
  if (partitions == 0 || named->mesh.device_count() == partitions) return;
  context.findings.Add(instruction.loc(),
                       "the mesh that `{}` is sharded over has {} devices, but there are {} "
                       "partitions",
                       instruction.name(), named->mesh.device_count(), partitions);
}

}  // namespace

void VerifySharding(const VerifyContext& context, const Instruction& instruction) {
  const Sharding& sharding = *instruction.sharding();
  const Shape shape = instruction.shape();
  if (shape.IsToken()) return;  // lies nowhere
  if (sharding.is_tuple && !shape.IsTuple()) {
    return context.findings.Add(instruction.loc(),
                                "`{}` has a tuple as sharding, but its shape is `{}`",
                                instruction.name(), shape);
  }
  std::vector<Shape> leaves;
  ForEachLeaf(shape, [&leaves](Shape leaf, const ShapeIndex&) { leaves.push_back(leaf); });
  if (!sharding.is_tuple) {
    const size_t before = context.findings.count();
    for (const Shape leaf : leaves) {  // one for all
      CheckLeaf(context, instruction, leaf, sharding.leaves[0]);
      if (context.findings.count() != before) return;
    }
    return;
  }
  if (leaves.empty() && sharding.leaves.size() == 1) return;  // an empty tuple may have one
  if (sharding.leaves.size() != leaves.size()) {
    return context.findings.Add(instruction.loc(),
                                "the sharding of `{}` has {} leaves, but its shape `{}` has {}",
                                instruction.name(), sharding.leaves.size(), shape, leaves.size());
  }
  for (size_t i = 0; i < leaves.size(); ++i)
    CheckLeaf(context, instruction, leaves[i], sharding.leaves[i]);
}

void VerifyDomain(const VerifyContext& context, const Instruction& instruction) {
  const DomainConfig& domain = instruction.attrs<DomainAttrs>().domain;
  for (const Sharding* side : {&domain.entry, &domain.exit}) {
    for (const Sharding::Leaf& leaf : side->leaves) {
      const auto* tiled = std::get_if<TiledSharding>(&leaf);
      if (tiled != nullptr && tiled->kind == TiledSharding::Kind::kMaximal &&
          !CheckDevice(context, instruction, tiled->maximal_device, KnownPartitions(context)))
        return;
    }
  }
}

void VerifyOrigin(const VerifyContext& context, const Instruction& instruction) {
  const OriginalValue& origin = *instruction.extras()->origin;
  if (HasFormOf(instruction.shape(), origin)) return;
  context.findings.Add(instruction.loc(),
                       "the tree of `origin` of `{}` differs from that of shape `{}`",
                       instruction.name(), instruction.shape());
}

}  // namespace hlo::internal

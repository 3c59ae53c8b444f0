#include "passes/spmd/device_parts.h"

#include <cstring>

#include "lib/support/status.h"
#include "passes/spmd/placement.h"

namespace hlo {
namespace {

const Sharding::Leaf& NextLeaf(const Sharding& sharding, size_t& next) {
  return sharding.leaves[sharding.is_tuple ? next++ : 0];
}

// Calls fn(place in the array, place in the tile) for the elements of the tile that are there, and
// others(place in the tile, index in the array) for the rest.
template <class F, class G>
void ForEachPlace(Shape whole, Shape tile, const DimVec& start, F&& fn, G&& others) {
  if (tile.element_count() == 0) return;
  DimVec index(static_cast<size_t>(tile.rank()), 0);
  int64_t at = 0;
  do {
    DimVec from = index;
    bool is_there = true;
    for (int d = 0; d < tile.rank(); ++d) {
      from[static_cast<size_t>(d)] += start[static_cast<size_t>(d)];
      is_there &= from[static_cast<size_t>(d)] < whole.dim(d);
    }
    if (is_there) {
      fn(LinearIndex(from, whole.dims()), at);
    } else {
      others(at, from);
    }
    ++at;
  } while (NextIndex(absl::MakeSpan(index), tile.dims()));
}

DimVec StartOf(const Placement& placement, Shape whole, int64_t device) {
  DimVec start;
  for (int64_t d = 0; d < placement.rank(); ++d)
    start.push_back(placement.tile_of(device, d) * placement.TileSize(whole, d));
  return start;
}

Literal CutArray(const Literal& array, const Placement& placement, int64_t device) {
  if (placement.IsWhole()) return array;
  const Shape whole = array.shape();
  const Shape shape = placement.TileShape(whole);
  Literal tile(shape);
  const auto width = static_cast<size_t>(ByteSize(whole.element_type()));
  uint8_t* to = tile.mutable_data();
  const auto copy = [&](int64_t from, int64_t at) {
    std::memcpy(to + static_cast<size_t>(at) * width,
                array.data() + static_cast<size_t>(from) * width, width);
  };
  ForEachPlace(whole, shape, StartOf(placement, whole, device), copy,
               [&](int64_t at, DimVec index) {
                 if (array.element_count() == 0) return;
                 for (int d = 0; d < whole.rank(); ++d)
                   index[static_cast<size_t>(d)] %= whole.dim(d);
                 copy(LinearIndex(index, whole.dims()), at);
               });
  return tile;
}

absl::Status CutInto(const Literal& value, const Sharding& sharding, size_t& next,
                     std::vector<Literal>& parts) {
  const auto partitions = static_cast<int64_t>(parts.size());
  if (value.shape().IsTuple()) {
    std::vector<std::vector<Literal>> elements(parts.size());
    for (const Literal& element : value.elements()) {
      std::vector<Literal> of_element(parts.size());
      RETURN_IF_ERROR(CutInto(element, sharding, next, of_element));
      for (size_t i = 0; i < parts.size(); ++i) elements[i].push_back(std::move(of_element[i]));
    }
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = Literal::Tuple(std::move(elements[i]));
    return absl::OkStatus();
  }
  const Sharding::Leaf& leaf = NextLeaf(sharding, next);
  if (!value.shape().IsArray()) {
    for (Literal& part : parts) part = value;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Placement placement,
                   Placement::Of(leaf, value.shape().rank(), partitions));
  for (int64_t i = 0; i < partitions; ++i)
    parts[static_cast<size_t>(i)] = CutArray(value, placement, i);
  return absl::OkStatus();
}

absl::StatusOr<Literal> JoinArrays(const std::vector<const Literal*>& parts,
                                   const Placement& placement, Shape whole) {
  const Shape shape = placement.TileShape(whole);
  for (const Literal* part : parts) {
    if (!SameDimensions(part->shape(), shape))
      return Error("a partition gives `{}`, but its part of `{}` is `{}`", part->shape(), whole,
                   shape);
  }
  if (placement.IsWhole()) return *parts[0];
  Literal result(whole);
  const auto width = static_cast<size_t>(ByteSize(whole.element_type()));
  uint8_t* to = result.mutable_data();
  // Of several holders of a tile the first one comes last.
  for (int64_t device = placement.devices() - 1; device >= 0; --device) {
    const uint8_t* from = parts[static_cast<size_t>(device)]->data();
    ForEachPlace(
        whole, shape, StartOf(placement, whole, device),
        [&](int64_t at, int64_t in_tile) {
          std::memcpy(to + static_cast<size_t>(at) * width,
                      from + static_cast<size_t>(in_tile) * width, width);
        },
        [](int64_t, const DimVec&) {});
  }
  return result;
}

absl::StatusOr<Literal> JoinFrom(const std::vector<const Literal*>& parts, const Sharding& sharding,
                                 size_t& next, Shape whole) {
  if (whole.IsTuple()) {
    std::vector<Literal> elements;
    for (int i = 0; i < whole.element_count_of_tuple(); ++i) {
      std::vector<const Literal*> of_element;
      for (const Literal* part : parts) of_element.push_back(&part->element(i));
      ASSIGN_OR_RETURN(elements.emplace_back(),
                       JoinFrom(of_element, sharding, next, whole.element(i)));
    }
    return Literal::Tuple(std::move(elements));
  }
  const Sharding::Leaf& leaf = NextLeaf(sharding, next);
  if (!whole.IsArray()) return *parts[0];
  ASSIGN_OR_RETURN(const Placement placement,
                   Placement::Of(leaf, whole.rank(), static_cast<int64_t>(parts.size())));
  return JoinArrays(parts, placement, whole);
}

}  // namespace

bool IsPartitioned(const Module& module) {
  return module.config().spmd_output_sharding.has_value();
}

absl::StatusOr<std::vector<Literal>> CutByPartition(const Literal& value, const Sharding& sharding,
                                                    int64_t partitions) {
  std::vector<Literal> parts(static_cast<size_t>(partitions));
  size_t next = 0;
  RETURN_IF_ERROR(CutInto(value, sharding, next, parts));
  return parts;
}

absl::StatusOr<Literal> JoinPartitions(const std::vector<Literal>& parts, const Sharding& sharding,
                                       Shape whole) {
  std::vector<const Literal*> pointers;
  for (const Literal& part : parts) pointers.push_back(&part);
  size_t next = 0;
  return JoinFrom(pointers, sharding, next, whole);
}

absl::StatusOr<std::vector<std::vector<Literal>>> CutArguments(
    const Module& module, const std::vector<Literal>& arguments) {
  const ModuleConfig& config = module.config();
  if (config.spmd_parameter_shardings.size() != arguments.size())
    return Error("`{}` takes {} arguments, not {}", module.name(),
                 config.spmd_parameter_shardings.size(), arguments.size());
  std::vector<std::vector<Literal>> by_partition(static_cast<size_t>(config.num_partitions));
  for (size_t i = 0; i < arguments.size(); ++i) {
    ASSIGN_OR_RETURN(
        std::vector<Literal> parts,
        CutByPartition(arguments[i], config.spmd_parameter_shardings[i], config.num_partitions));
    for (size_t p = 0; p < parts.size(); ++p) by_partition[p].push_back(std::move(parts[p]));
  }
  return by_partition;
}

absl::StatusOr<std::vector<Literal>> JoinResults(const Module& module,
                                                 const std::vector<Literal>& by_device,
                                                 Shape whole) {
  const ModuleConfig& config = module.config();
  std::vector<Literal> results;
  for (int64_t replica = 0; replica < config.replica_count; ++replica) {
    const auto begin = by_device.begin() + replica * config.num_partitions;
    const std::vector<Literal> parts(begin, begin + config.num_partitions);
    ASSIGN_OR_RETURN(results.emplace_back(),
                     JoinPartitions(parts, *config.spmd_output_sharding, whole));
  }
  return results;
}

}  // namespace hlo

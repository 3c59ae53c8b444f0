#include "passes/collectives/own_part.h"

#include "lib/analysis/device_values.h"

namespace hlo {

std::optional<OwnPart> FindOwnPart(const Instruction& slice, PartsCover cover) {
  if (slice.opcode() != Opcode::kDynamicSlice || !slice.shape().IsArray() ||
      slice.shape().has_dynamic_dims() || slice.operand(0)->shape().has_dynamic_dims() ||
      slice.operand_count() != slice.shape().rank() + 1)
    return std::nullopt;
  const Shape whole = slice.operand(0)->shape();
  OwnPart part;
  part.dimension = -1;
  for (int d = 0; d < whole.rank(); ++d) {
    if (slice.shape().dim(d) == whole.dim(d)) continue;
    if (part.dimension >= 0) return std::nullopt;
    part.dimension = d;
  }
  if (part.dimension < 0) return std::nullopt;
  const int dimension = static_cast<int>(part.dimension);
  part.size = slice.shape().dim(dimension);
  if (part.size == 0) return std::nullopt;
  if (cover == PartsCover::kWhole && whole.dim(dimension) % part.size != 0) return std::nullopt;
  const ModuleConfig& config = slice.module().config();
  if (HasManyDevices(config)) return std::nullopt;
  for (int64_t device = 0; device < config.replica_count * config.num_partitions; ++device) {
    const std::optional<int64_t> start =
        DeviceValue(*slice.operand(dimension + 1), DeviceOf(device, config));
    if (!start || *start < 0 || *start > whole.dim(dimension) - part.size ||
        *start % part.size != 0)
      return std::nullopt;
    part.place_of_device.push_back(*start / part.size);
  }
  return part;
}

bool TakesPartsInOrder(const OwnPart& part, const std::vector<std::vector<int64_t>>& groups,
                       int64_t whole) {
  for (const std::vector<int64_t>& group : groups) {
    if (static_cast<int64_t>(group.size()) * part.size != whole) return false;
    for (size_t i = 0; i < group.size(); ++i) {
      const auto device = static_cast<size_t>(group[i]);
      if (device >= part.place_of_device.size() ||
          part.place_of_device[device] != static_cast<int64_t>(i))
        return false;
    }
  }
  return true;
}

std::optional<int64_t> DimensionBeforeReshape(const Instruction& reshape, int64_t dimension) {
  const Shape from = reshape.operand(0)->shape(), to = reshape.shape();
  const int64_t size = to.dim(static_cast<int>(dimension));
  int64_t before = 1, elements = 1;
  for (int64_t d = 0; d < dimension; ++d) before *= to.dim(static_cast<int>(d));
  for (int d = 0; d < from.rank(); ++d) {
    if (elements == before && from.dim(d) == size) return d;
    elements *= from.dim(d);
  }
  return std::nullopt;
}

Instruction* BeforeOwnReshape(Instruction* value) {
  const bool is_own = value->opcode() == Opcode::kReshape && value->has_one_user() &&
                      !value->is_root() && !value->has_control_edges() &&
                      !value->shape().has_dynamic_dims();
  return is_own ? value->operand(0) : value;
}

}  // namespace hlo

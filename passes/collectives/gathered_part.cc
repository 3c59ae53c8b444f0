#include "passes/collectives/gathered_part.h"

#include "lib/analysis/device_groups.h"
#include "lib/analysis/device_values.h"

namespace hlo {
namespace {

const Instruction* BeforeForms(const Instruction* value) {
  constexpr OpcodeSet kForms = {Opcode::kBitcast, Opcode::kCopy, Opcode::kReshape};
  while (kForms.Has(value->opcode())) value = value->operand(0);
  return value;
}

// An element of a list of integers, whichever.
bool IsReadOfTable(const Instruction& value) {
  if (value.opcode() != Opcode::kDynamicSlice) return false;
  const Instruction& table = *value.operand(0);
  const ElementType type = table.shape().element_type();
  return (table.IsConstant() || table.opcode() == Opcode::kIota) && table.shape().rank() == 1 &&
         (type == ElementType::kS32 || type == ElementType::kU32);
}

// A read of a table, or a multiple of one by a divisor of `size`.
bool ComesFromTable(const Instruction* start, int64_t size) {
  start = BeforeForms(start);
  if (start->opcode() == Opcode::kMultiply) {
    const int factor = start->operand(0)->IsConstant() ? 0 : 1;
    if (!start->operand(factor)->IsConstant()) return false;
    const std::optional<int64_t> times = DeviceValue(*start->operand(factor), {});
    if (!times || *times == 0 || size % *times != 0) return false;
    start = BeforeForms(start->operand(1 - factor));
  }
  return IsReadOfTable(*start);
}

}  // namespace

bool IsGatherOfPartitions(const Instruction& value, int64_t dimension) {
  if (value.opcode() != Opcode::kAllGather || !value.shape().IsArray() ||
      value.shape().has_dynamic_dims() ||
      value.attrs<AllGatherAttrs>().dimensions.value != dimension)
    return false;
  const ModuleConfig& config = value.module().config();
  return config.replica_count == 1 && config.num_partitions > 1 && !HasManyDevices(config) &&
         GroupModeOf(value) == GroupMode::kFlattened && !ReplicaGroupsOf(value).Flatten().empty();
}

std::optional<int64_t> CutDimension(const Instruction& slice) {
  const Shape whole = slice.operand(0)->shape();
  if (slice.opcode() != Opcode::kDynamicSlice || slice.shape().has_dynamic_dims() ||
      whole.has_dynamic_dims() || slice.operand_count() != whole.rank() + 1)
    return std::nullopt;
  std::optional<int64_t> cut;
  for (int d = 0; d < whole.rank(); ++d) {
    if (slice.shape().dim(d) == whole.dim(d)) continue;
    if (cut) return std::nullopt;
    cut = d;
  }
  return cut;
}

std::optional<std::vector<int64_t>> StartsFromTable(const Instruction& slice, int64_t dimension) {
  const int d = static_cast<int>(dimension);
  const int64_t size = slice.shape().dim(d);
  const int64_t last = slice.operand(0)->shape().dim(d) - size;
  const Instruction& start = *slice.operand(d + 1);
  if (!ComesFromTable(&start, size)) return std::nullopt;
  std::vector<int64_t> starts;
  for (int64_t partition = 0; partition < slice.module().config().num_partitions; ++partition) {
    const std::optional<int64_t> here = DeviceValue(start, {0, partition});
    if (!here || *here < 0 || *here > last) return std::nullopt;
    starts.push_back(*here);
  }
  return starts;
}

Instruction* SendPart(const Instruction& gather, DevicePairs pairs, int64_t channel,
                      Rewriter& rewriter) {
  CollectivePermuteAttrs attrs;
  attrs.channel_id = channel;
  attrs.source_target_pairs = std::move(pairs);
  return rewriter.Op(Opcode::kCollectivePermute, {gather.operand(0)},
                     AttrsPtr::Make(std::move(attrs)));
}

}  // namespace hlo

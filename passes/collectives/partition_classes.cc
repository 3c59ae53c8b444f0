#include "passes/collectives/partition_classes.h"

#include <map>
#include <numeric>

#include "lib/analysis/device_groups.h"
#include "lib/analysis/device_values.h"
#include "lib/ops/opcode_set.h"

namespace hlo {
namespace {

constexpr int kDeepest = 32;             // operations that a value is made of, one after the other
constexpr int64_t kMostParts = 1 << 10;  // partitions that are told apart

// What is the same where the operands are.
constexpr OpcodeSet kOfOperands = {Opcode::kBitcast,  Opcode::kBroadcast, Opcode::kConcatenate,
                                   Opcode::kCopy,     Opcode::kDot,       Opcode::kDynamicSlice,
                                   Opcode::kGather,   Opcode::kPad,       Opcode::kReduce,
                                   Opcode::kReshape,  Opcode::kReverse,   Opcode::kSlice,
                                   Opcode::kTranspose};
// What gives all devices of a group the same.
constexpr OpcodeSet kSharing = {Opcode::kAllGather, Opcode::kAllReduce};

}  // namespace

PartitionClasses::PartitionClasses(const Module& module, const Replication& same_on_all)
    : module_(module), same_on_all_(same_on_all), partitions_(module.config().num_partitions) {}

bool PartitionClasses::IsSameInGroups(const Instruction& x, const Instruction& collective) {
  if (same_on_all_.Of(x)) return true;
  if (module_.config().replica_count != 1 || partitions_ < 1 || partitions_ > kMostParts ||
      !GroupModeOf(collective))
    return false;
  const Numbers& numbers = Of(x, 0);
  for (const std::vector<int64_t>& group : DeviceGroups(collective)) {
    for (const int64_t device : group) {
      if (device < 0 || device >= partitions_ ||
          numbers[static_cast<size_t>(device)] != numbers[static_cast<size_t>(group[0])])
        return false;
    }
  }
  return true;
}

const PartitionClasses::Numbers& PartitionClasses::Of(const Instruction& x, int depth) {
  if (const auto it = known_.find(&x); it != known_.end()) return it->second;
  Numbers numbers = Compute(x, depth);
  return known_[&x] = std::move(numbers);
}

PartitionClasses::Numbers PartitionClasses::Compute(const Instruction& x, int depth) {
  if (x.shape().IsArray() && same_on_all_.Of(x))
    return Numbers(static_cast<size_t>(partitions_), 0);
  if (Numbers by_value = OfValues(x); !by_value.empty()) return by_value;
  if (kSharing.Has(x.opcode()) && x.shape().IsArray()) return OfGroups(x);
  const bool is_made = IsElementwise(x.opcode()) || kOfOperands.Has(x.opcode());
  if (is_made && depth < kDeepest && x.operand_count() > 0 && !x.HasSideEffect())
    return OfOperands(x, depth);
  Numbers unique(static_cast<size_t>(partitions_));
  absl::c_iota(unique, 0);
  return unique;
}

PartitionClasses::Numbers PartitionClasses::OfValues(const Instruction& x) const {
  Numbers values;
  for (int64_t partition = 0; partition < partitions_; ++partition) {
    const std::optional<int64_t> value = DeviceValue(x, {0, partition});
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

PartitionClasses::Numbers PartitionClasses::OfGroups(const Instruction& collective) const {
  Numbers numbers(static_cast<size_t>(partitions_));
  absl::c_iota(numbers, 0);
  for (const std::vector<int64_t>& group : DeviceGroups(collective)) {
    for (const int64_t device : group) {
      if (device >= 0 && device < partitions_) numbers[static_cast<size_t>(device)] = group[0];
    }
  }
  return numbers;
}

PartitionClasses::Numbers PartitionClasses::OfOperands(const Instruction& x, int depth) {
  Numbers numbers(static_cast<size_t>(partitions_), 0);
  for (const Instruction* operand : x.operands()) {
    const Numbers& other = Of(*operand, depth + 1);
    std::map<std::pair<int64_t, int64_t>, int64_t> pairs;
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = pairs.emplace(std::pair(numbers[i], other[i]), pairs.size()).first->second;
  }
  return numbers;
}

}  // namespace hlo
